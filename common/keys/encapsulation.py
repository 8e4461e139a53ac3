"""The half of a seed agreement that a quantum computer does not break: one secret by ML-KEM-768 (FIPS 203).

A key encapsulation is one-sided. The custodian of the first side offers a public key; the other one's offer answers it
with a ciphertext, from which the first takes the same secret. One encapsulation is enough: what each side draws by
itself is in its X25519 key, and the seed follows from both secrets.
"""

from __future__ import annotations

from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey

from tryst.common.keys.sealing_key import MLKEM_PUBLIC_BYTES
from tryst.common.parties import Side

CIPHERTEXT_BYTES = 1088
SECRET_BYTES = 32
STATE_BYTES = CIPHERTEXT_BYTES + SECRET_BYTES
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

    def __init__(self, key: MLKEM768PrivateKey) -> None:
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

    def __init__(self, state: bytes) -> None:
        self._ciphertext, self._secret = state[:CIPHERTEXT_BYTES], state[CIPHERTEXT_BYTES:]

    @property
    def part(self) -> bytes:
        return self._ciphertext

    @property
    def state(self) -> bytes:
        return self._ciphertext + self._secret

    def secret(self, part: bytes) -> bytes:
        if not self._ciphertext:
            self._secret, self._ciphertext = MLKEM768PublicKey.from_public_bytes(part).encapsulate()
        return self._secret


def encapsulation(side: Side, state: bytes | None = None) -> Encapsulation:
    """The half of the custodian on `side`: a new one, or that of a state.

    Raises
    ------
    ValueError
        If the state is malformed.
    """
    if side is next(iter(Side)):
        return _Holder(MLKEM768PrivateKey.generate() if state is None else MLKEM768PrivateKey.from_seed_bytes(state))
    if state and len(state) != STATE_BYTES:
        raise ValueError("a half of an agreement of another length")
    return _Answerer(state or b"")


def part_bytes(side: Side) -> int:
    """Length of the part in the offer of the custodian on `side`."""
    return MLKEM_PUBLIC_BYTES if side is next(iter(Side)) else CIPHERTEXT_BYTES
