"""Compiled comparison of signatures.

All pairs are compared tile by tile. A tile holds `TILE_ROWS` signatures of B word-major, (word, row): the
innermost loop then runs over rows with one word of A's signature held fixed, which compiles to vector
popcounts where the processor has them, and eight words at a time keep the sums in registers. A tile of
1024-bit signatures is 64 KiB, so that it stays in the second-level cache while every row of A passes over it.
A row-major loop is less than half as fast (`python -m benchmarks compare`).

Chosen pairs are compared on the row-major signatures: a pair then touches two or three cache lines.

Every kernel releases the interpreter lock, so that threads over blocks of rows use all cores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from gemel.common.arrays import I8, I32, I64, U64

TILE_ROWS = 512
UNROLLED_WORDS = 8


@intrinsic
def _popcount(_typing_context: Any, _word: Any) -> Any:
    """Number of set bits of a 64-bit word: the processor's own instruction, scalar or vector."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


# An intrinsic is declared with the compiler's context and called without it.
popcount: Any = _popcount


@njit(nogil=True, cache=True)
def disagreeing_bits(one: U64, other: U64) -> int:
    """Number of bits in which two signatures disagree."""
    total = np.uint64(0)
    for w in range(len(one)):
        total += popcount(one[w] ^ other[w])
    return int(total)


def padded_words(signatures: U64) -> U64:
    """Signatures with zero words appended up to a multiple of `UNROLLED_WORDS`.

    Both sides get the same zeros, which never disagree, so the number of disagreeing bits is unchanged.
    """
    n_rows, n_words = signatures.shape
    surplus = -n_words % UNROLLED_WORDS
    if surplus == 0:
        return np.ascontiguousarray(signatures)
    padded = np.zeros((n_rows, n_words + surplus), dtype=np.uint64)
    padded[:, :n_words] = signatures
    return padded


