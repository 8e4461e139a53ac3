"""A party's signed decision on a log that was put back from a backup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gemel.common.audit.checkpoint import Checkpoint
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose


@dataclass(frozen=True)
class RestorationDecision:
    """What a party signs when it accepts a restored log for a project, or refuses it."""

    project: str
    restoration: int
    """Sequence number of the restoration's entry in the log."""
    restored: Checkpoint
    """The log as it was put back."""
    lost: Checkpoint | None
    """The newest checkpoint that the party had verified of what the log has lost; None if nothing."""
    accept: bool
    reason: str = ""
    runs: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """The runs that the party knows to have been released, with the root digest of the share that it fetched, or no
    bytes if it fetched none."""

    def sign(self, identity: Identity) -> bytes:
        """The party's signature: 64 bytes."""
        return identity.sign(SigningPurpose.RESTORATION, *self._parts())

    def verify(self, identity: PublicIdentity, signature: bytes) -> None:
        """Refuse a decision that this identity has not signed."""
        identity.verify(signature, SigningPurpose.RESTORATION, *self._parts())

    def _parts(self) -> tuple[bytes, ...]:
        size, root = (0, b"") if self.lost is None else (self.lost.size, self.lost.root)
        return (
            self.restored.log.encode(),
            self.project.encode(),
            str(self.restoration).encode(),
            str(self.restored.size).encode(),
            self.restored.root,
            str(size).encode(),
            root,
            b"accept" if self.accept else b"refuse",
            self.reason.encode(),
            *(part for run, root in sorted(self.runs.items()) for part in (run.encode(), root)),
        )
