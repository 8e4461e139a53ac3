"""A party's long-term Ed25519 identity: it signs approvals and the messages of the seed agreement.

The private key is a `Signer`'s: a file's, or that of a token or vault, which it never leaves.

A signature is always made for a purpose. The purpose and every part are framed by their lengths before signing, so a
signature made for one purpose, or over other parts that happen to join to the same bytes, never verifies.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM1024PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.private_files import read_private, write_private


class SigningPurpose(StrEnum):
    """Each is signed with the contents. Never change one: former signatures would not verify."""

    APPROVAL = "approve-specification"
    AGREEMENT_OFFER = "seed agreement: offer"
    AGREEMENT_CONFIRMATION = "seed agreement: confirmation"
    HANDLES = "give-handles"
    """A custodian submits which rows of a run's candidate pairs are one record."""
    ROW_SHARES = "give-row-shares"
    """A compute party gives a custodian its share of the row numbers of a run's pairs above the floor."""
    RESULT = "resolve-run"
    """A resolver answers for its result."""
    DECISION = "decide-release"
    CHECKPOINT = "audit-checkpoint"
    """Carole states the size and root of the audit log."""
    WITNESS = "audit-witness"
    """A party has verified a checkpoint."""
    RESTORATION = "accept-restored-log"
    """A party accepts a log that was put back from a backup, or refuses it."""
    ENROLMENT = "enrolment request"
    DECLINE = "decline-specification"
    """A custodian does not take part under a specification, or no longer."""
    FILE = "state-file"
    """A custodian states how many records its file has, and where they come from."""
    NEW_EPOCH = "open-epoch"
    """The coordinator opens a project's next epoch."""
    HAND_OVER = "hand-over-project"
    """A project is offered to another coordinator: by its owner, or by a steward where that one has left."""
    TAKE_OVER = "take-over-project"
    """A coordinator becomes the owner of a project."""
    VARIABLES = "send-variables"
    """A custodian sends columns of its linked records to a recipient."""
    COMPUTATION = "compute-session"
    """A compute party sends its secret for a session to another one."""
    SHARES = "share-rows"
    """A custodian gives a compute party what it opens its shares of an upload by."""
    READINESS = "readiness"
    """Nothing: a service looks whether its identity can sign. No one takes such a signature for anything."""


_GROUP = 4


def fingerprint(public: bytes) -> bytes:
    return hashlib.sha256(public).digest()


def in_groups(digest: bytes) -> str:
    text = digest.hex()
    return " ".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))


PUBLIC_BYTES = 32
StoredKey = Ed25519PrivateKey | X25519PrivateKey | MLKEM768PrivateKey | MLKEM1024PrivateKey | EllipticCurvePrivateKey

_BLOCK = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\r?\n?", re.DOTALL)


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key. Raises with the kind's code if `raw` has another length."""

    raw: bytes

    KIND: ClassVar[str]
    CODE: ClassVar[ErrorCode]
    LENGTHS: ClassVar[tuple[int, ...]] = (PUBLIC_BYTES,)

    def __post_init__(self) -> None:
        if len(self.raw) not in self.LENGTHS:
            lengths = " or ".join(map(str, self.LENGTHS))
            raise GemelError(self.CODE, f"an {self.KIND} public key has {lengths} bytes", got=f"{len(self.raw)} bytes")

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """Read the hexadecimal digits of a membership list. Raises with the kind's code if the text is anything
        else."""
        try:
            raw = bytes.fromhex(text)
        except ValueError:
            lengths = " or ".join(str(2 * length) for length in cls.LENGTHS)
            raise GemelError(cls.CODE, f"an {cls.KIND} public key is written as {lengths} hexadecimal digits") from None
        return cls(raw)

    @property
    def hex(self) -> str:
        return self.raw.hex()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key in groups of four digits, for comparing over the phone."""
        return in_groups(fingerprint(self.raw))


def load_keys(path: Path, content: str) -> list[object]:
    """The private keys in a file of unencrypted PKCS #8 blocks that only its owner may read."""
    pem = read_private(path, content)
    if _BLOCK.sub(b"", pem).strip():
        return []
    try:
        return [serialization.load_pem_private_key(block, password=None) for block in _BLOCK.findall(pem)]
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return []


def save_keys(path: Path, *keys: StoredKey, replace: bool = False) -> None:
    """Write private keys to a file of mode 0600, in unencrypted PKCS #8 blocks."""
    form = serialization.PrivateFormat.PKCS8
    blocks = [key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()) for key in keys]
    write_private(path, b"".join(blocks), replace=replace)


def unexpected(path: Path, expected: str, remedy: str) -> GemelError:
    what = f"expected {expected} as unencrypted PKCS #8 PEM"
    return GemelError(ErrorCode.CONFIGURATION, what, where=str(path), remedy=remedy)


