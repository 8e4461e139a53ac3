"""The two messages of the seed agreement as bytes: canonical, bounded, signed; they hold no secret.

A message is a frame of parts (`framing`): its version, which is of a suite, and kind, its terms, its sender, its
content, and an Ed25519 signature over all of these. One that is not canonical, is too long, or has bytes after its end
is refused before any of it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.framing import FramingError, Part, frame, unframe
from gemel.common.keys.identity import PUBLIC_BYTES, SIGNATURE_BYTES, Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.custodian.agreement.key_exchange import ALGORITHMS

MESSAGE_LIMIT = 4096
"""Longest message in bytes; a real one has fewer than 2100."""
DIGEST_BYTES = 32
PROJECT_LIMIT = 256
_MAGICS = {Suite.DEFAULT: b"gemel seed agreement 1", Suite.APPROVED: b"gemel seed agreement 2"}
_OFFER = b"offer"
_CONFIRMATION = b"confirmation"
_PURPOSES = {_OFFER: SigningPurpose.AGREEMENT_OFFER, _CONFIRMATION: SigningPurpose.AGREEMENT_CONFIRMATION}


@dataclass(frozen=True)
class Terms:
    """What a seed is agreed for; it is used for nothing else. PARAMETER if a part is out of its bounds."""

    project: str
    encoding_digest: bytes
    epoch: int

    def __post_init__(self) -> None:
        if not 1 <= len(self.project.encode()) <= PROJECT_LIMIT:
            raise parameter("seed agreement", f"a project's name has 1 to {PROJECT_LIMIT} bytes")
        if len(self.encoding_digest) != DIGEST_BYTES:
            what = f"an encoding digest has {DIGEST_BYTES} bytes"
            raise parameter("seed agreement", what, f"{len(self.encoding_digest)} bytes")
        if not 0 <= self.epoch < 2**32:
            raise parameter("seed agreement", "an epoch must be between 0 and 2^32 - 1", str(self.epoch))

    @property
    def parts(self) -> tuple[bytes, bytes, bytes]:
        return self.project.encode(), self.encoding_digest, self.epoch.to_bytes(4, "big")

    @classmethod
    def unframed(cls, project: bytes, encoding_digest: bytes, epoch: bytes, side: bytes) -> tuple[Terms, Side]:
        """Terms and side of the parts of `TERMS_PARTS`; ValueError for text that is not valid there."""
        return cls(project.decode(), encoding_digest, int.from_bytes(epoch, "big")), Side(side.decode())


TERMS_PARTS = (
    Part("project", 1, PROJECT_LIMIT),
    Part.fixed("encoding digest", DIGEST_BYTES),
    Part.fixed("epoch", 4),
    Part("side", 1, 16),
)


@dataclass(frozen=True)
class Offer:
    """One custodian's ephemeral public key and its part of ML-KEM, offered under its identity."""

    terms: Terms
    side: Side
    identity: bytes
    ephemeral: bytes
    encapsulation: bytes
    suite: Suite

    def signed(self, identity: Identity) -> bytes:
        keys = self.identity, self.ephemeral, self.encapsulation
        return _sign(identity, self.suite, _OFFER, self.terms, self.side, *keys)


@dataclass(frozen=True)
class Confirmation:
    """One custodian's proof that it holds the seed of this transcript, and its canary digest."""

    terms: Terms
    side: Side
    transcript: bytes
    canary: bytes
    mac: bytes
    suite: Suite = Suite.DEFAULT

    def signed(self, identity: Identity) -> bytes:
        return _sign(identity, self.suite, _CONFIRMATION, self.terms, self.side, self.transcript, self.canary, self.mac)


def read_offer(message: bytes, sender: PublicIdentity, where: str, suite: Suite = Suite.DEFAULT) -> Offer:
    """Read an offer that `sender` must have signed."""
    algorithms = ALGORITHMS[suite]
    lengths = [algorithms.part_bytes(side) for side in Side]
    keys = [
        Part.fixed("identity", PUBLIC_BYTES),
        Part.fixed("ephemeral key", algorithms.curve_public_bytes),
        Part("encapsulation", min(lengths), max(lengths)),
    ]
    terms, side, (identity, ephemeral, half) = _read(message, suite, _OFFER, keys, sender, where)
    if identity != sender.raw:
        # Not reachable by an outsider: the signature is valid. The sender names a key that is not its own.
        raise _refused(where, "the message names another identity than the one that signed it")
    if len(half) != algorithms.part_bytes(side):
        raise _refused(where, "its part of ML-KEM has the length of the other side's", f"{len(half)} bytes")
    return Offer(terms, side, identity, ephemeral, half, suite)


def read_confirmation(message: bytes, sender: PublicIdentity, where: str, suite: Suite = Suite.DEFAULT) -> Confirmation:
    proofs = [Part.fixed(name, DIGEST_BYTES) for name in ("transcript", "canary digest", "key confirmation")]
    terms, side, (transcript, canary, mac) = _read(message, suite, _CONFIRMATION, proofs, sender, where)
    return Confirmation(terms, side, transcript, canary, mac, suite)


def _sign(identity: Identity, suite: Suite, kind: bytes, terms: Terms, side: Side, *signed_parts: bytes) -> bytes:
    parts = (_MAGICS[suite], kind, *terms.parts, side.value.encode(), *signed_parts)
    return frame(*parts, identity.sign(_PURPOSES[kind], *parts))


def _read(
    message: bytes, suite: Suite, kind: bytes, signed_parts: list[Part], sender: PublicIdentity, where: str
) -> tuple[Terms, Side, list[bytes]]:
    if len(message) > MESSAGE_LIMIT:
        raise _refused(where, f"an agreement message must have at most {MESSAGE_LIMIT} bytes", f"{len(message)} bytes")
    for other, magic in _MAGICS.items():
        # Not verified yet, and believed no further than this: whatever it is, nothing is agreed.
        if other is not suite and message.startswith(frame(magic)):
            what = "the other custodian's message is by another suite of algorithms than the specification names"
            remedy = "nothing was agreed; compare the specification's digest with the other custodian, then let the "
            remedy += "coordinator open a new epoch of the project (`gemel project new-epoch`)"
            raise GemelError(ErrorCode.WRONG_STATE, what, where=where, remedy=remedy)
    head = (Part.fixed("magic", len(_MAGICS[suite])), Part("kind", 1, 32), *TERMS_PARTS)
    try:
        parts = unframe(message, [*head, *signed_parts, Part.fixed("signature", SIGNATURE_BYTES)])
        terms, side = Terms.unframed(*parts[2:6])
    except (FramingError, ValueError) as error:
        reason = str(error) if isinstance(error, FramingError) else "a part holds text that is not valid there"
        raise _refused(where, f"this is not a well-formed {kind.decode()} message: {reason}") from None
    if parts[:2] != [_MAGICS[suite], kind]:
        raise _refused(where, f"this is not a message of the kind '{kind.decode()}' of this version")
    if not sender.is_signed(parts[-1], _PURPOSES[kind], *parts[:-1]):
        what = f"the {kind.decode()} message is not signed by the configured identity of the other custodian"
        got = f"a signature that does not verify under the key with fingerprint {sender.fingerprint}"
        raise _refused(where, what, got)
    return terms, side, parts[6:-1]


def _refused(where: str, what: str, got: str = "") -> GemelError:
    remedy = (
        "nothing was agreed; compare both identities' fingerprints by phone, and if they are right, the "
        "message was changed on its way: report it to the linkage unit, then agree again in a new epoch"
    )
    return GemelError(ErrorCode.SIGNATURE, what, where=where, got=got, remedy=remedy)
