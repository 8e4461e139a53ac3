"""Levels of whole fields: of all pairs of distinct values, of chosen pairs, and over all pairs of rows.

Equal values have equal signatures, so two files are compared by their distinct signatures, each pair of them
once, and pairs of rows look their level up. Where a field has nearly as many values as rows that would be
more work than comparing the candidate pairs themselves; `FieldComparison` then does the latter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Jaro, JaroWinkler
from rapidfuzz.process import cdist, cpdist

from gemel.carole.comparison.kernels import (
    FieldRows,
    add_compared_levels,
    add_table_levels,
    disagreement_limits,
    level_block,
    levels_by_disagreement,
    padded_words,
    weighted_level_counts,
    word_major_tiles,
)
from gemel.common.arrays import F64, I8, I32, I64
from gemel.common.signatures.signature_sets import FieldSignatures, unpack_values

# Comparison of values themselves, where Carole is trusted with them: Jaro and Jaro-Winkler similarity.
#
# With c characters in common (equal, and no further apart than half the longer string less one) and t half the number
# of those that stand in another order, Jaro's similarity of strings of lengths x and y is :math:`(c/x + c/y + (c -
# t)/c)/3`. Winkler adds a tenth of what is missing to 1 for each of up to four characters in which the strings begin
# alike, where the similarity exceeds .7. Both are 1 for equal strings only.
#
# As with signatures, every pair of distinct values is compared once, and pairs of rows look their level up.


AnyComparator = Literal["jaccard", "jaro", "jaro_winkler"]
"""How two values of a field are compared: by signatures, or by the values themselves."""

_SIMILARITY: dict[str, Any] = {"jaro": Jaro.similarity, "jaro_winkler": JaroWinkler.similarity}

_ROUNDING = 1e-9
"""A similarity above a bound by no more than this counts as the bound: .9 is computed as .9000000000000001."""


def similarity_table(a: Sequence[str], b: Sequence[str], comparator: AnyComparator, threads: int = 1) -> F64:
    """Similarity of every pair of values, from 0 to 1: float64, shape (len(a), len(b)).

    O(len(a) * len(b)) comparisons, about 5 million a second and core for names.

    References
    ----------
    .. [1] Jaro, JASA 84, 1989. doi:10.1080/01621459.1989.10478785
    .. [2] Winkler, String comparator metrics and enhanced decision rules, 1990.
    """
    table: F64 = cdist(a, b, scorer=_SIMILARITY[comparator], dtype=np.float64, workers=threads)
    return table


def levels_of(similarity: F64, bounds: Sequence[float]) -> I8:
    """Comparison level of each similarity: the first inclusive upper bound that it does not exceed."""
    upper = np.asarray(bounds, dtype=np.float64)[:-1] + _ROUNDING
    return np.searchsorted(upper, similarity, side="left").astype(np.int8)


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


def field_rows(field: FieldSignatures) -> FieldRows:
    return FieldRows(read_only(field.signatures), read_only(field.codes))


class FieldComparison:
    """One field of two files: the levels of chosen pairs of rows, and how many pairs of all have each.

    Both sides have equal numbers of bits, each randomised with probability `randomised_response` on either side.
    `bounds`: inclusive upper bounds of the levels, ascending to 1; `table`: from `level_table`; without it, pairs are
    compared as they come. "Missing on either side" is the digit after the highest level's, `n_levels`.
    """

    def __init__(
        self,
        a: FieldSignatures,
        b: FieldSignatures,
        bounds: Sequence[float],
        comparator: AnyComparator = "jaccard",
        randomised_response: float = 0.0,
        table: I8 | None = None,
    ) -> None:
        self.n_levels = len(bounds)
        self._a, self._b, self._bounds = a, b, bounds
        self._comparator, self._randomised_response = comparator, randomised_response
        self._table = None if table is None else read_only(table)
        self._sides = field_rows(a), field_rows(b)

    @cached_property
    def _levels(self) -> I8:
        return read_only(levels_by_disagreement(self._a.bits, self._bounds, self._randomised_response))

    @cached_property
    def _values(self) -> list[list[str]]:
        return [unpack_values(side.signatures, "comparison") for side in (self._a, self._b)]

    def levels(self, row_a: I32, row_b: I32) -> I64:
        """The level of each pair of rows, or `n_levels`."""
        level = np.zeros(len(row_a), dtype=np.int64)
        self.add(row_a, row_b, len(level), 1, level)
        return level

    def add(self, row_a: I32, row_b: I32, n_pairs: int, stride: int, out: I64) -> None:
        """Add `stride` times the level of each of the first `n_pairs` pairs to `out`."""
        in_a, in_b = self._sides
        if self._table is not None:
            add_table_levels(self._table, in_a.codes, in_b.codes, row_a, row_b, n_pairs, stride, self.n_levels, out)
        elif self._comparator != "jaccard":
            out[:n_pairs] += stride * self._levels_of_values(row_a[:n_pairs], row_b[:n_pairs])
        else:
            add_compared_levels(in_a, in_b, self._levels, row_a, row_b, n_pairs, stride, self.n_levels, out)

    def _levels_of_values(self, row_a: I32, row_b: I32) -> I64:
        codes = self._a.codes[row_a], self._b.codes[row_b]
        there = (codes[0] >= 0) & (codes[1] >= 0)
        levels = np.full(len(there), self.n_levels, dtype=np.int64)
        if not there.any():
            return levels
        first, second = (
            [values[code] for code in of_side[there].tolist()]
            for values, of_side in zip(self._values, codes, strict=True)
        )
        similarity = cpdist(first, second, scorer=_SIMILARITY[self._comparator], dtype=np.float64, workers=1)
        levels[there] = levels_of(similarity, self._bounds)
        return levels

    def level_table(self, pool: Executor) -> I8:
        """Level of every pair of distinct signatures, or in trusted mode values, shape (a.n_distinct, b.n_distinct).

        O(a.n_distinct * b.n_distinct * bits / 64) word operations; beside the table, a copy of B's signatures.
        """
        table = np.empty((self._a.n_distinct, self._b.n_distinct), dtype=np.int8)
        if table.size:
            strip = self._strips()

            def compare(rows: slice) -> None:
                table[rows] = strip(rows)

            deque(pool.map(compare, self._blocks()), maxlen=0)
        return table

    def counts(self, pool: Executor) -> I64:
        """Exact number of pairs of rows at each level, over all pairs of two files that have the field: (n_levels,).

        Without a table the levels are computed in strips and forgotten.
        """
        a, b = self._a, self._b
        weight_a = np.bincount(a.codes[a.codes >= 0], minlength=a.n_distinct).astype(np.int64)
        weight_b = np.bincount(b.codes[b.codes >= 0], minlength=b.n_distinct).astype(np.int32)
        total = np.zeros(self.n_levels, dtype=np.int64)
        if a.n_distinct == 0 or b.n_distinct == 0:
            return total
        strip = self._strips()

        def count(rows: slice) -> I64:
            counts = np.zeros(self.n_levels, dtype=np.int64)
            weighted_level_counts(read_only(strip(rows)), weight_a[rows], weight_b, counts)
            return counts

        return sum(pool.map(count, self._blocks()), total)

    def _blocks(self) -> Iterator[slice]:
        for first in range(0, self._a.n_distinct, ROWS_PER_BLOCK):
            yield slice(first, first + ROWS_PER_BLOCK)

    def _strips(self) -> Callable[[slice], I8]:
        """A function that gives the levels of some of A's distinct values with all of B's."""
        if self._table is not None:
            return self._table.__getitem__
        a, b, bounds, comparator = self._a, self._b, self._bounds, self._comparator
        if comparator != "jaccard":
            first, second = self._values
            return lambda rows: levels_of(similarity_table(first[rows], second, comparator), bounds)
        limits = read_only(disagreement_limits(a.bits, bounds, self._randomised_response))
        tiles = read_only(word_major_tiles(b.signatures))

        def compared(rows: slice) -> I8:
            signatures = read_only(padded_words(a.signatures[rows]))
            levels = np.empty((len(signatures), b.n_distinct), dtype=np.int8)
            level_block(signatures, tiles, limits, levels)
            return levels

        return compared

    def distribution(self, pool: Executor, rng: np.random.Generator, exact_limit: int, sample: int) -> F64:
        """Numbers of pairs by level over all pairs of two files, or over a random sample: float64, shape (n_levels,).

        Up to `exact_limit` pairs of distinct values they are those of all pairs with a value on both sides; above that,
        of `sample` random ones, which they sum to. Values are compared a hundred times slower than signatures, so a
        sixteenth of both limits applies to them. A sample has next to no information on equality in a field with many
        values, yet u matters most there. So the share of equal pairs is exact even then (see `equal_pairs`), and only
        unequal ones are sampled. Where bits are randomised, equal values no longer have equal signatures, and u of the
        top level has the error of the sample.
        """
        a, b, n_levels = self._a, self._b, self.n_levels
        rows_a, rows_b = (np.flatnonzero(side.codes >= 0).astype(np.int32) for side in (a, b))
        n_pairs = len(rows_a) * len(rows_b)
        if n_pairs == 0:
            return np.zeros(n_levels)
        by_values = self._comparator != "jaccard"
        if by_values:
            exact_limit, sample = exact_limit // 16, sample // 16
        if self._table is not None or a.n_distinct * b.n_distinct <= exact_limit:
            return self.counts(pool).astype(np.float64)
        # A pair with no disagreeing bit gets a separate level, so that equal pairs can be left out.
        lookup = self._levels.copy()
        lookup[0] = n_levels
        levels = read_only(lookup)
        sizes = [min(DRAWN_AT_ONCE, sample - first) for first in range(0, sample, DRAWN_AT_ONCE)]

        def draw(task: tuple[int, np.random.Generator]) -> I64:
            n, stream = task
            row_a = rows_a[stream.integers(0, len(rows_a), n)]
            row_b = rows_b[stream.integers(0, len(rows_b), n)]
            if by_values:
                different = (a.signatures[a.codes[row_a]] != b.signatures[b.codes[row_b]]).any(axis=1)
                drawn = self._levels_of_values(row_a[different], row_b[different])
            else:
                drawn = np.zeros(n, dtype=np.int64)
                add_compared_levels(*self._sides, levels, row_a, row_b, n, 1, n_levels, drawn)
            return np.bincount(drawn, minlength=n_levels + 1)[:n_levels]

        # A stream of random numbers for each part of the sample: the draw does not depend on the threads.
        unequal = sum(pool.map(draw, zip(sizes, rng.spawn(len(sizes)), strict=True)), np.zeros(n_levels))
        equal_share = equal_pairs(a, b) / n_pairs
        shares = (1 - equal_share) * unequal / max(1.0, float(unequal.sum()))
        shares[-1] += equal_share
        return np.asarray(shares * sample, dtype=np.float64)


def equal_pairs(a: FieldSignatures, b: FieldSignatures) -> int:
    """Exact number of pairs of rows with equal signatures of a field: equal values, unless bits are randomised.

    A linear hash of each signature finds the common ones, which are then compared in full. Two different signatures
    with one hash (chance below n**2/2**64) could hide an equal pair; they cannot invent one.
    """
    if a.n_distinct == 0 or b.n_distinct == 0:
        return 0
    multipliers = np.random.default_rng(64).integers(0, 2**63, a.bits // 64, dtype=np.uint64) * 2 + 1
    _, in_a, in_b = np.intersect1d(a.signatures @ multipliers, b.signatures @ multipliers, return_indices=True)
    same = (a.signatures[in_a] == b.signatures[in_b]).all(axis=1)
    frequency_a = np.bincount(a.codes[a.codes >= 0], minlength=a.n_distinct)[in_a[same]]
    frequency_b = np.bincount(b.codes[b.codes >= 0], minlength=b.n_distinct)[in_b[same]]
    return int(frequency_a @ frequency_b)
