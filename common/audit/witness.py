"""The checks of a reader of the log.

A witness keeps the newest checkpoint it has verified. It accepts another only if the linker signed it, it is of the
same log, and a proof shows that the longer of the two begins with the shorter. A log that was edited, reordered, cut,
rolled back or restarted fails one of these checks, whatever else was rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemel.common.audit.checkpoint import Checkpoint
from gemel.common.audit.merkle import verify_consistency
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import PublicIdentity

REMEDY = (
    "do not send or fetch anything more; keep both checkpoints as evidence, and ask the linkage unit why its audit log "
    "differs from the one it has shown before"
)


@dataclass(frozen=True)
class Witness:
    """A reader of one linker's log.

    Attributes
    ----------
    linker
        The identity that signs the checkpoints.
    seen
        The newest checkpoint verified so far; None before the first.
    """

    linker: PublicIdentity
    seen: Checkpoint | None = None

    @property
    def size(self) -> int:
        """Size of the log as last verified."""
        return 0 if self.seen is None else self.seen.size

    def believe(self, shown: Checkpoint, proof: Sequence[bytes], who: str = "the linkage unit") -> Witness:
        """The witness after seeing a checkpoint not smaller than its own, with the proof from its own to that.

        Raises
        ------
        GemelError
            SIGNATURE; AUDIT if the log shown is another one, is shorter, or does not begin with what was seen.
        """
        shown.verify(self.linker)
        if self.seen is None:
            return Witness(self.linker, shown)
        self._same_log(shown, who)
        if shown.size < self.seen.size:
            raise _rewritten(
                f"{who} shows an audit log shorter than it has shown before",
                f"{shown.size} entries after {self.seen.size}",
            )
        if not verify_consistency(self.seen.size, shown.size, self.seen.root, shown.root, proof):
            raise _rewritten(
                f"the audit log that {who} shows does not begin with the one it has shown before",
                f"{shown.size} entries that do not continue the {self.seen.size} seen",
            )
        return Witness(self.linker, shown if shown.size > self.seen.size else self.seen)

    def compare(self, others: Checkpoint, proof: Sequence[bytes], who: str) -> None:
        """Refuse if another reader was shown a log that is inconsistent with this one: the log has been forked.

        Parameters
        ----------
        others
            The other reader's checkpoint, smaller or larger than one's own.
        proof
            From the smaller to the larger of the two.
        who
            The other reader, as the message names it.

        Raises
        ------
        GemelError
            SIGNATURE, AUDIT.
        """
        others.verify(self.linker)
        if self.seen is None:
            return
        self._same_log(others, who)
        old, new = sorted((self.seen, others), key=lambda checkpoint: checkpoint.size)
        if not verify_consistency(old.size, new.size, old.root, new.root, proof):
            raise _rewritten(
                f"the linkage unit has shown {who} another audit log",
                f"{others.size} entries there, {self.seen.size} here, and neither continues the other",
            )

    def _same_log(self, shown: Checkpoint, who: str) -> None:
        if self.seen is not None and shown.log != self.seen.log:
            raise _rewritten(f"the audit log that {who} shows was restarted", "another log's name")


def _rewritten(what: str, got: str) -> GemelError:
    return GemelError(ErrorCode.AUDIT, what, where="audit log", got=got, remedy=REMEDY)
