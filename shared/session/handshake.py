"""How each two of the three compute parties come to secrets of their own, at the beginning of a session.

Each sends each other one message: 32 random bytes, sealed to the other's sealing key and signed by its own identity,
over the project, the run, the session, the specification and the names of all three. From both parties' bytes follow,
by HKDF-SHA256 (RFC 5869), the key of the shares that the two draw alike, and a key for the messages of each direction.
Whoever passes the messages on can read none, and a message of another session, for another party, of another member, or
sent back to where it came from does not verify.

The secrets are as safe as both parties' sealing keys: who has recorded a session and later gets one of these reads what
the two sent each other. With the keys of ML-KEM that new members have, a later quantum computer alone does not suffice.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import FramingError, Part, frame, unframe
from gemel.common.keys.identity import SIGNATURE_BYTES, Identity, SigningPurpose
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import ComputeParty
from gemel.common.pki.members import Member

SESSION_BYTES = 16
KEY_BYTES = 32
MAX_OFFER_BYTES = 1 << 14
_DOMAIN = b"gemel shared session 1"
_PARTS = (
    Part.fixed("domain", len(_DOMAIN)),
    Part("sealed", 1, MAX_OFFER_BYTES),
    Part.fixed("signature", SIGNATURE_BYTES),
)


@dataclass(frozen=True)
class SessionTerms:
    """What a session is for; nothing of it verifies in another.

    `session`: 16 random bytes, drawn by Carole; `specification_digest`: of the specification that the party itself has
    read and found approved; `members`: names of the three, by `ComputeParty`.
    """

    project: str
    run: str
    session: bytes
    specification_digest: bytes
    members: tuple[str, str, str]
    suite: Suite = Suite.DEFAULT

    def framed(self, sender: ComputeParty, to: ComputeParty) -> bytes:
        """As canonical bytes, for what one party sends another."""
        names = (name.encode() for name in self.members)
        texts = self.project.encode(), self.run.encode(), self.session, self.specification_digest
        return frame(_DOMAIN, *texts, *names, bytes([sender]), bytes([to]))


@dataclass(frozen=True)
class LinkKeys:
    """The secrets of two parties, 32 bytes each: of the shares that both draw, and of the messages each way."""

    shares: bytes = field(repr=False)
    sending: bytes = field(repr=False)
    receiving: bytes = field(repr=False)


class Handshake:
    """One party's part of the handshakes of a session; `identity` and `key` are its own, which sign and open."""

    def __init__(
        self, own: ComputeParty, terms: SessionTerms, members: Sequence[Member], identity: Identity, key: SealingKey
    ) -> None:
        self._own, self._terms, self._members = own, terms, tuple(members)
        self._identity, self._key = identity, key
        self._drawn: dict[ComputeParty, tuple[bytes, bytes]] = {}

    def offer(self, to: ComputeParty) -> bytes:
        """The message for another party; SEALED if its key is not of the specification's suite."""
        secret = secrets.token_bytes(KEY_BYTES)
        sealed = b"".join(seal(self._members[to].sealing, self._context(self._own, to), [secret]))
        signed = self._terms.framed(self._own, to)
        offer = frame(_DOMAIN, sealed, self._identity.sign(SigningPurpose.COMPUTATION, signed, sealed))
        self._drawn[to] = secret, hashlib.sha256(offer).digest()
        return offer

    def agreed(self, sender: ComputeParty, offer: bytes) -> LinkKeys:
        """The secrets with another party, from its message; `offer` has been called for it.

        Raises `GemelError`: DEVIATION if it is no message of this party for this session and this recipient.
        """
        try:
            _, sealed, signature = unframe(offer, _PARTS)
        except FramingError as error:
            raise self._refusal(sender, str(error)) from None
        signed = self._terms.framed(sender, self._own)
        if not self._members[sender].identity.is_signed(signature, SigningPurpose.COMPUTATION, signed, sealed):
            raise self._refusal(sender, "one that its identity has not signed for this session and recipient")
        try:
            secret = b"".join(open_sealed(self._key, self._context(sender, self._own), [sealed]))
        except GemelError as error:
            raise self._refusal(sender, error.what) from None
        if len(secret) != KEY_BYTES:
            raise self._refusal(sender, f"a secret of {len(secret)} bytes")
        own, digest = self._drawn[sender]
        sides = {self._own: (own, digest), sender: (secret, hashlib.sha256(offer).digest())}
        first, second = sorted(sides)
        both = sides[first][0] + sides[second][0]
        about = self._terms.framed(first, second), sides[first][1], sides[second][1]

        def derived(purpose: bytes) -> bytes:
            return HKDF(SHA256(), KEY_BYTES, self._terms.session, frame(_DOMAIN, purpose, *about)).derive(both)

        one_way, other_way = derived(b"messages of the first"), derived(b"messages of the second")
        sending, receiving = (one_way, other_way) if self._own is first else (other_way, one_way)
        return LinkKeys(derived(b"shares"), sending, receiving)

    def _context(self, sender: ComputeParty, to: ComputeParty) -> SealContext:
        terms = self._terms
        run = f"{terms.run}/{terms.session.hex()}/{sender.role}"
        return SealContext(terms.project, run, self._members[to].name, terms.suite)

    def _refusal(self, sender: ComputeParty, got: str) -> GemelError:
        what = f"the first message from {sender.title} does not begin this session"
        remedy = (
            "compare the membership lists of both; if they are equal, one of the two, or what carries their "
            "messages, does not keep to the protocol"
        )
        return GemelError(ErrorCode.DEVIATION, what, where=link_name(sender, self._own), got=got, remedy=remedy)


def link_name(sender: ComputeParty, to: ComputeParty) -> str:
    """How errors name the link from one party to another."""
    return f"from {sender.title} to {to.title}"
