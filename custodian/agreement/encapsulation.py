"""The half of a seed agreement that a quantum computer does not break: one secret by ML-KEM (FIPS 203).

A key encapsulation is one-sided. The custodian of the first side offers a public key; the other one's offer answers it
with a ciphertext, from which the first takes the same secret. One encapsulation is enough: what each side draws by
itself is in its key on a curve (`ephemeral`), and the seed follows from both secrets. It is ML-KEM-768, and ML-KEM-1024
in the approved suite, whose curve is P-384.
"""

from __future__ import annotations

from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.mlkem import (
    MLKEM768PrivateKey,
    MLKEM768PublicKey,
    MLKEM1024PrivateKey,
    MLKEM1024PublicKey,
)

from gemel.common.keys.sealing_key import MLKEM1024_PUBLIC_BYTES, MLKEM_PUBLIC_BYTES
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side

CIPHERTEXT_BYTES = {Suite.DEFAULT: 1088, Suite.APPROVED: 1568}
SECRET_BYTES = 32
STATE_BYTES = max(CIPHERTEXT_BYTES.values()) + SECRET_BYTES
"""Longest state of a half."""


class Encapsulation(Protocol):
    """One custodian's half."""

    @property
    def part(self) -> bytes:
        """Its part of the own offer; empty as long as that cannot be made."""

    @property
    def state(self) -> bytes:
        """All of it, *with its secrets*."""

    def secret(self, part: bytes) -> bytes:
        """The common secret, 32 bytes, from the other's part; always the same for the same one.

        A ciphertext that was changed gives another secret, not an error.

        Raises
        ------
        ValueError
            If the part is no public key, or is not of the length of a ciphertext.
        """


class _Holder:
    """Holds the key."""

    def __init__(self, key: MLKEM768PrivateKey | MLKEM1024PrivateKey) -> None:
        self._key = key

    @property
    def part(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    @property
    def state(self) -> bytes:
        return self._key.private_bytes_raw()

    def secret(self, part: bytes) -> bytes:
        return self._key.decapsulate(part)


class _Answerer:
    """Encapsulates a secret, once."""

    def __init__(self, state: bytes, suite: Suite) -> None:
        length = CIPHERTEXT_BYTES[suite]
        self._ciphertext, self._secret = state[:length], state[length:]
        self._public = MLKEM1024PublicKey if suite is Suite.APPROVED else MLKEM768PublicKey

    @property
    def part(self) -> bytes:
        return self._ciphertext

    @property
    def state(self) -> bytes:
        return self._ciphertext + self._secret

    def secret(self, part: bytes) -> bytes:
        if not self._ciphertext:
            self._secret, self._ciphertext = self._public.from_public_bytes(part).encapsulate()
        return self._secret


def encapsulation(side: Side, state: bytes | None = None, suite: Suite = Suite.DEFAULT) -> Encapsulation:
    """The half of the custodian on `side`: a new one, or that of a state, by the suite's ML-KEM."""
    if side is next(iter(Side)):
        kind = MLKEM1024PrivateKey if suite is Suite.APPROVED else MLKEM768PrivateKey
        return _Holder(kind.generate() if state is None else kind.from_seed_bytes(state))
    if state and len(state) != CIPHERTEXT_BYTES[suite] + SECRET_BYTES:
        raise ValueError("a half of an agreement of another length")
    return _Answerer(state or b"", suite)


def part_bytes(side: Side, suite: Suite = Suite.DEFAULT) -> int:
    """Length of the part in the offer of the custodian on `side`."""
    public = MLKEM1024_PUBLIC_BYTES if suite is Suite.APPROVED else MLKEM_PUBLIC_BYTES
    return public if side is next(iter(Side)) else CIPHERTEXT_BYTES[suite]
