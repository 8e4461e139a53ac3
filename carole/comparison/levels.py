"""Levels of whole fields: of all pairs of distinct values, of chosen pairs, and over all pairs of rows.

Equal values have equal signatures, so two files are compared by their distinct signatures, each pair of them
once, and pairs of rows look their level up. Where a field has nearly as many values as rows that would be
more work than comparing the candidate pairs themselves; `FieldComparison` then does the latter.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from carole.comparison.kernels import (
    add_compared_levels,
    add_table_levels,
    level_block,
    padded_words,
    weighted_level_counts,
    word_major_tiles,
)
from carole.comparison.thresholds import disagreement_limits, levels_by_disagreement
from common.encoding.contribution import FieldSignatures

Number = TypeVar("Number", bound=np.generic)

ROWS_PER_BLOCK = 64
"""Rows of A that one task compares with all of B."""

DRAWN_AT_ONCE = 1 << 18
"""Random pairs that one task draws."""


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """View that cannot be written to.

    Compiled kernels are specialised on whether an array is writeable; contributions read from a memory map are
    not. With views that never are, each kernel is compiled once.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def level_table(
    a: FieldSignatures, b: FieldSignatures, bounds: Sequence[float], pool: ThreadPoolExecutor
) -> NDArray[np.int8]:
    """Level of every pair of distinct signatures of a field.

    Parameters
    ----------
    a, b : FieldSignatures
        The field on both sides, with equal numbers of bits.
    bounds : sequence of float
        Inclusive upper bounds of the levels.
    pool : ThreadPoolExecutor
        Runs blocks of rows of `a`.

    Returns
    -------
    ndarray of int8, shape (a.n_distinct, b.n_distinct)

    Notes
    -----
    O(a.n_distinct * b.n_distinct * bits / 64) word operations; beside the table, a copy of `b`'s signatures.
    """
    table = np.empty((a.n_distinct, b.n_distinct), dtype=np.int8)
    if table.size == 0:
        return table
    limits = read_only(disagreement_limits(a.bits, bounds))
    tiles = read_only(word_major_tiles(b.signatures))

    def compare(first: int) -> None:
        rows = slice(first, first + ROWS_PER_BLOCK)
        level_block(read_only(padded_words(a.signatures[rows])), tiles, limits, table[rows])

    for _ in pool.map(compare, range(0, a.n_distinct, ROWS_PER_BLOCK)):
        pass
    return table


def level_counts(
    a: FieldSignatures,
    b: FieldSignatures,
    bounds: Sequence[float],
    pool: ThreadPoolExecutor,
    table: NDArray[np.int8] | None = None,
) -> NDArray[np.int64]:
    """Exact number of pairs of rows at each level, over all pairs of two files.

    Parameters
    ----------
    a, b, bounds, pool
        As for `level_table`.
    table : ndarray of int8, optional
        From `level_table`; without it the levels are computed in strips and forgotten.

    Returns
    -------
    ndarray of int64, shape (n_levels,)
        Pairs with the field missing on either side are not counted.
    """
    n_levels = len(bounds)
    weight_a = np.bincount(a.codes[a.codes >= 0], minlength=a.n_distinct).astype(np.int64)
    weight_b = np.bincount(b.codes[b.codes >= 0], minlength=b.n_distinct).astype(np.int32)
    total = np.zeros(n_levels, dtype=np.int64)
    if a.n_distinct == 0 or b.n_distinct == 0:
        return total
    limits = read_only(disagreement_limits(a.bits, bounds))
    tiles = read_only(word_major_tiles(b.signatures if table is None else b.signatures[:0]))

    def count(first: int) -> NDArray[np.int64]:
        rows = slice(first, first + ROWS_PER_BLOCK)
        if table is not None:
            levels = table[rows]
        else:
            signatures = read_only(padded_words(a.signatures[rows]))
            levels = np.empty((len(signatures), b.n_distinct), dtype=np.int8)
            level_block(signatures, tiles, limits, levels)
        counts = np.zeros(n_levels, dtype=np.int64)
        weighted_level_counts(levels, weight_a[rows], weight_b, counts)
        return counts

    for counts in pool.map(count, range(0, a.n_distinct, ROWS_PER_BLOCK)):
        total += counts
    return total


