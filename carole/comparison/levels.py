"""Levels of whole fields: of all pairs of distinct values, of chosen pairs, and over all pairs of rows.

Equal values have equal signatures, so two files are compared by their distinct signatures, each pair of them
once, and pairs of rows look their level up. Where a field has nearly as many values as rows that would be
more work than comparing the candidate pairs themselves; `FieldComparison` then does the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Jaro, JaroWinkler
from rapidfuzz.process import cdist, cpdist

from gemel.carole.arrays import F64, I8, I32, I64
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
from gemel.common.signatures.signature_sets import FieldSignatures, unpack_values

# Comparison of values themselves, where Carole is trusted with them: Jaro and Jaro-Winkler similarity.
#
# With c characters in common (equal, and no further apart than half the longer string less one) and t half the number
# of those that stand in another order, Jaro's similarity of strings of lengths x and y is :math:`(c/x + c/y + (c -
# t)/c)/3`. Winkler adds a tenth of what is missing to 1 for each of up to four characters in which the strings begin
# alike, where the similarity exceeds .7. Both are 1 for equal strings only.
#
# As with signatures, every pair of distinct values is compared once, and pairs of rows look their level up.


Comparator = Literal["jaro", "jaro_winkler"]

_SIMILARITY: dict[str, Any] = {"jaro": Jaro.similarity, "jaro_winkler": JaroWinkler.similarity}

_ROUNDING = 1e-9
"""A similarity above a bound by no more than this counts as the bound: .9 is computed as .9000000000000001."""


def similarity_table(a: Sequence[str], b: Sequence[str], comparator: Comparator, threads: int = 1) -> F64:
    """Similarity of every pair of values, from 0 to 1: float64, shape (len(a), len(b)).

    O(len(a) * len(b)) comparisons, about 5 million a second and core for names.

    References
    ----------
    .. [1] Jaro, JASA 84, 1989. doi:10.1080/01621459.1989.10478785
    .. [2] Winkler, String comparator metrics and enhanced decision rules, 1990.
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)))
    table: F64 = cdist(a, b, scorer=_SIMILARITY[comparator], dtype=np.float64, workers=threads)
    return table


def pair_similarities(a: Sequence[str], b: Sequence[str], comparator: Comparator) -> F64:
    """Similarity of each value of one list to the value at its place in the other, shape (len(a),)."""
    if not len(a):
        return np.zeros(0)
    found: F64 = cpdist(a, b, scorer=_SIMILARITY[comparator], dtype=np.float64, workers=1)
    return found


def levels_of(similarity: F64, bounds: Sequence[float]) -> I8:
    """Comparison level of each similarity: the first inclusive upper bound that it does not exceed."""
    upper = np.asarray(bounds, dtype=np.float64)[:-1] + _ROUNDING
    return np.searchsorted(upper, similarity, side="left").astype(np.int8)


AnyComparator = Literal["jaccard", "jaro", "jaro_winkler"]
"""How two values of a field are compared: by signatures, or by the values themselves."""

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
    """A field of one file as the kernels take it."""
    return FieldRows(read_only(field.signatures), read_only(field.codes))


def level_table(
    a: FieldSignatures,
    b: FieldSignatures,
    bounds: Sequence[float],
    pool: Executor,
    comparator: AnyComparator = "jaccard",
    randomised_response: float = 0.0,
) -> I8:
    """Level of every pair of distinct signatures, or values, of a field: int8, shape (a.n_distinct, b.n_distinct).

    `a`, `b`: the field on both sides, with equal numbers of bits; `comparator`: jaro and jaro_winkler for values, in
    trusted mode; `randomised_response`: probability with which each bit was randomised on either side.

    O(a.n_distinct * b.n_distinct * bits / 64) word operations; beside the table, a copy of `b`'s signatures.
    """
    table = np.empty((a.n_distinct, b.n_distinct), dtype=np.int8)
    if table.size == 0:
        return table
    compared = _blocks_of_levels(a, b, bounds, comparator, randomised_response)

    def compare(rows: slice) -> None:
        table[rows] = compared(rows)

    for _ in pool.map(compare, _row_blocks(a)):
        pass
    return table


