"""A pseudo-random function of 16 bytes by AES-256, for many blocks at once.

In the default suite it is the cipher of a block by itself. In the approved one it is CMAC [1]_ of the block, and
blocks that end with `counters` make it the key derivation in counter mode [2]_ over CMAC. A message of one whole block
needs one subkey: CMAC is the cipher of the block plus that subkey, and costs hardly more than the cipher.

References
----------
.. [1] NIST SP 800-38B, Recommendation for Block Cipher Modes of Operation: the CMAC Mode for Authentication, 2016.
.. [2] NIST SP 800-108r1, Recommendation for Key Derivation Using Pseudorandom Functions, 2022, section 4.1.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

from gemel.common.keys.suite import Suite

BLOCK_BYTES = 16

_CALL_BYTES = 1 << 20  # encrypted in one call, which holds Python's lock
_ADDED_WORDS = 512  # added in one step of a loop: with two it would take as long as the cipher
_PADDING = 0x80  # the byte that CMAC puts behind a message whose last block is not whole
_REDUCTION = 0x87  # of the field of 2^128 elements, in which CMAC's subkeys are multiples


def pseudo_random(key: bytes, array: NDArray[np.uint64], suite: Suite = Suite.DEFAULT) -> None:
    """Put in the place of each 16 bytes of a contiguous array their value under the suite's function and a key of 32
    bytes."""
    if suite is Suite.APPROVED:
        whole, _ = subkeys(key)
        _encrypt(key, array, whole)
    else:
        _encrypt(key, array)


def counters(n: int, suite: Suite = Suite.DEFAULT) -> NDArray[np.uint64]:
    """What is behind the context in each of the `n` blocks that are derived from it: uint64, shape (n,).

    By default its number from 0, little-endian. In the approved suite the counter from 1 and the length of all that is
    derived, in bits, of 32 bits each and big-endian: the context, the counter and the length are the input of the key
    derivation in counter mode.
    """
    if suite is Suite.DEFAULT:
        return np.arange(n, dtype="<u8")
    both = np.empty((n, 2), dtype=">u4")
    both[:, 0] = np.arange(1, n + 1)
    both[:, 1] = 8 * BLOCK_BYTES * n
    return both.view("<u8")[:, 0]


def numbers(
    key: bytes, first: NDArray[np.integer], second: NDArray[np.integer] | None = None, suite: Suite = Suite.DEFAULT
) -> NDArray[np.uint64]:
    """A pseudo-random number of each pair of numbers >= 0, the same for equal pairs: uint64, shape (n,)."""
    both = np.zeros((len(first), 2), dtype="<u8")
    both[:, 0] = first
    if second is not None:
        both[:, 1] = second
    pseudo_random(key, both, suite)
    return both[:, 0].astype(np.uint64)


def codes_of_rows(key: bytes, rows: NDArray[np.uint64], suite: Suite = Suite.DEFAULT) -> NDArray[np.uint64]:
    """64 bits derived from each row of uint64 words, shape (n, words >= 1): uint64, shape (n,).

    All rows under one key must have one length: by default the function is CBC-MAC, which is secure only then; in the
    approved suite it is CMAC.
    """
    words = rows.shape[1]
    state = np.zeros((len(rows), 2), dtype="<u8")
    for word in range(0, words, 2):
        block = rows[:, word : word + 2]
        state[:, : block.shape[1]] ^= block
        last = None
        if suite is Suite.APPROVED and word + 2 >= words:
            whole, padded = subkeys(key)
            last = whole if block.shape[1] == 2 else padded
            state[:, 1] ^= np.uint64(0 if block.shape[1] == 2 else _PADDING)
        _encrypt(key, state, last)
    return np.ascontiguousarray(state[:, 0])


def subkeys(key: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """CMAC's two subkeys, for a last block that is whole and for one that is padded: uint64, shape (2,) each."""
    encryptor = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - CMAC derives its subkeys from one block
    found = int.from_bytes(encryptor.update(bytes(BLOCK_BYTES)), "big")
    made = []
    for _ in range(2):
        carry = found >> 127
        found = (found << 1) & ((1 << 128) - 1) ^ (_REDUCTION if carry else 0)
        made.append(np.frombuffer(found.to_bytes(BLOCK_BYTES, "big"), dtype="<u8"))
    return made[0], made[1]


def _encrypt(key: bytes, array: NDArray[np.uint64], added: NDArray[np.uint64] | None = None) -> None:
    """Encrypt each block by itself, in place, after adding 16 bytes to each."""
    encryptor = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - a pseudo-random function of one block
    flat = array.reshape(-1)
    words, data = flat.view("<u8"), memoryview(flat.view(np.uint8).data)
    last = bytearray(31)  # a call needs 15 bytes more room than it fills: buffer for the last block
    for start in range(0, len(data) - BLOCK_BYTES, _CALL_BYTES):
        stop = min(start + _CALL_BYTES, len(data) - BLOCK_BYTES)
        if added is not None:
            _add(words[start // 8 : stop // 8], added)
        encryptor.update_into(data[start:stop], data[start : stop + BLOCK_BYTES])
    if len(data):
        if added is not None:
            _add(words[-2:], added)
        encryptor.update_into(data[-BLOCK_BYTES:], last)
        data[-BLOCK_BYTES:] = last[:BLOCK_BYTES]


def _add(words: NDArray[np.uint64], added: NDArray[np.uint64]) -> None:
    """Add 16 bytes to each block, in place."""
    repeated = np.tile(added, _ADDED_WORDS // 2)
    whole = len(words) - len(words) % _ADDED_WORDS
    words[:whole].reshape(-1, _ADDED_WORDS)[:] ^= repeated
    words[whole:] ^= repeated[: len(words) - whole]
