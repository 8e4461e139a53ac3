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
    """An offer of a project, signed by its owner, or by a steward for an owner that is no longer a member.

    Attributes
    ----------
    project
    former, successor
        The owner, and the coordinator that may take the project over: names in the membership list.
    seen
        The newest checkpoint that the signer has verified.
    reason
        As `normalized_reason` returns it.
    """

    project: str
    former: str
    successor: str
    seen: Checkpoint
    reason: str

    def sign(self, identity: Identity) -> bytes:
        """The signature: 64 bytes."""
        return identity.sign(SigningPurpose.HAND_OVER, *self._parts())

    def verify(self, identity: PublicIdentity, signature: bytes) -> None:
        """Refuse an offer that this identity has not signed.

        Raises
        ------
        GemelError
            SIGNATURE.
        """
        identity.verify(signature, SigningPurpose.HAND_OVER, *self._parts())

    def _parts(self) -> tuple[bytes, ...]:
        names = self.project.encode(), self.former.encode(), self.successor.encode()
        return (*names, *_position(self.seen), self.reason.encode())


@dataclass(frozen=True)
class TakeOver:
    """A coordinator's act by which a project becomes its own.

    Attributes
    ----------
    project
    former, successor
        The owner until then, and the signer.
    seen
        The newest checkpoint that the signer has verified.
    hand_over
        The signature of the offer that is taken.
    """

    project: str
    former: str
    successor: str
    seen: Checkpoint
    hand_over: bytes

    def sign(self, identity: Identity) -> bytes:
        """The signature: 64 bytes."""
        return identity.sign(SigningPurpose.TAKE_OVER, *self._parts())

    def verify(self, identity: PublicIdentity, signature: bytes) -> None:
        """Refuse an act that this identity has not signed.

        Raises
        ------
        GemelError
            SIGNATURE.
        """
        identity.verify(signature, SigningPurpose.TAKE_OVER, *self._parts())

    def _parts(self) -> tuple[bytes, ...]:
        names = self.project.encode(), self.former.encode(), self.successor.encode()
        return (*names, *_position(self.seen), self.hand_over)


def _position(seen: Checkpoint) -> tuple[bytes, ...]:
    return seen.log.encode(), str(seen.size).encode(), seen.root
