"""The file of an identity's private key."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tryst.common.keys.key_file import PrivateKey


@dataclass(frozen=True)
class IdentityKey(PrivateKey[Ed25519PrivateKey]):
    """A `Signer` in a file that only its owner may read."""

    TYPE = Ed25519PrivateKey
    CONTENT = "the Ed25519 identity"
    LOST = "restore the file from its backup, or make a new identity and have it entered in the membership list"

    @property
    def public(self) -> bytes:
        """The public half."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`."""
        return self._key.sign(message)
