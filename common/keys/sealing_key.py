"""A recipient's long-term X25519 key, to which its share of a result is sealed."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tryst.common.errors import ErrorCode
from tryst.common.keys.key_file import PrivateKey, PublicKey


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
class SealingKey(PrivateKey[X25519PrivateKey]):
    """A recipient's own X25519 key."""

    TYPE = X25519PrivateKey
    CONTENT = "the X25519 sealing key"
    LOST = "restore the file from its backup; what was sealed to a lost key cannot be opened again"

    @property
    def public(self) -> SealingPublicKey:
        """The public half."""
        return SealingPublicKey(self._key.public_key().public_bytes_raw())

    def shared_secret(self, ephemeral: bytes) -> bytes:
        """The X25519 secret with a sender's ephemeral public key.

        Raises
        ------
        ValueError
            If `ephemeral` is a point of low order: the secret would be zero for every recipient.
        """
        return self._key.exchange(X25519PublicKey.from_public_bytes(ephemeral))
