"""The half of a seed agreement that is on a curve: each side's key of this agreement alone, and the secret of both.

X25519 (RFC 7748); in the approved suite ECDH on P-384 (SP 800-56A, ephemeral keys on both sides, the other's key
checked to be a point of the curve).
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP384R1,
    EllipticCurvePrivateKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from gemel.common.keys.identity import PUBLIC_BYTES
from gemel.common.keys.sealing_key import P384_PUBLIC_BYTES, p384_bytes, p384_public
from gemel.common.keys.suite import Suite

_P384_PRIVATE_BYTES = 48

CURVES = {Suite.DEFAULT: "X25519", Suite.APPROVED: "P-384"}
PUBLIC_LENGTHS = {Suite.DEFAULT: PUBLIC_BYTES, Suite.APPROVED: P384_PUBLIC_BYTES}
"""Bytes of a public key, by suite."""
STATE_LENGTHS = {Suite.DEFAULT: PUBLIC_BYTES, Suite.APPROVED: _P384_PRIVATE_BYTES}
"""Bytes of a private key in a state, by suite."""


class Ephemeral:
    """One custodian's key."""

    def __init__(self, key: X25519PrivateKey | EllipticCurvePrivateKey) -> None:
        self._key = key

    @classmethod
    def create(cls, suite: Suite) -> Ephemeral:
        """A new key from the operating system's randomness."""
        return cls(generate_private_key(SECP384R1()) if suite is Suite.APPROVED else X25519PrivateKey.generate())

    @classmethod
    def restored(cls, suite: Suite, state: bytes) -> Ephemeral:
        """The key of a state.

        Raises
        ------
        ValueError
            If the state is malformed.
        """
        if suite is Suite.APPROVED:
            return cls(derive_private_key(int.from_bytes(state, "big"), SECP384R1()))
        return cls(X25519PrivateKey.from_private_bytes(state))

    @property
    def public(self) -> bytes:
        """The public key, of `PUBLIC_LENGTHS`."""
        if isinstance(self._key, X25519PrivateKey):
            return self._key.public_key().public_bytes_raw()
        return p384_bytes(self._key)

    @property
    def state(self) -> bytes:
        """The *private* key, of `STATE_LENGTHS`."""
        if isinstance(self._key, X25519PrivateKey):
            return self._key.private_bytes_raw()
        return self._key.private_numbers().private_value.to_bytes(_P384_PRIVATE_BYTES, "big")

    def secret(self, public: bytes) -> bytes:
        """The common secret, 32 bytes of X25519 or 48 of P-384.

        Raises
        ------
        ValueError
            If the other's key is a point of low order, or no point of the curve.
        """
        if isinstance(self._key, X25519PrivateKey):
            return self._key.exchange(X25519PublicKey.from_public_bytes(public))
        return self._key.exchange(ECDH(), p384_public(public))
