"""The two halves of a seed agreement, by suite: keys on a curve, and one secret by ML-KEM (FIPS 203).

On the curve each side has a key of this agreement alone: X25519 (RFC 7748), or ECDH on P-384 (SP 800-56A, the other's
key checked to be a point of the curve). ML-KEM, which a quantum computer does not break, is one-sided: the custodian of
the first side offers a public key, the other one answers with a ciphertext, from which the first takes the same secret.
One encapsulation is enough, since what each side draws by itself is in its key on the curve.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP384R1,
    EllipticCurvePrivateKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.mlkem import (
    MLKEM768PrivateKey,
    MLKEM768PublicKey,
    MLKEM1024PrivateKey,
    MLKEM1024PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from gemel.common.keys.identity import PUBLIC_BYTES
from gemel.common.keys.sealing_key import (
    MLKEM1024_PUBLIC_BYTES,
    MLKEM_PUBLIC_BYTES,
    P384_PUBLIC_BYTES,
    p384_bytes,
    p384_public,
)
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side

SECRET_BYTES = 32


@dataclass(frozen=True)
class Algorithms:
    """What an agreement of a suite is made by: names, and lengths in bytes."""

    curve: str
    curve_public_bytes: int
    curve_private_bytes: int
    mlkem: str
    mlkem_private: type[MLKEM768PrivateKey | MLKEM1024PrivateKey]
    mlkem_public: type[MLKEM768PublicKey | MLKEM1024PublicKey]
    mlkem_public_bytes: int
    ciphertext_bytes: int

    def part_bytes(self, side: Side) -> int:
        """Length of the part of ML-KEM in the offer of the custodian on `side`."""
        return self.mlkem_public_bytes if _offers_key(side) else self.ciphertext_bytes


ALGORITHMS = {
    Suite.DEFAULT: Algorithms(
        "X25519", PUBLIC_BYTES, PUBLIC_BYTES,
        "ML-KEM-768", MLKEM768PrivateKey, MLKEM768PublicKey, MLKEM_PUBLIC_BYTES, 1088,
    ),
    Suite.APPROVED: Algorithms(
        "P-384", P384_PUBLIC_BYTES, 48,
        "ML-KEM-1024", MLKEM1024PrivateKey, MLKEM1024PublicKey, MLKEM1024_PUBLIC_BYTES, 1568,
    ),
}  # fmt: skip


def _offers_key(side: Side) -> bool:
    return side is next(iter(Side))


class Ephemeral:
    """One custodian's key on the curve."""

    def __init__(self, key: X25519PrivateKey | EllipticCurvePrivateKey) -> None:
        self._key = key

    @classmethod
    def create(cls, suite: Suite) -> Ephemeral:
        return cls(generate_private_key(SECP384R1()) if suite is Suite.APPROVED else X25519PrivateKey.generate())

    @classmethod
    def restored(cls, suite: Suite, state: bytes) -> Ephemeral:
        """The key of a state; ValueError if that is malformed."""
        if suite is Suite.APPROVED:
            return cls(derive_private_key(int.from_bytes(state, "big"), SECP384R1()))
        return cls(X25519PrivateKey.from_private_bytes(state))

    @property
    def public(self) -> bytes:
        if isinstance(self._key, X25519PrivateKey):
            return self._key.public_key().public_bytes_raw()
        return p384_bytes(self._key)

    @property
    def state(self) -> bytes:
        """The *private* key."""
        if isinstance(self._key, X25519PrivateKey):
            return self._key.private_bytes_raw()
        length = ALGORITHMS[Suite.APPROVED].curve_private_bytes
        return self._key.private_numbers().private_value.to_bytes(length, "big")

    def secret(self, public: bytes) -> bytes:
        """The common secret, 32 bytes of X25519 or 48 of P-384; ValueError for a point of low order, or none of the
        curve.
        """
        if isinstance(self._key, X25519PrivateKey):
            return self._key.exchange(X25519PublicKey.from_public_bytes(public))
        return self._key.exchange(ECDH(), p384_public(public))


class Encapsulation:
    """One custodian's half of ML-KEM: of the first side the key, of the other the secret it has encapsulated, once.

    A new one, or that of a `state`; ValueError if the state is malformed.
    """

    def __init__(self, side: Side, suite: Suite, state: bytes | None = None) -> None:
        self._algorithms = ALGORITHMS[suite]
        self._key: MLKEM768PrivateKey | MLKEM1024PrivateKey | None = None
        self._ciphertext = self._secret = b""
        kind, length = self._algorithms.mlkem_private, self._algorithms.ciphertext_bytes
        if _offers_key(side):
            self._key = kind.generate() if state is None else kind.from_seed_bytes(state)
        elif state:
            if len(state) != length + SECRET_BYTES:
                raise ValueError("a half of an agreement of another length")
            self._ciphertext, self._secret = state[:length], state[length:]

    @property
    def part(self) -> bytes:
        """Its part of the own offer; empty as long as that cannot be made."""
        return self._ciphertext if self._key is None else self._key.public_key().public_bytes_raw()

    @property
    def state(self) -> bytes:
        """All of it, *with its secrets*."""
        return self._ciphertext + self._secret if self._key is None else self._key.private_bytes_raw()

    def secret(self, part: bytes) -> bytes:
        """The common secret, 32 bytes, from the other's part; always the same for the same one.

        A ciphertext that was changed gives another secret, not an error. ValueError if the part is no public key, or
        is not of the length of a ciphertext.
        """
        if self._key is not None:
            return self._key.decapsulate(part)
        if not self._ciphertext:
            self._secret, self._ciphertext = self._algorithms.mlkem_public.from_public_bytes(part).encapsulate()
        return self._secret
