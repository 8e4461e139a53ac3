"""What a custodian keeps of a seed agreement, *with its private keys*, as bytes for its vault."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import FramingError, Part, frame, unframe
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement_messages import DIGEST_BYTES, MESSAGE_LIMIT, TERMS_PARTS, Terms
from gemel.custodian.agreement.key_exchange import ALGORITHMS, SECRET_BYTES

_MARKS = {Suite.DEFAULT: b"gemel seed agreement state 1", Suite.APPROVED: b"gemel seed agreement state 2"}
_LONGEST_HALF = max(algorithms.ciphertext_bytes for algorithms in ALGORITHMS.values()) + SECRET_BYTES


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
        head = _MARKS[self.suite], *self.terms.parts, self.side.value.encode(), self.identity, self.peer
        return frame(*head, self.ephemeral, self.encapsulation, self.peer_offer, self.canary, self.peer_confirmation)

    @classmethod
    def unpack(cls, content: bytes) -> AgreementState:
        """Read a state; VAULT if it is malformed."""
        suite = Suite.APPROVED if content.startswith(frame(_MARKS[Suite.APPROVED])) else Suite.DEFAULT
        expected = (
            Part.fixed("version", len(_MARKS[suite])),
            *TERMS_PARTS,
            Part.fixed("identity", 32),
            Part.fixed("other identity", 32),
            Part.fixed("ephemeral key", ALGORITHMS[suite].curve_private_bytes),
            Part("encapsulation", 0, _LONGEST_HALF),
            Part("the other's offer", 0, MESSAGE_LIMIT),
            Part("canary digest", 0, DIGEST_BYTES),
            Part("the other's confirmation", 0, MESSAGE_LIMIT),
        )
        try:
            mark, *parts = unframe(content, expected)
            if mark != _MARKS[suite]:
                raise ValueError("another version")
            return cls(suite, *Terms.unframed(*parts[:4]), *parts[4:])
        except (FramingError, ValueError):
            raise malformed_state() from None


def malformed_state() -> GemelError:
    remedy = "restore it from its backup, or let the coordinator open a new epoch of the project (`gemel project "
    remedy += "new-epoch`), and agree again in it"
    return GemelError(ErrorCode.VAULT, "the stored state of a seed agreement is malformed", remedy=remedy)
