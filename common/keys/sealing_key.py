"""A recipient's lasting X25519 key, to which its share of a result is sealed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tryst.common.errors import ErrorCode
from tryst.common.keys.key_file import PublicKey, load_key, save_key


@dataclass(frozen=True)
class SealingPublicKey(PublicKey):
    """A recipient's X25519 public key.

    Raises
    ------
    TrystError
        SEALED if `raw` is not 32 bytes.
    """

    KIND = "X25519"
    CODE = ErrorCode.SEALED


@dataclass(frozen=True)
class SealingKey:
    """A recipient's own X25519 key."""

    _key: X25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> SealingKey:
        """A new key from the operating system's randomness."""
        return cls(X25519PrivateKey.generate())

    @classmethod
    def load(cls, path: Path) -> SealingKey:
        """Read the key from a PKCS #8 PEM file that only its owner may read.

        Raises
        ------
        TrystError
            CONFIGURATION if the file is missing, open to others, or holds something else.
        """
        remedy = "restore the file from its backup; what was sealed to a lost key cannot be opened again"
        return cls(load_key(path, X25519PrivateKey, "the X25519 sealing key", remedy))  # type: ignore[type-abstract]

    def save(self, path: Path) -> None:
        """Write the key to a new file with mode 0600; an existing file is never overwritten.

        Raises
        ------
        TrystError
            EXISTS or CONFIGURATION.
        """
        save_key(path, self._key)

    @property
    def public(self) -> SealingPublicKey:
        """The public half."""
        return SealingPublicKey(self._key.public_key().public_bytes_raw())

    def shared_secret(self, ephemeral: bytes) -> bytes:
        """The X25519 secret with a sender's ephemeral public key.

        Raises
        ------
        ValueError
            If `ephemeral` is a point of low order: the secret would be zero, whoever the recipient is.
        """
        return self._key.exchange(X25519PublicKey.from_public_bytes(ephemeral))