def _row_blocks(a: FieldSignatures) -> list[slice]:
    return [slice(first, first + ROWS_PER_BLOCK) for first in range(0, a.n_distinct, ROWS_PER_BLOCK)]


def _blocks_of_levels(
    a: FieldSignatures, b: FieldSignatures, bounds: Sequence[float], comparator: AnyComparator,
    randomised_response: float,
) -> Callable[[slice], I8]:  # fmt: skip
    """Gives the levels of some of A's distinct values with all of B's."""
    if comparator != "jaccard":
        in_a, in_b = (unpack_values(side.signatures, "comparison") for side in (a, b))
        return lambda rows: levels_of(similarity_table(in_a[rows], in_b, comparator), bounds)
    limits = read_only(disagreement_limits(a.bits, bounds, randomised_response))
    tiles = read_only(word_major_tiles(b.signatures))

    def by_signatures(rows: slice) -> I8:
        signatures = read_only(padded_words(a.signatures[rows]))
        levels = np.empty((len(signatures), b.n_distinct), dtype=np.int8)
        level_block(signatures, tiles, limits, levels)
        return levels

    return by_signatures


def level_counts(
    a: FieldSignatures,
    b: FieldSignatures,
    bounds: Sequence[float],
    pool: Executor,
    table: I8 | None = None,
    comparator: AnyComparator = "jaccard",
    randomised_response: float = 0.0,
) -> I64:
    """Exact number of pairs of rows at each level, over all pairs of two files.

    `table`: from `level_table`; without it the levels are computed in strips and forgotten. Returns int64, shape
    (n_levels,): pairs with the field missing on either side are not counted.
    """
    n_levels = len(bounds)
    weight_a = np.bincount(a.codes[a.codes >= 0], minlength=a.n_distinct).astype(np.int64)
    weight_b = np.bincount(b.codes[b.codes >= 0], minlength=b.n_distinct).astype(np.int32)
    total = np.zeros(n_levels, dtype=np.int64)
    if a.n_distinct == 0 or b.n_distinct == 0:
        return total
    compared = _blocks_of_levels(a, b, bounds, comparator, randomised_response) if table is None else table.__getitem__

    def count(rows: slice) -> I64:
        counts = np.zeros(n_levels, dtype=np.int64)
        weighted_level_counts(compared(rows), weight_a[rows], weight_b, counts)
        return counts

    for counts in pool.map(count, _row_blocks(a)):
        total += counts
    return total


class FieldComparison:
    """One compared field of two files, ready to give the level of any pair of rows.

    `table`: from `level_table`; without it, pairs are compared as they come.
    """

    def __init__(
        self,
        a: FieldSignatures,
        b: FieldSignatures,
        bounds: Sequence[float],
        table: I8 | None = None,
        comparator: AnyComparator = "jaccard",
        randomised_response: float = 0.0,
    ) -> None:
        self.n_levels = len(bounds)
        self._values = ValuePairs(a, b, bounds, comparator) if comparator != "jaccard" and table is None else None
        self._table = None if table is None else read_only(table)
        self._sides = field_rows(a), field_rows(b)
        self._levels = read_only(levels_by_disagreement(a.bits, bounds, randomised_response))

    @property
    def missing(self) -> int:
        """The digit that stands for "missing on either side": one past the highest level."""
        return self.n_levels

    def add(self, row_a: I32, row_b: I32, n_pairs: int, stride: int, out: I64) -> None:
        """Add `stride` times the level of each of the first `n_pairs` pairs to `out`."""
        if self._table is not None:
            in_a, in_b = self._sides
            add_table_levels(self._table, in_a.codes, in_b.codes, row_a, row_b, n_pairs, stride, self.missing, out)
        elif self._values is not None:
            levels = self._values.levels(row_a[:n_pairs], row_b[:n_pairs])
            out[:n_pairs] += stride * np.where(levels < 0, self.missing, levels).astype(np.int64)
        else:
            add_compared_levels(*self._sides, self._levels, row_a, row_b, n_pairs, stride, self.missing, out)