SIGNATURE_BYTES = 64

_DOMAIN = b"gemel signature 1"
_PRIME = 2**255 - 19
# y of the points of order 8; with 0, 1 and -1 these are all the points of small order. Under such a key one
# signature can verify for many messages, so an approval under it would not be binding.
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset({0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8})


@dataclass(frozen=True)
class PublicIdentity(PublicKey):
    """The public half of an identity. Raises SIGNATURE if `raw` is not 32 bytes or is a point of small order."""

    KIND = "Ed25519"
    CODE = ErrorCode.SIGNATURE

    def __post_init__(self) -> None:
        super().__post_init__()
        y = (int.from_bytes(self.raw, "little") & (2**255 - 1)) % _PRIME
        if y in _SMALL_ORDER:
            what = "this Ed25519 public key is a point of small order, so its signatures prove nothing"
            raise GemelError(ErrorCode.SIGNATURE, what, remedy="ask its owner for a key made by 'gemel init'")

    def is_signed(self, signature: bytes, purpose: SigningPurpose, *parts: bytes) -> bool:
        return self._is_signed(signature, _message(purpose, parts))

    def is_text_signed(self, signature: bytes, text: str) -> bool:
        """Whether `signature` was made by this identity over a text, without a purpose: see `Identity.sign_text`."""
        return self._is_signed(signature, text.encode())

    def _is_signed(self, signature: bytes, message: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def verify(self, signature: bytes, purpose: SigningPurpose, *parts: bytes) -> None:
        """Refuse a signature that this identity did not make for `purpose` over `parts`."""
        if not self.is_signed(signature, purpose, *parts):
            raise GemelError(
                ErrorCode.SIGNATURE,
                f"the signature for '{purpose}' was not made by the expected identity over these contents",
                got=f"a signature that does not verify under the key with fingerprint {self.fingerprint}",
                remedy="compare the identity's fingerprint with its owner by phone; if it is right, the message "
                "was changed or signed for another purpose",
            )


class Signer(Protocol):
    """Has a private Ed25519 key."""

    @property
    def public(self) -> bytes:
        """The public half: 32 bytes."""

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`, by Ed25519 without a prehash. Raises VAULT if the key cannot be used; UNAVAILABLE
        if what has it does not answer."""


@dataclass(frozen=True)
class Identity:
    """A party's own identity, which can sign."""

    _signer: Signer = field(repr=False)

    @property
    def public(self) -> PublicIdentity:
        return PublicIdentity(self._signer.public)

    def sign(self, purpose: SigningPurpose, *parts: bytes) -> bytes:
        """Sign `parts` for `purpose`; 64 bytes, the same for the same input.

        Raises as `Signer.sign`; VAULT if the signature is wrong. It goes nowhere then: from a wrong Ed25519 signature
        beside the right one the private key can be computed.
        """
        return self._sign(_message(purpose, parts), f"'{purpose}'")

    def sign_text(self, text: str) -> bytes:
        """Sign a text as other programs expect it: a checkpoint's note, or a cosignature of one. No other text is.

        It cannot be taken for a signature with a purpose: what those cover begins with a zero byte, and a text with a
        letter. Raises as `sign`.
        """
        if not text[:1].isalpha():
            raise ValueError("a text that is signed begins with a letter")
        return self._sign(text.encode(), "a text")

    def _sign(self, message: bytes, what: str) -> bytes:
        signature = self._signer.sign(message)
        if not self.public._is_signed(signature, message):
            wrong = f"what holds the identity has signed {what} wrongly, or by another key"
            got = f"a signature that does not verify under the key with fingerprint {self.public.fingerprint}"
            remedy = "check `identity` in the configuration, and restart: the key may have been replaced"
            raise GemelError(ErrorCode.VAULT, wrong, got=got, remedy=remedy)
        return signature


def _message(purpose: SigningPurpose, parts: tuple[bytes, ...]) -> bytes:
    return frame(_DOMAIN, purpose.encode(), *parts)


_LOST = "restore the file from its backup, or make a new identity and have it entered in the membership list"


@dataclass(frozen=True)
class IdentityKey:
    """A `Signer` in a file that only its owner may read."""

    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> IdentityKey:
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: Path) -> IdentityKey:
        """Read the key from a PKCS #8 PEM file that only its owner may read. Raises CONFIGURATION if the file is
        missing, open to others, or holds something else."""
        keys = load_keys(path, "the Ed25519 identity")
        if len(keys) != 1 or not isinstance(keys[0], Ed25519PrivateKey):
            raise unexpected(path, "an Ed25519 private key", _LOST)
        return cls(keys[0])

    def save(self, path: Path) -> None:
        """Write the key to a new file with mode 0600; an existing file is never overwritten. Raises EXISTS or
        CONFIGURATION."""
        save_keys(path, self._key)

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)
