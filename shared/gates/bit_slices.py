"""Bit-slicing: 64 pairs in one word, a word for each bit of a row.

Bit k of word w of a slice belongs to pair 64 w + k. Exclusive or of two rows' words is made on the way, pair by pair,
and then 64 words of 64 pairs are transposed as one matrix of bits (Warren, Hacker's Delight, 2012, section 7-3).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gemel.common.signatures.row_words import WORD_BITS
from gemel.shared.gates.gates import Pairs, Shared, Words


def slices_of(words: Shared) -> Shared:
    """Rows of words, (shares, n, w), as slices, (shares, 64 w, ceil(n / 64)); bits of rows that do not exist are 0."""
    shares, n, width = words.shape
    out = np.empty((shares, WORD_BITS * width, -(-n // WORD_BITS)), dtype=np.uint64)
    for share in range(shares):
        _slice(words[share], out[share])
    return out


def rows_of(slices: Shared, n: int) -> Shared:
    """The rows of slices of a multiple of 64 bits: `slices_of` backwards; shape (shares, n, bits / 64)."""
    shares, bits, _ = slices.shape
    out = np.empty((shares, n, bits // WORD_BITS), dtype=np.uint64)
    for share in range(shares):
        _unslice(slices[share], out[share])
    return out


def difference_slices(
    rows_a: Shared, rows_b: Shared, pair_a: Pairs, pair_b: Pairs, words_a: slice, words_b: slice
) -> Shared:
    """The exclusive or of words of the rows of each pair, as slices: uint64, shape (shares, bits, ceil(n / 64)).

    `rows_a`, `rows_b`, shape (shares, n_a, W) and (shares, n_b, W); `pair_a`, `pair_b`, shape (n,): rows of each pair;
    `words_a`, `words_b`: which words of a row of either, equally many.
    """
    width = words_a.stop - words_a.start
    out = np.empty((len(rows_a), WORD_BITS * width, -(-len(pair_a) // WORD_BITS)), dtype=np.uint64)
    for a, b, slices in zip(rows_a, rows_b, out, strict=True):
        _slice_differences(a, b, pair_a, pair_b, words_a.start, words_b.start, width, slices)
    return out


@njit(nogil=True, cache=True)
def _transpose(block: Words) -> None:
    """A 64 x 64 matrix of bits, a row a word, in place: bit j of word k becomes bit k of word j."""
    span = np.uint64(32)
    mask = np.uint64(0x00000000FFFFFFFF)
    while span:
        step = np.int64(span)
        for base in range(0, 64, 2 * step):
            for k in range(base, base + step):
                change = ((block[k] >> span) ^ block[k + step]) & mask
                block[k] ^= change << span
                block[k + step] ^= change
        span >>= np.uint64(1)
        mask ^= mask << span


@njit(nogil=True, cache=True)
def _slice(words: Words, out: Words) -> None:
    n, width = words.shape
    block = np.empty(64, dtype=np.uint64)
    for place in range(out.shape[1]):
        for column in range(width):
            for k in range(64):
                row = 64 * place + k
                block[k] = words[row, column] if row < n else np.uint64(0)
            _transpose(block)
            for k in range(64):
                out[64 * column + k, place] = block[k]


@njit(nogil=True, cache=True)
def _unslice(slices: Words, out: Words) -> None:
    n, width = out.shape
    block = np.empty(64, dtype=np.uint64)
    for place in range(slices.shape[1]):
        for column in range(width):
            for k in range(64):
                block[k] = slices[64 * column + k, place]
            _transpose(block)
            for k in range(min(64, n - 64 * place)):
                out[64 * place + k, column] = block[k]


@njit(nogil=True, cache=True)
def _slice_differences(
    a: Words, b: Words, pair_a: Pairs, pair_b: Pairs, from_a: int, from_b: int, width: int, out: Words
) -> None:
    n = len(pair_a)
    # Eight words of a slice at a time: a line of the cache.
    blocks = np.zeros((width, 8, 64), dtype=np.uint64)
    for begin in range(0, out.shape[1], 8):
        end = min(begin + 8, out.shape[1])
        if 64 * end > n:
            blocks[:] = 0
        for pair in range(64 * begin, min(64 * end, n)):
            row_a, row_b = pair_a[pair], pair_b[pair]
            place, k = (pair >> 6) - begin, pair & 63
            for column in range(width):
                blocks[column, place, k] = a[row_a, from_a + column] ^ b[row_b, from_b + column]
        for column in range(width):
            for place in range(end - begin):
                _transpose(blocks[column, place])
            for k in range(64):
                for place in range(end - begin):
                    out[64 * column + k, begin + place] = blocks[column, place, k]