class ValuePairs:
    """Values of one field of two files, compared pair by pair: where a table of all pairs would be too large."""

    def __init__(self, a: FieldSignatures, b: FieldSignatures, bounds: Sequence[float], comparator: Comparator) -> None:
        self._values = [unpack_values(side.signatures, "comparison") for side in (a, b)]
        self._codes = a.codes, b.codes
        self._bounds = bounds
        self._comparator = comparator

    def levels(self, row_a: I32, row_b: I32) -> I8:
        """Level of each pair of rows, -1 where a value is missing."""
        in_a, in_b = self._codes[0][row_a], self._codes[1][row_b]
        there = (in_a >= 0) & (in_b >= 0)
        found = np.full(len(in_a), -1, dtype=np.int8)
        first = [self._values[0][code] for code in in_a[there].tolist()]
        second = [self._values[1][code] for code in in_b[there].tolist()]
        found[there] = levels_of(pair_similarities(first, second, self._comparator), self._bounds)
        return found


def equal_pairs(a: FieldSignatures, b: FieldSignatures) -> int:
    """Exact number of pairs of rows with equal signatures of a field: equal values, unless bits are randomised.

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
    pool: Executor,
    rng: np.random.Generator,
    *,
    table: I8 | None = None,
    exact_limit: int,
    sample: int,
    comparator: AnyComparator = "jaccard",
    randomised_response: float = 0.0,
) -> F64:
    """Numbers of pairs by level over all pairs of two files, or over a random sample of them.

    `exact_limit`: up to so many pairs of distinct values the numbers are those of all pairs; `sample`: above that,
    number of random pairs of rows, and the sum of what is returned; values are compared a hundred times slower than
    signatures, so a sixteenth of both limits applies to them. Returns float64, shape (n_levels,): pairs with a value on
    both sides.

    A sample has next to no information on equality in a field with many values, yet u matters most there. So
    the share of equal pairs is exact even then (see `equal_pairs`), and only unequal ones are sampled. Where bits are
    randomised, equal values no longer have equal signatures, and u of the top level has the error of the sample.
    """
    rows_a = np.flatnonzero(a.codes >= 0).astype(np.int32)
    rows_b = np.flatnonzero(b.codes >= 0).astype(np.int32)
    n_pairs = len(rows_a) * len(rows_b)
    if n_pairs == 0:
        return np.zeros(len(bounds))
    if comparator != "jaccard":
        exact_limit, sample = exact_limit // 16, sample // 16
    if table is not None or a.n_distinct * b.n_distinct <= exact_limit:
        return level_counts(a, b, bounds, pool, table, comparator, randomised_response).astype(np.float64)
    compared = None if comparator == "jaccard" else ValuePairs(a, b, bounds, comparator)
    # A pair with no disagreeing bit gets a separate level, so that equal pairs can be left out.
    lookup = levels_by_disagreement(a.bits, bounds, randomised_response)
    lookup[0] = len(bounds)
    levels = read_only(lookup)
    sides = field_rows(a), field_rows(b)
    sizes = [min(DRAWN_AT_ONCE, sample - first) for first in range(0, sample, DRAWN_AT_ONCE)]

    def draw(task: tuple[int, np.random.Generator]) -> I64:
        n, stream = task
        row_a = rows_a[stream.integers(0, len(rows_a), n)]
        row_b = rows_b[stream.integers(0, len(rows_b), n)]
        if compared is not None:
            unlike = a.codes[row_a].astype(np.int64), b.codes[row_b].astype(np.int64)
            different = (a.signatures[unlike[0]] != b.signatures[unlike[1]]).any(axis=1)
            return np.bincount(compared.levels(row_a[different], row_b[different]), minlength=len(bounds))
        drawn = np.zeros(n, dtype=np.int64)
        add_compared_levels(*sides, levels, row_a, row_b, n, 1, len(bounds), drawn)
        return np.bincount(drawn, minlength=len(bounds) + 1)[: len(bounds)]

    # A stream of random numbers for each part of the sample: the draw does not depend on the threads.
    unequal = sum(pool.map(draw, zip(sizes, rng.spawn(len(sizes)), strict=True)), np.zeros(len(bounds)))
    equal_share = equal_pairs(a, b) / n_pairs
    shares = (1 - equal_share) * unequal / max(1.0, float(unequal.sum()))
    shares[-1] += equal_share
    return np.asarray(shares * sample, dtype=np.float64)
