"""The two signed statements by which a project goes from one coordinator to another.

Each names the newest checkpoint of the audit log that its signer had verified: a statement of an earlier time, when the
project had another owner, cannot be used again.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.audit.checkpoint import Checkpoint
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose


@dataclass(frozen=True)
class HandOver:
    """An offer of a project, signed by its owner, or by a steward for an owner that is no longer a member."""

    project: str
    former: str
    successor: str
    """The owner, and the coordinator that may take the project over: names in the membership list."""
    seen: Checkpoint
    """The newest checkpoint that the signer has verified."""
    reason: str
    """As `normalized_reason` returns it."""

    def sign(self, identity: Identity) -> bytes:
        """The signature: 64 bytes."""
        return identity.sign(SigningPurpose.HAND_OVER, *self._parts())

    def verify(self, identity: PublicIdentity, signature: bytes) -> None:
        """Refuse an offer that this identity has not signed."""
        identity.verify(signature, SigningPurpose.HAND_OVER, *self._parts())

    def _parts(self) -> tuple[bytes, ...]:
        names = self.project.encode(), self.former.encode(), self.successor.encode()
        return (*names, *_position(self.seen), self.reason.encode())


@dataclass(frozen=True)
class TakeOver:
    """A coordinator's act by which a project becomes its own."""

    project: str
    former: str
    successor: str
    """The owner until then, and the signer."""
    seen: Checkpoint
    """The newest checkpoint that the signer has verified."""
    hand_over: bytes
    """The signature of the offer that is taken."""

    def sign(self, identity: Identity) -> bytes:
        """The signature: 64 bytes."""
        return identity.sign(SigningPurpose.TAKE_OVER, *self._parts())

    def verify(self, identity: PublicIdentity, signature: bytes) -> None:
        """Refuse an act that this identity has not signed."""
        identity.verify(signature, SigningPurpose.TAKE_OVER, *self._parts())

    def _parts(self) -> tuple[bytes, ...]:
        names = self.project.encode(), self.former.encode(), self.successor.encode()
        return (*names, *_position(self.seen), self.hand_over)


def _position(seen: Checkpoint) -> tuple[bytes, ...]:
    return seen.log.encode(), str(seen.size).encode(), seen.root
