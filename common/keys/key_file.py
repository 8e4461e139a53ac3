"""Keys in files and lists: private ones as PKCS #8 PEM, public ones in hexadecimal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM1024PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.fingerprint import fingerprint, in_groups
from gemel.common.keys.private_files import read_private, write_private

PUBLIC_BYTES = 32
"""Of a public key on Curve25519."""

StoredKey = Ed25519PrivateKey | X25519PrivateKey | MLKEM768PrivateKey | MLKEM1024PrivateKey | EllipticCurvePrivateKey

_BLOCK = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\r?\n?", re.DOTALL)


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key.

    Raises
    ------
    GemelError
        With the kind's code if `raw` has another length.
    """

    raw: bytes

    KIND: ClassVar[str]
    """Its name in messages."""
    CODE: ClassVar[ErrorCode]
    """Code of the errors about it."""
    LENGTHS: ClassVar[tuple[int, ...]] = (PUBLIC_BYTES,)
    """In bytes."""

    def __post_init__(self) -> None:
        if len(self.raw) not in self.LENGTHS:
            lengths = " or ".join(map(str, self.LENGTHS))
            raise GemelError(self.CODE, f"an {self.KIND} public key has {lengths} bytes", got=f"{len(self.raw)} bytes")

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """Read the hexadecimal digits of a membership list.

        Raises
        ------
        GemelError
            With the kind's code if the text is anything else.
        """
        try:
            raw = bytes.fromhex(text)
        except ValueError:
            lengths = " or ".join(str(2 * length) for length in cls.LENGTHS)
            raise GemelError(cls.CODE, f"an {cls.KIND} public key is written as {lengths} hexadecimal digits") from None
        return cls(raw)

    @property
    def hex(self) -> str:
        """The key as written in a membership list."""
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
    """The error of a file that holds something else."""
    what = f"expected {expected} as unencrypted PKCS #8 PEM"
    return GemelError(ErrorCode.CONFIGURATION, what, where=str(path), remedy=remedy)
