"""A recipient's long-term key, to which its share of a result is sealed.

It is *hybrid*: a key of ML-KEM-768 (FIPS 203) and one of X25519, and whoever wants to open what is sealed to it must
break both. What is recorded today then stays closed to a later quantum computer.

In the approved suite it is of ML-KEM-1024 and ECDH on P-384 (FIPS 203, SP 800-56A). What is sealed in a project of that
suite is sealed to such a key only; a party that has one uses it in every project.

The public half is both public keys, ML-KEM's first: 1216 bytes, or 1665. The private file holds both private keys,
ML-KEM's first, and behind them those of the key before, which opens what was sealed to it until the list names the new
one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP384R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.mlkem import (
    MLKEM768PrivateKey,
    MLKEM768PublicKey,
    MLKEM1024PrivateKey,
    MLKEM1024PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    MLKEM1024P384PrivateKey,
    MLKEM1024P384PublicKey,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import PUBLIC_BYTES, PublicKey, StoredKey, load_keys, save_keys, unexpected
from gemel.common.keys.suite import Suite

MLKEM_PUBLIC_BYTES = 1184
DEFAULT_PUBLIC_BYTES = MLKEM_PUBLIC_BYTES + PUBLIC_BYTES
MLKEM1024_PUBLIC_BYTES = 1568
P384_PUBLIC_BYTES = 97
"""A point, not compressed."""
APPROVED_PUBLIC_BYTES = MLKEM1024_PUBLIC_BYTES + P384_PUBLIC_BYTES

ALGORITHMS = {Suite.DEFAULT: "ML-KEM-768 and X25519", Suite.APPROVED: "ML-KEM-1024 and P-384"}
"""Of a key, by suite."""

_CONTENT = "the sealing key"
_EXPECTED = "private keys of ML-KEM-768 and X25519, or of ML-KEM-1024 and P-384,"
_LOST = "restore the file from its backup; what was sealed to a lost key cannot be opened again"


@dataclass(frozen=True)
class SealingPublicKey(PublicKey):
    """A recipient's public key, of either suite. Raises SEALED if `raw` has another length, or a part that can be
    checked is no public key."""

    KIND = "ML-KEM-768 and X25519 (or ML-KEM-1024 and P-384)"
    CODE = ErrorCode.SEALED
    LENGTHS = (DEFAULT_PUBLIC_BYTES, APPROVED_PUBLIC_BYTES)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            _ = self.hpke
        except ValueError:
            what = f"this is no public key of {ALGORITHMS[self.suite]}"
            got = f"a key with the fingerprint {self.fingerprint}"
            remedy = "ask its owner for a key made by 'gemel init' or 'gemel party'"
            raise GemelError(ErrorCode.SEALED, what, got=got, remedy=remedy) from None

    @property
    def suite(self) -> Suite:
        return Suite.APPROVED if len(self.raw) == APPROVED_PUBLIC_BYTES else Suite.DEFAULT

    @property
    def hpke(self) -> MLKEM768X25519PublicKey | MLKEM1024P384PublicKey:
        """The key, for HPKE; ValueError if it is none."""
        if self.suite is Suite.APPROVED:
            return MLKEM1024P384PublicKey(
                MLKEM1024PublicKey.from_public_bytes(self.raw[:MLKEM1024_PUBLIC_BYTES]),
                p384_public(self.raw[MLKEM1024_PUBLIC_BYTES:]),
            )
        return MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(self.raw[:MLKEM_PUBLIC_BYTES]),
            X25519PublicKey.from_public_bytes(self.raw[MLKEM_PUBLIC_BYTES:]),
        )


@dataclass(frozen=True)
class DefaultKey:
    """A private key of ML-KEM-768 and X25519."""

    mlkem: MLKEM768PrivateKey = field(repr=False)
    x25519: X25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> DefaultKey:
        return cls(MLKEM768PrivateKey.generate(), X25519PrivateKey.generate())

    @property
    def public(self) -> SealingPublicKey:
        halves = self.mlkem.public_key().public_bytes_raw(), self.x25519.public_key().public_bytes_raw()
        return SealingPublicKey(b"".join(halves))

    @property
    def private(self) -> MLKEM768X25519PrivateKey:
        return MLKEM768X25519PrivateKey(self.mlkem, self.x25519)

    @property
    def stored(self) -> tuple[StoredKey, ...]:
        return self.mlkem, self.x25519


@dataclass(frozen=True)
class ApprovedKey:
    """A private key of ML-KEM-1024 and P-384, of the approved suite."""

    mlkem: MLKEM1024PrivateKey = field(repr=False)
    p384: EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> ApprovedKey:
        return cls(MLKEM1024PrivateKey.generate(), generate_private_key(SECP384R1()))

    @property
    def public(self) -> SealingPublicKey:
        return SealingPublicKey(self.mlkem.public_key().public_bytes_raw() + p384_bytes(self.p384))

    @property
    def private(self) -> MLKEM1024P384PrivateKey:
        return MLKEM1024P384PrivateKey(self.mlkem, self.p384)

    @property
    def stored(self) -> tuple[StoredKey, ...]:
        return self.mlkem, self.p384


AnyKey = DefaultKey | ApprovedKey


def new_key(suite: Suite) -> AnyKey:
    return ApprovedKey.create() if suite is Suite.APPROVED else DefaultKey.create()


def p384_bytes(key: EllipticCurvePrivateKey) -> bytes:
    """The public half of a key on P-384, 97 bytes."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def p384_public(point: bytes) -> EllipticCurvePublicKey:
    """The public key of `p384_bytes`; ValueError for anything that is no point of the curve."""
    if len(point) != P384_PUBLIC_BYTES:
        raise ValueError("a point of another length")
    return EllipticCurvePublicKey.from_encoded_point(SECP384R1(), point)


