"""A recipient's lasting X25519 key, to which its share of a result is sealed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from common.errors import ErrorCode, TrystError
from common.keys.fingerprint import fingerprint, in_groups
from common.keys.private_files import read_private, write_private

PUBLIC_BYTES = 32


@dataclass(frozen=True)
class SealingPublicKey:
    """A recipient's X25519 public key.

    Raises
    ------
    TrystError
        SEALED if `raw` is not 32 bytes.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != PUBLIC_BYTES:
            raise TrystError(
                ErrorCode.SEALED,
                f"an X25519 public key has {PUBLIC_BYTES} bytes",
                got=f"{len(self.raw)} bytes",
            )

    @classmethod
    def from_hex(cls, text: str) -> SealingPublicKey:
        """Read the 64 hexadecimal digits of a membership list.

        Raises
        ------
        TrystError
            SEALED if the text is anything else.
        """
        try:
            raw = bytes.fromhex(text)
        except ValueError:
            raise TrystError(
                ErrorCode.SEALED, f"an X25519 public key is written as {2 * PUBLIC_BYTES} hexadecimal digits"
            ) from None
        return cls(raw)

    @property
    def hex(self) -> str:
        """The key as written in a membership list."""
        return self.raw.hex()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key in groups of four digits, for comparing over the phone."""
        return in_groups(fingerprint(self.raw))


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
        pem = read_private(path, "the X25519 sealing key")
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, X25519PrivateKey):
            raise TrystError(
                ErrorCode.CONFIGURATION,
                "expected an X25519 private key as unencrypted PKCS #8 PEM",
                where=str(path),
                remedy="restore the file from its backup; what was sealed to a lost key cannot be opened again",
            )
        return cls(key)

    def save(self, path: Path) -> None:
        """Write the key to a new file with mode 0600; an existing file is never overwritten.

        Raises
        ------
        TrystError
            EXISTS or CONFIGURATION.
        """
        write_private(
            path,
            self._key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

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
