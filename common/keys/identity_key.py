"""The file of an identity's private key."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gemel.common.keys.key_file import load_keys, save_keys, unexpected

_LOST = "restore the file from its backup, or make a new identity and have it entered in the membership list"


@dataclass(frozen=True)
class IdentityKey:
    """A `Signer` in a file that only its owner may read."""

    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> IdentityKey:
        """A new key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: Path) -> IdentityKey:
        """Read the key from a PKCS #8 PEM file that only its owner may read.

        Raises
        ------
        GemelError
            CONFIGURATION if the file is missing, open to others, or holds something else.
        """
        keys = load_keys(path, "the Ed25519 identity")
        if len(keys) != 1 or not isinstance(keys[0], Ed25519PrivateKey):
            raise unexpected(path, "an Ed25519 private key", _LOST)
        return cls(keys[0])

    def save(self, path: Path) -> None:
        """Write the key to a new file with mode 0600; an existing file is never overwritten.

        Raises
        ------
        GemelError
            EXISTS or CONFIGURATION.
        """
        save_keys(path, self._key)

    @property
    def public(self) -> bytes:
        """The public half."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`."""
        return self._key.sign(message)