class FieldComparison:
    """One compared field of two files, ready to give the level of any pair of rows.

    Parameters
    ----------
    a, b : FieldSignatures
        The field on both sides.
    bounds : sequence of float
        Inclusive upper bounds of the levels.
    table : ndarray of int8, optional
        From `level_table`; without it, pairs are compared as they come.
    """

    def __init__(
        self,
        a: FieldSignatures,
        b: FieldSignatures,
        bounds: Sequence[float],
        table: NDArray[np.int8] | None = None,
    ) -> None:
        self.n_levels = len(bounds)
        self._table = None if table is None else read_only(table)
        self._signatures = read_only(a.signatures), read_only(b.signatures)
        self._codes = read_only(a.codes), read_only(b.codes)
        self._levels = read_only(levels_by_disagreement(a.bits, bounds))

    @property
    def missing(self) -> int:
        """The digit that stands for "missing on either side": one past the highest level."""
        return self.n_levels

    def add(
        self,
        row_a: NDArray[np.int32],
        row_b: NDArray[np.int32],
        n_pairs: int,
        stride: int,
        out: NDArray[np.int64],
    ) -> None:
        """Add `stride` times the level of each of the first `n_pairs` pairs to `out`."""
        if self._table is not None:
            add_table_levels(self._table, *self._codes, row_a, row_b, n_pairs, stride, self.missing, out)
        else:
            add_compared_levels(
                *self._signatures, self._levels, *self._codes, row_a, row_b, n_pairs, stride, self.missing, out
            )


def equal_pairs(a: FieldSignatures, b: FieldSignatures) -> int:
    """Exact number of pairs of rows whose values of a field are equal, by equality of signatures.

    Notes
    -----
    A linear hash of each signature finds the common ones, which are then compared in full. Two different
    signatures with one hash (chance below n**2/2**64) could hide an equal pair; they cannot invent one.
    """
    if a.n_distinct == 0 or b.n_distinct == 0:
        return 0
    multipliers = np.random.default_rng(64).integers(0, 2**63, a.bits // 64, dtype=np.uint64) * 2 + 1
    _, in_a, in_b = np.intersect1d(a.signatures @ multipliers, b.signatures @ multipliers, return_indices=True)
    same = (a.signatures[in_a] == b.signatures[in_b]).all(axis=1)
    frequency_a = np.bincount(a.codes[a.codes >= 0], minlength=a.n_distinct)[in_a[same]]
    frequency_b = np.bincount(b.codes[b.codes >= 0], minlength=b.n_distinct)[in_b[same]]
    return int(frequency_a @ frequency_b)


def level_distribution(
    a: FieldSignatures,
    b: FieldSignatures,
    bounds: Sequence[float],
    pool: ThreadPoolExecutor,
    rng: np.random.Generator,
    *,
    table: NDArray[np.int8] | None = None,
    exact_limit: int,
    sample: int,
) -> NDArray[np.float64]:
    """Numbers of pairs by level over all pairs of two files, or over a random sample of them.

    Parameters
    ----------
    a, b, bounds, pool, table
        As for `level_counts`.
    rng : numpy.random.Generator
        Draws the pairs where they are sampled.
    exact_limit : int
        Up to so many pairs of distinct values the numbers are those of all pairs.
    sample : int
        Beyond it, number of random pairs of rows, and the sum of what is returned.

    Returns
    -------
    ndarray of float64, shape (n_levels,)
        Pairs with a value on both sides; zeros when there are none.

    Notes
    -----
    A sample says next to nothing of equality in a field with many values, yet that is where u matters most. So
    the share of equal pairs is exact even then (see `equal_pairs`), and only unequal ones are sampled.
    """
    rows_a = np.flatnonzero(a.codes >= 0).astype(np.int32)
    rows_b = np.flatnonzero(b.codes >= 0).astype(np.int32)
    n_pairs = len(rows_a) * len(rows_b)
    if n_pairs == 0:
        return np.zeros(len(bounds))
    if a.n_distinct * b.n_distinct <= exact_limit:
        return level_counts(a, b, bounds, pool, table).astype(np.float64)
    # The level of a pair with no disagreeing bit is set apart, so that equal pairs can be left out.
    lookup = levels_by_disagreement(a.bits, bounds)
    lookup[0] = len(bounds)
    levels = read_only(lookup)
    signatures_a, signatures_b = read_only(a.signatures), read_only(b.signatures)
    codes_a, codes_b = read_only(a.codes), read_only(b.codes)
    sizes = [min(DRAWN_AT_ONCE, sample - first) for first in range(0, sample, DRAWN_AT_ONCE)]

    def draw(task: tuple[int, np.random.Generator]) -> NDArray[np.int64]:
        n, stream = task
        row_a = rows_a[stream.integers(0, len(rows_a), n)]
        row_b = rows_b[stream.integers(0, len(rows_b), n)]
        drawn = np.zeros(n, dtype=np.int64)
        add_compared_levels(
            signatures_a, signatures_b, levels, codes_a, codes_b, row_a, row_b, n, 1, len(bounds), drawn
        )
        return np.bincount(drawn, minlength=len(bounds) + 1)[: len(bounds)]

    # A stream of random numbers for each part of the sample: the draw does not depend on the threads.
    unequal = sum(pool.map(draw, zip(sizes, rng.spawn(len(sizes)), strict=True)), np.zeros(len(bounds)))
    equal_share = equal_pairs(a, b) / n_pairs
    shares = (1 - equal_share) * unequal / max(1.0, float(unequal.sum()))
    shares[-1] += equal_share
    return np.asarray(shares * sample, dtype=np.float64)
