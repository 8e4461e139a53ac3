"""What a custodian keeps of a seed agreement, *with its private keys*, as bytes for its vault.

Version 2 has the half of ML-KEM-768, version 3 the keys of the approved suite; version 1 is of agreements that a former
release began, which end as they began.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.agreement_messages import DIGEST_BYTES, MESSAGE_LIMIT, PROJECT_LIMIT, Terms, suite_of
from gemel.common.keys.encapsulation import STATE_BYTES
from gemel.common.keys.ephemeral import STATE_LENGTHS
from gemel.common.keys.framing import FramingError, Part, frame, unframe
from gemel.common.parties import Side

_MARKS = {1: b"gemel seed agreement state 1", 2: b"gemel seed agreement state 2", 3: b"gemel seed agreement state 3"}


@dataclass(frozen=True)
class AgreementState:
    """An agreement, as far as it has come.

    Attributes
    ----------
    identity, peer
        The own public identity and the other custodian's, raw.
    ephemeral
        The own private key on the curve, raw.
    encapsulation
        The own half of ML-KEM, empty in version 1.
    peer_offer, canary, peer_confirmation
        Empty where there is none yet.
    """

    version: int
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
        half = (self.encapsulation,) if self.version > 1 else ()
        return frame(
            _MARKS[self.version],
            *self.terms.parts,
            self.side.value.encode(),
            self.identity,
            self.peer,
            self.ephemeral,
            *half,
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
        version = next((known for known, mark in _MARKS.items() if content.startswith(frame(mark))), 2)
        half = [Part("encapsulation", 0, STATE_BYTES)] if version > 1 else []
        private = Part.fixed("ephemeral key", STATE_LENGTHS[suite_of(version)])
        try:
            mark, project, digest, epoch, side, *rest = unframe(content, [*_HEAD, private, *half, *_TAIL])
            if mark != _MARKS[version]:
                raise ValueError("another version")
            if version == 1:
                rest.insert(3, b"")
            return cls(
                version, Terms(project.decode(), digest, int.from_bytes(epoch, "big")), Side(side.decode()), *rest
            )
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
    Part.fixed("version", len(_MARKS[1])),
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
