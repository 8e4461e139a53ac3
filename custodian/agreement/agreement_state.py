"""What a custodian keeps of a seed agreement, *with its private keys*, as bytes for its vault."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import FramingError, Part, frame, unframe
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement_messages import DIGEST_BYTES, MESSAGE_LIMIT, PROJECT_LIMIT, Terms
from gemel.custodian.agreement.encapsulation import STATE_BYTES
from gemel.custodian.agreement.ephemeral import STATE_LENGTHS

_MARKS = {Suite.DEFAULT: b"gemel seed agreement state 1", Suite.APPROVED: b"gemel seed agreement state 2"}


@dataclass(frozen=True)
class AgreementState:
    """An agreement, as far as it has come."""

    suite: Suite
    terms: Terms
    side: Side
    identity: bytes
    peer: bytes
    ephemeral: bytes = field(repr=False)
    encapsulation: bytes = field(repr=False)
    peer_offer: bytes
    canary: bytes
    peer_confirmation: bytes

    def pack(self) -> bytes:
        """The state as bytes."""
        return frame(
            _MARKS[self.suite],
            *self.terms.parts,
            self.side.value.encode(),
            self.identity,
            self.peer,
            self.ephemeral,
            self.encapsulation,
            self.peer_offer,
            self.canary,
            self.peer_confirmation,
        )

    @classmethod
    def unpack(cls, content: bytes) -> AgreementState:
        """Read a state.

        Raises
        ------
        GemelError
            VAULT if it is malformed.
        """
        suite = Suite.APPROVED if content.startswith(frame(_MARKS[Suite.APPROVED])) else Suite.DEFAULT
        private = [Part.fixed("ephemeral key", STATE_LENGTHS[suite]), Part("encapsulation", 0, STATE_BYTES)]
        try:
            mark, project, digest, epoch, side, *rest = unframe(content, [*_HEAD, *private, *_TAIL])
            if mark != _MARKS[suite]:
                raise ValueError("another version")
            return cls(suite, Terms(project.decode(), digest, int.from_bytes(epoch, "big")), Side(side.decode()), *rest)
        except (FramingError, ValueError):
            raise malformed_state() from None


def malformed_state() -> GemelError:
    """The error of a state that cannot be read."""
    return GemelError(
        ErrorCode.VAULT,
        "the stored state of a seed agreement is malformed",
        remedy="restore it from its backup, or let the coordinator open a new epoch of the project (`gemel project "
        "new-epoch`), and agree again in it",
    )


_HEAD = [
    Part.fixed("version", len(_MARKS[Suite.DEFAULT])),
    Part("project", 1, PROJECT_LIMIT),
    Part.fixed("encoding digest", DIGEST_BYTES),
    Part.fixed("epoch", 4),
    Part("side", 1, 16),
    Part.fixed("identity", 32),
    Part.fixed("other identity", 32),
]
_TAIL = [
    Part("the other's offer", 0, MESSAGE_LIMIT),
    Part("canary digest", 0, DIGEST_BYTES),
    Part("the other's confirmation", 0, MESSAGE_LIMIT),
]