def word_major_tiles(signatures: U64) -> U64:
    """Signatures as tiles of `TILE_ROWS` rows, word-major within a tile.

    `signatures` (uint64, shape (n_rows, n_words)). Returns uint64, shape (n_tiles, n_padded_words, TILE_ROWS): the last
    tile is filled up with zero rows, whose levels the kernels drop.
    """
    padded = padded_words(signatures)
    n_rows, n_words = padded.shape
    n_tiles = -(-n_rows // TILE_ROWS)
    tiles = np.zeros((n_tiles, n_words, TILE_ROWS), dtype=np.uint64)
    for tile in range(n_tiles):
        rows = padded[tile * TILE_ROWS : (tile + 1) * TILE_ROWS]
        tiles[tile, :, : len(rows)] = rows.T
    return tiles


@njit(nogil=True, cache=True)
def level_block(a: U64, tiles: U64, limits: NDArray[np.int16], out: I8) -> None:
    """Levels of all pairs of a block of A's signatures with B's.

    `a` (uint64, shape (n_a, n_padded_words)); `tiles` (uint64, shape (n_tiles, n_padded_words, TILE_ROWS)): B's
    signatures, from `word_major_tiles`; `limits` (int16, shape (n_levels - 1,)): from `disagreement_limits`; `out`
    (int8, shape (n_a, n_b)): receives the levels.
    """
    n_a, n_words = a.shape
    n_b = out.shape[1]
    disagreeing = np.empty(TILE_ROWS, np.uint64)
    narrow = np.empty(TILE_ROWS, np.int16)
    levels = np.empty(TILE_ROWS, np.int8)
    for t in range(tiles.shape[0]):
        tile = tiles[t]
        first = t * TILE_ROWS
        n_rows = min(TILE_ROWS, n_b - first)
        for i in range(n_a):
            for j in range(TILE_ROWS):
                disagreeing[j] = 0
            for w in range(0, n_words, UNROLLED_WORDS):
                a0, a1, a2, a3 = a[i, w], a[i, w + 1], a[i, w + 2], a[i, w + 3]
                a4, a5, a6, a7 = a[i, w + 4], a[i, w + 5], a[i, w + 6], a[i, w + 7]
                b0, b1, b2, b3 = tile[w], tile[w + 1], tile[w + 2], tile[w + 3]
                b4, b5, b6, b7 = tile[w + 4], tile[w + 5], tile[w + 6], tile[w + 7]
                for j in range(TILE_ROWS):
                    disagreeing[j] += (
                        popcount(a0 ^ b0[j]) + popcount(a1 ^ b1[j]) + popcount(a2 ^ b2[j]) + popcount(a3 ^ b3[j])
                        + popcount(a4 ^ b4[j]) + popcount(a5 ^ b5[j]) + popcount(a6 ^ b6[j]) + popcount(a7 ^ b7[j])
                    )  # fmt: skip
            # Narrow integers first: the comparisons with the limits then take a quarter of the vectors.
            for j in range(TILE_ROWS):
                narrow[j] = disagreeing[j]
                levels[j] = 0
            for k in range(limits.size):
                limit = limits[k]
                for j in range(TILE_ROWS):
                    levels[j] += narrow[j] <= limit
            for j in range(n_rows):
                out[i, first + j] = levels[j]


@njit(nogil=True, cache=True)
def weighted_level_counts(levels: I8, weight_a: I64, weight_b: I32, out: I64) -> None:
    """Add the weights of a block's pairs to `out` by level.

    `levels` (int8, shape (n_a, n_b)). `weight_a`, `weight_b` (int64, shape (n_a,); of int32, shape (n_b,)): a pair
    weighs the product of its rows' weights. The weights of B must sum to less than 2**31. `out` (int64, shape
    (n_levels,)).
    """
    n_a, n_b = levels.shape
    for i in range(n_a):
        above = np.int64(0)
        # From the highest level down: one vector pass per level beats a scattered increment per pair.
        for k in range(out.size - 1, 0, -1):
            total = np.int32(0)
            for j in range(n_b):
                total += weight_b[j] if levels[i, j] >= k else np.int32(0)
            out[k] += weight_a[i] * (total - above)
            above = np.int64(total)
        total = np.int32(0)
        for j in range(n_b):
            total += weight_b[j]
        out[0] += weight_a[i] * (total - above)


@njit(nogil=True, cache=True)
def add_table_levels(
    table: I8, codes_a: I32, codes_b: I32, row_a: I32, row_b: I32, n_pairs: int, stride: int, missing: int, out: I64
) -> None:
    """Add `stride` times the level, looked up in a table of distinct values, to the first `n_pairs` of `out`.

    A pair with a missing value on either side counts as level `missing`.
    """
    for i in range(n_pairs):
        a = codes_a[row_a[i]]
        b = codes_b[row_b[i]]
        if a < 0 or b < 0:
            out[i] += stride * missing
        else:
            out[i] += stride * table[a, b]


class FieldRows(NamedTuple):
    """A field of one file.

    `signatures` (uint64, shape (n_distinct, n_words)): of the distinct values, row-major; `codes` (int32, shape
    (n_rows,)): row of `signatures` of each record; -1 for missing.
    """

    signatures: U64
    codes: I32


@njit(nogil=True, cache=True)
def add_compared_levels(
    a: FieldRows, b: FieldRows, levels: I8, row_a: I32, row_b: I32, n_pairs: int, stride: int, missing: int, out: I64
) -> None:
    """As `add_table_levels`, comparing each pair's signatures.

    `levels` has shape (bits + 1,), from `levels_by_disagreement`.
    """
    for i in range(n_pairs):
        in_a = a.codes[row_a[i]]
        in_b = b.codes[row_b[i]]
        if in_a < 0 or in_b < 0:
            out[i] += stride * missing
        else:
            out[i] += stride * levels[disagreeing_bits(a.signatures[in_a], b.signatures[in_b])]


def disagreement_limits(bits: int, bounds: Sequence[float], randomised_response: float = 0.0) -> NDArray[np.int16]:
    """Largest number of disagreeing bits with which a pair still exceeds each bound but the last.

    For signatures of up to 8192 bits, each randomised with probability `randomised_response` on either side; `bounds`
    are the levels' inclusive upper bounds, ascending to 1. Returns int16, shape (len(bounds) - 1,): a pair with `d`
    disagreeing bits has level `sum(d <= limits)`; a bound that no pair can exceed has a limit of -1.

    `(2n/M - 1)/c > s`, where `c = (1 - 2r)**2`, is `n > M(1 + cs)/2`, decided in fractions.
    """
    contrast = (1 - 2 * Fraction(str(randomised_response))) ** 2
    exceeded = [math.floor(bits * (1 + contrast * Fraction(str(bound))) / 2) + 1 for bound in bounds[:-1]]
    return np.array([max(-1, bits - smallest) for smallest in exceeded], dtype=np.int16)


def levels_by_disagreement(bits: int, bounds: Sequence[float], randomised_response: float = 0.0) -> I8:
    """Level of each possible number of disagreeing bits; shape (bits + 1,)."""
    disagreeing = np.arange(bits + 1)
    limits = disagreement_limits(bits, bounds, randomised_response)
    levels: I8 = (disagreeing[:, None] <= limits).sum(axis=1).astype(np.int8)
    return levels
