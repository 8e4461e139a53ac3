"""AES-256 as a pseudo-random function of 16 bytes, for many blocks at once."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

_CALL_BYTES = 1 << 20  # encrypted in one call, which holds Python's lock


def encrypt(key: bytes, array: NDArray[np.uint64]) -> None:
    """Encrypt an array in place, each block of 16 bytes by itself.

    Parameters
    ----------
    key
        32 bytes.
    array
        Contiguous; a multiple of 16 bytes.
    """
    encryptor = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - a pseudo-random function of one block
    data = memoryview(array.reshape(-1).view(np.uint8).data)
    last = bytearray(31)  # a call needs 15 bytes more room than it fills: buffer for the last block
    for start in range(0, len(data) - 16, _CALL_BYTES):
        stop = min(start + _CALL_BYTES, len(data) - 16)
        encryptor.update_into(data[start:stop], data[start : stop + 16])
    if len(data):
        encryptor.update_into(data[-16:], last)
        data[-16:] = last[:16]


def numbers(key: bytes, first: NDArray[np.integer], second: NDArray[np.integer] | None = None) -> NDArray[np.uint64]:
    """A pseudo-random number of each pair of numbers, the same for equal pairs: uint64, shape (n,).

    Parameters
    ----------
    key
        32 bytes.
    first, second
        Not negative, shape (n,) each; 0 for `second` by default.
    """
    both = np.zeros((len(first), 2), dtype="<u8")
    both[:, 0] = first
    if second is not None:
        both[:, 1] = second
    encrypt(key, both)
    return both[:, 0].astype(np.uint64)
