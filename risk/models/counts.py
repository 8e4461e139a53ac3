"""Sparse contingency tables: the occupied cells of a table over categorical variables, and nothing else.

A table over 16 variables may have 3.6e9 cells; a file of 6,000 records occupies at most 6,000 of them. Every cost here
grows with the occupied cells. Levels are declared, not observed: they enter the prior and the number of parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers

_KEY_LIMIT = 2**62


@dataclass(frozen=True)
class SparseCounts:
    """How often each occupied cell occurs.

    `levels`: how many levels each variable is declared to have, at least 2; `cells` (int32, shape (n_cells,
    n_variables)): the occupied cells, all different, in lexicographic order; `counts` (float64, shape (n_cells,)): how
    often each occurs; positive, not necessarily whole numbers.
    """

    names: tuple[Hashable, ...]
    levels: tuple[int, ...]
    cells: Codes = field(repr=False)
    counts: Floats = field(repr=False)

    @classmethod
    def from_records(
        cls,
        records: ArrayLike,
        levels: Sequence[int],
        names: Sequence[Hashable] | None = None,
        weights: ArrayLike | None = None,
    ) -> SparseCounts:
        """Count records.

        `records` (array of int, shape (n_records, n_variables)): codes 0 to `levels - 1`; `weights` (array of float,
        shape (n_records,), optional): what each record counts for; not negative, with a positive sum.

        Refused: no records, a variable with one level, a code out of range, a negative weight, names that do not fit.
        """
        codes = np.asarray(records)
        names = tuple(range(len(levels))) if names is None else tuple(names)
        declared = _check_variables(names, levels)
        if codes.ndim != 2 or codes.shape[1] != len(names):
            raise parameter(
                "records",
                "records must be a table with one column for each variable",
                f"shape {codes.shape} for {len(names)} variables",
            )
        if not np.issubdtype(codes.dtype, np.integer):
            raise parameter(
                "records",
                "records must hold integer codes",
                str(codes.dtype),
                "number the categories of each variable from 0",
            )
        if not len(codes):
            raise _empty("records")
        for q, name in enumerate(names):
            low, high = int(codes[:, q].min()), int(codes[:, q].max())
            if low < 0 or high >= declared[q]:
                raise parameter(
                    f"variable {name}",
                    f"codes must be 0 to {declared[q] - 1}",
                    f"{low} to {high}",
                    "declare all levels; deal with missing values first (risk.models.incomplete)",
                )
        if weights is None:
            given = np.ones(len(codes))
        else:
            given = np.asarray(weights, dtype=np.float64)
            if given.shape != (len(codes),):
                raise parameter(
                    "weights", "there must be one weight for each record", f"{given.shape} for {len(codes)} records"
                )
            _check_counts(given, "weights")
        cells, sums = total_by_row(codes.astype(np.int32), given, declared)
        return cls(names, declared, cells[sums > 0], sums[sums > 0])

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    def positions(self, variables: Iterable[Hashable]) -> tuple[int, ...]:
        return positions(self.names, variables)

    def marginal(self, variables: Iterable[Hashable]) -> SparseCounts:
        """The table over some of the variables, in the order given."""
        kept = self.positions(variables)
        levels = tuple(self.levels[q] for q in kept)
        cells, sums = total_by_row(self.cells[:, kept], self.counts, levels)
        return SparseCounts(tuple(self.names[q] for q in kept), levels, cells, sums)


def positions(names: Sequence[Hashable], variables: Iterable[Hashable]) -> tuple[int, ...]:
    """Where variables are among some names; an error for one that is unknown, or given twice."""
    place = {name: q for q, name in enumerate(names)}
    requested = tuple(variables)
    for name in requested:
        if name not in place:
            raise parameter("variables", "unknown variable", repr(name))
    if len(set(requested)) != len(requested):
        raise parameter("variables", "a variable is given twice")
    return tuple(place[name] for name in requested)


def total_by_row(cells: Codes, values: Floats, levels: Sequence[int]) -> tuple[Codes, Floats]:
    """The distinct rows in lexicographic order and the sum of the values of each. O(n log n) for n rows."""
    first, inverse = distinct_rows(cells, levels)
    sums = np.bincount(inverse, weights=values, minlength=len(first)).astype(np.float64)
    return np.ascontiguousarray(cells[first]), sums


def row_keys(cells: NDArray[Any], levels: Sequence[int]) -> tuple[Integers, int]:
    """A number of each row, in lexicographic order and equal for equal rows only, and a bound above all of them."""
    keys = np.zeros(len(cells), dtype=np.int64)
    span = 1
    for q, n in enumerate(levels):
        if span > _KEY_LIMIT // n:  # the keys would not fit in 64 bits: number those that occur
            _, keys = np.unique(keys, return_inverse=True)
            span = len(cells)
        if q:
            keys *= n
        keys += cells[:, q]
        span *= n
    return keys, span


def is_dense(span: int, rows: int) -> bool:
    """Whether a table of all keys is cheaper than to sort those of so many rows."""
    return span <= 4 * rows + 1024


def distinct_rows(cells: NDArray[Any], levels: Sequence[int]) -> tuple[Integers, Integers]:
    """Where each distinct row first occurs (in lexicographic order), and for each row the number of its
    distinct row."""
    keys, span = row_keys(cells, levels)
    if not is_dense(span, len(keys)):
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return first.astype(np.int64), inverse.astype(np.int64)
    place = np.full(span, -1, dtype=np.int64)
    place[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # of equal keys the last one written stays: the first row
    occupied = np.flatnonzero(place >= 0)
    first = place[occupied]
    place[occupied] = np.arange(len(occupied))
    return first, place[keys]


def _check_variables(names: Sequence[Hashable], levels: Sequence[int]) -> tuple[int, ...]:
    if len(names) != len(levels) or len(set(names)) != len(names) or not names:
        raise parameter(
            "names",
            "there must be at least one variable, with different names and as many numbers of levels",
            f"{len(names)} names and {len(levels)} numbers of levels",
        )
    for name, n in zip(names, levels, strict=True):
        if n < 2:
            raise parameter(
                f"variable {name}",
                "a variable must have at least two levels",
                str(n),
                "leave out a variable that cannot vary",
            )
    return tuple(int(n) for n in levels)


def _check_counts(values: Floats, where: str) -> None:
    if not np.isfinite(values).all() or (values < 0).any():
        raise parameter(
            where,
            "counts must be finite and not negative",
            f"{int((~np.isfinite(values) | (values < 0)).sum())} that are not",
        )
    if not values.sum() > 0:
        raise _empty(where)


def _empty(where: str) -> GemelError:
    return parameter(where, "there must be at least one record with a positive count")
