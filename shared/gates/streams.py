"""Pseudo-random words that the two holders of a key draw alike."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

KEY_BYTES = 32
_AT_ONCE = 1 << 20
_ZEROS = memoryview(bytes(_AT_ONCE))


class Stream:
    """The AES-256-CTR keystream of a key of 32 bytes, as words; both holders must draw the same numbers of words in
    order.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next `n` words of the stream; shape (n,)."""
        drawn = np.empty(n, dtype="<u8")
        self.fill(drawn)
        return drawn

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Write the next `len(out)` words of the stream into an array of shape (n,), contiguous."""
        view = bytes_of(out)
        for begin in range(0, len(view), _AT_ONCE):
            part = view[begin : begin + _AT_ONCE]
            # The keystream is what encrypting zeros gives.
            self._cipher.update_into(_ZEROS[: len(part)], part)


def bytes_of(words: NDArray[np.uint64]) -> memoryview:
    """The bytes of words, least significant first; of contiguous ones without a copy."""
    return np.ascontiguousarray(words, dtype="<u8").reshape(-1).view(np.uint8).data
