"""The base of Ed25519 and X25519 keys: private PKCS #8 files, and 32 public bytes in hexadecimal."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.fingerprint import fingerprint, in_groups
from tryst.common.keys.private_files import read_private, write_private

PUBLIC_BYTES = 32

Key = TypeVar("Key", Ed25519PrivateKey, X25519PrivateKey)


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key.

    Raises
    ------
    TrystError
        With the kind's code if `raw` is not 32 bytes.
    """

    raw: bytes

    KIND: ClassVar[str]
    """Its name in messages."""
    CODE: ClassVar[ErrorCode]
    """Code of the errors about it."""

    def __post_init__(self) -> None:
        if len(self.raw) != PUBLIC_BYTES:
            raise TrystError(
                self.CODE, f"an {self.KIND} public key has {PUBLIC_BYTES} bytes", got=f"{len(self.raw)} bytes"
            )

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """Read the 64 hexadecimal digits of a membership list.

        Raises
        ------
        TrystError
            With the kind's code if the text is anything else.
        """
        try:
            raw = bytes.fromhex(text)
        except ValueError:
            raise TrystError(
                cls.CODE, f"an {cls.KIND} public key is written as {2 * PUBLIC_BYTES} hexadecimal digits"
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
class PrivateKey(Generic[Key]):
    """A party's own long-term key."""

    _key: Key = field(repr=False)

    TYPE: ClassVar[type[Any]]
    """Type of the key."""
    CONTENT: ClassVar[str]
    """The content of its file, in messages."""
    LOST: ClassVar[str]
    """The remedy if the file does not hold it, in messages."""

    @classmethod
    def create(cls) -> Self:
        """A new key from the operating system's randomness."""
        return cls(cls.TYPE.generate())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the key from a PKCS #8 PEM file that only its owner may read.

        Raises
        ------
        TrystError
            CONFIGURATION if the file is missing, open to others, or holds something else.
        """
        pem = read_private(path, cls.CONTENT)
        try:
            key: object = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, cls.TYPE):
            name = cls.TYPE.__name__.removesuffix("PrivateKey")
            raise TrystError(
                ErrorCode.CONFIGURATION,
                f"expected an {name} private key as unencrypted PKCS #8 PEM",
                where=str(path),
                remedy=cls.LOST,
            )
        return cls(key)

    def save(self, path: Path) -> None:
        """Write the key to a new file with mode 0600; an existing file is never overwritten.

        Raises
        ------
        TrystError
            EXISTS or CONFIGURATION.
        """
        pem = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        write_private(path, pem)
