"""A recipient's long-term key, to which its share of a result is sealed.

It is *hybrid*: a key of ML-KEM-768 (FIPS 203) and one of X25519, and whoever wants to open what is sealed to it must
break both. What is recorded today then stays closed to a later quantum computer. Keys of former releases are of X25519
alone; they are read, and sealed to, as they were, until their owner makes a new one (`SealingKey.renewed`).

The public half is both public keys, ML-KEM's first: 1216 bytes. The private file holds both private keys, ML-KEM's
first, and behind them those of the key before, which opens what was sealed to it until the list names the new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey, MLKEM768X25519PublicKey

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.key_file import PUBLIC_BYTES, PublicKey, StoredKey, load_keys, save_keys, unexpected

MLKEM_PUBLIC_BYTES = 1184
HYBRID_PUBLIC_BYTES = MLKEM_PUBLIC_BYTES + PUBLIC_BYTES

_CONTENT = "the sealing key"
_EXPECTED = "private keys of ML-KEM-768 and X25519"
_LOST = "restore the file from its backup; what was sealed to a lost key cannot be opened again"


@dataclass(frozen=True)
class SealingPublicKey(PublicKey):
    """A recipient's public key: hybrid, or of a former release.

    Raises
    ------
    TrystError
        SEALED if `raw` has another length, or its first part is no public key of ML-KEM-768.
    """

    KIND = "ML-KEM-768 and X25519 (or, of a former release, X25519)"
    CODE = ErrorCode.SEALED
    LENGTHS = (HYBRID_PUBLIC_BYTES, PUBLIC_BYTES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_hybrid:
            try:
                MLKEM768PublicKey.from_public_bytes(self.raw[:MLKEM_PUBLIC_BYTES])
            except ValueError:
                raise TrystError(
                    ErrorCode.SEALED,
                    "this is no public key of ML-KEM-768 and X25519",
                    got=f"a key with the fingerprint {self.fingerprint}",
                    remedy="ask its owner for a key made by 'tryst init' or 'tryst party'",
                ) from None

    @property
    def is_hybrid(self) -> bool:
        """Whether it is of ML-KEM-768 and X25519, not of X25519 alone."""
        return len(self.raw) == HYBRID_PUBLIC_BYTES

    @property
    def hybrid(self) -> MLKEM768X25519PublicKey:
        """A hybrid key, for HPKE."""
        return MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(self.raw[:MLKEM_PUBLIC_BYTES]),
            X25519PublicKey.from_public_bytes(self.raw[MLKEM_PUBLIC_BYTES:]),
        )


@dataclass(frozen=True)
class HybridKey:
    """A private key of ML-KEM-768 and X25519."""

    mlkem: MLKEM768PrivateKey = field(repr=False)
    x25519: X25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> HybridKey:
        """A new key from the operating system's randomness."""
        return cls(MLKEM768PrivateKey.generate(), X25519PrivateKey.generate())

    @property
    def public(self) -> SealingPublicKey:
        """The public half."""
        halves = self.mlkem.public_key().public_bytes_raw(), self.x25519.public_key().public_bytes_raw()
        return SealingPublicKey(b"".join(halves))

    @property
    def private(self) -> MLKEM768X25519PrivateKey:
        """The key, for HPKE."""
        return MLKEM768X25519PrivateKey(self.mlkem, self.x25519)

    @property
    def stored(self) -> tuple[StoredKey, ...]:
        """The keys as they stand in a file."""
        return self.mlkem, self.x25519


@dataclass(frozen=True)
class FormerKey:
    """A private key of X25519 alone, as former releases made it."""

    x25519: X25519PrivateKey = field(repr=False)

    @property
    def public(self) -> SealingPublicKey:
        """The public half."""
        return SealingPublicKey(self.x25519.public_key().public_bytes_raw())

    @property
    def stored(self) -> tuple[StoredKey, ...]:
        """The key as it stands in a file."""
        return (self.x25519,)


@dataclass(frozen=True)
class SealingKey:
    """What a recipient opens with: its newest key, and after a renewal the one before it.

    Attributes
    ----------
    before
        None, unless the key was renewed.
    """

    newest: HybridKey | FormerKey = field(repr=False)
    before: HybridKey | FormerKey | None = field(default=None, repr=False)

    @classmethod
    def create(cls) -> SealingKey:
        """A new hybrid key from the operating system's randomness."""
        return cls(HybridKey.create())

    def renewed(self) -> SealingKey:
        """With a new hybrid key; the newest of before still opens, and one before that no longer."""
        return SealingKey(HybridKey.create(), self.newest)

    @property
    def keys(self) -> tuple[HybridKey | FormerKey, ...]:
        """All of them, the newest first."""
        return (self.newest,) if self.before is None else (self.newest, self.before)

    @property
    def public(self) -> SealingPublicKey:
        """The public half of the newest."""
        return self.newest.public

    @property
    def publics(self) -> tuple[SealingPublicKey, ...]:
        """The public halves of all, the newest first."""
        return tuple(key.public for key in self.keys)

    @classmethod
    def load(cls, path: Path) -> SealingKey:
        """Read the file of `save`, or that of a former release.

        Raises
        ------
        TrystError
            CONFIGURATION if the file is missing, open to others, or holds something else.
        """
        stored = load_keys(path, _CONTENT)
        keys: list[HybridKey | FormerKey] = []
        while stored:
            first = stored.pop(0)
            second = stored.pop(0) if stored and isinstance(first, MLKEM768PrivateKey) else None
            if isinstance(first, MLKEM768PrivateKey) and isinstance(second, X25519PrivateKey):
                keys.append(HybridKey(first, second))
            elif isinstance(first, X25519PrivateKey):
                keys.append(FormerKey(first))
            else:
                raise unexpected(path, _EXPECTED, _LOST)
        if not 1 <= len(keys) <= 2 or (len(keys) == 2 and isinstance(keys[0], FormerKey)):
            raise unexpected(path, _EXPECTED, _LOST)
        return cls(*keys)

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the keys to a file of mode 0600.

        Parameters
        ----------
        replace
            Replace an existing file, which is otherwise never overwritten.

        Raises
        ------
        TrystError
            EXISTS or CONFIGURATION.
        """
        save_keys(path, *(each for key in self.keys for each in key.stored), replace=replace)