def _is_p384(key: object) -> TypeGuard[EllipticCurvePrivateKey]:
    return isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP384R1)


@dataclass(frozen=True)
class SealingKey:
    """What a recipient opens with: its newest key, and after a renewal the one before it."""

    newest: AnyKey = field(repr=False)
    before: AnyKey | None = field(default=None, repr=False)
    """None, unless the key was renewed."""

    @classmethod
    def create(cls, suite: Suite = Suite.DEFAULT) -> SealingKey:
        return cls(new_key(suite))

    def renewed(self, suite: Suite = Suite.DEFAULT) -> SealingKey:
        """With a new key; the newest of before still opens, and one before that no longer."""
        return SealingKey(new_key(suite), self.newest)

    @property
    def keys(self) -> tuple[AnyKey, ...]:
        return (self.newest,) if self.before is None else (self.newest, self.before)

    @property
    def public(self) -> SealingPublicKey:
        return self.newest.public

    @property
    def publics(self) -> tuple[SealingPublicKey, ...]:
        return tuple(key.public for key in self.keys)

    @classmethod
    def load(cls, path: Path) -> SealingKey:
        """Read the file of `save`. Raises CONFIGURATION if the file is missing, open to others, or holds something
        else."""
        stored = load_keys(path, _CONTENT)
        keys: list[AnyKey] = []
        while stored:
            first, second = stored.pop(0), stored.pop(0) if stored else None
            if isinstance(first, MLKEM768PrivateKey) and isinstance(second, X25519PrivateKey):
                keys.append(DefaultKey(first, second))
            elif isinstance(first, MLKEM1024PrivateKey) and _is_p384(second):
                keys.append(ApprovedKey(first, second))
            else:
                raise unexpected(path, _EXPECTED, _LOST)
        if not 1 <= len(keys) <= 2:
            raise unexpected(path, _EXPECTED, _LOST)
        return cls(*keys)

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the keys to a file of mode 0600; an existing one is an error (EXISTS) unless it is to be replaced."""
        save_keys(path, *(each for key in self.keys for each in key.stored), replace=replace)
