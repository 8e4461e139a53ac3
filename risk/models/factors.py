"""Sparse functions of a few variables: the rows where they are not zero, with products, sums and look-ups.

Junction trees pass these as messages. A product is a join on the shared variables, so it costs what it yields and never
the number of possible cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.models.counts import is_dense, row_keys, total_by_row

ROW_LIMIT = 2**25


@dataclass(frozen=True)
class Factor:
    """A function that is zero outside its rows.

    `cells` (int32, shape (n_rows, n_variables)): different rows; `values` (float64, shape (n_rows,)).
    """

    variables: tuple[int, ...]
    levels: tuple[int, ...]
    cells: Codes = field(repr=False)
    values: Floats = field(repr=False)

    @classmethod
    def constant(cls, value: float = 1.0) -> Factor:
        """A function of no variable."""
        return cls((), (), np.zeros((1, 0), dtype=np.int32), np.array([value]))

    @classmethod
    def from_table(cls, variables: Sequence[int], table: Floats) -> Factor:
        """The cells of a table that are not zero, one axis for each variable, whatever their order."""
        order = np.argsort(variables)
        table = np.transpose(table, order)
        cells = np.argwhere(table != 0).astype(np.int32)
        return cls(tuple(int(variables[i]) for i in order), table.shape, cells, table[tuple(cells.T)])

    @property
    def total(self) -> float:
        return float(self.values.sum())

    def table(self, limit: int = 2**24) -> Floats:
        """The full table, axes in the order of `variables`; refused above `limit` cells."""
        size = math.prod(int(n) for n in self.levels)
        if size > limit:
            raise GemelError(
                ErrorCode.MEMORY,
                "the full table is too large to be made",
                got=f"{size} cells",
                remedy="request fewer variables, or use the rows",
            )
        table = np.zeros(self.levels)
        if self.variables:
            table[tuple(self.cells.T)] = self.values
        else:
            table[()] = self.total
        return table

    def normalised(self) -> Factor:
        total = self.total
        if not total > 0:
            raise parameter(
                "",
                "the evidence is impossible under the model",
                "probability 0",
                "use posterior means, which give every cell a probability",
            )
        return Factor(self.variables, self.levels, self.cells, self.values / total)

    def marginal(self, variables: Sequence[int]) -> Factor:
        """Sum out all variables that are not listed (those it does not have are ignored)."""
        kept = [i for i, v in enumerate(self.variables) if v in set(variables)]
        if len(kept) == len(self.variables):
            return self
        levels = tuple(self.levels[i] for i in kept)
        cells, values = total_by_row(self.cells[:, kept], self.values, levels)
        if not kept:
            cells, values = np.zeros((1, 0), dtype=np.int32), np.array([self.values.sum()])
        return Factor(tuple(self.variables[i] for i in kept), levels, cells, values)

    def given(self, evidence: Mapping[int, int]) -> Factor:
        """The rows that agree with the evidence; the variables stay."""
        agree = np.ones(len(self.values), dtype=bool)
        for i, v in enumerate(self.variables):
            if v in evidence:
                agree &= self.cells[:, i] == evidence[v]
        return self if agree.all() else Factor(self.variables, self.levels, self.cells[agree], self.values[agree])

    def look_up(self, cells: NDArray[Any]) -> Floats:
        """Values at the given rows (columns in the order of `variables`); 0 where there is no row."""
        if not self.variables:
            return np.full(len(cells), self.total)
        if not len(self.values):
            return np.zeros(len(cells))
        place = match_rows(cells, self.cells, self.levels)
        return np.where(place >= 0, self.values[place], 0.0)

    def columns(self, variables: Sequence[int]) -> list[int]:
        return [self.variables.index(v) for v in variables]

    def __mul__(self, other: Factor) -> Factor:
        shared = [v for v in self.variables if v in set(other.variables)]
        if len(shared) == len(other.variables):
            return self._times(other.look_up(self.cells[:, self.columns(other.variables)]))
        if len(shared) == len(self.variables):
            return other * self
        return self._join(other, shared)

    def divided(self, other: Factor) -> Factor:
        """This function over one of some of its variables, 0/0 being 0."""
        below = other.look_up(self.cells[:, self.columns(other.variables)])
        return self._times(np.divide(1.0, below, out=np.zeros_like(below), where=below != 0))

    def _times(self, values: Floats) -> Factor:
        product = self.values * values
        kept = product != 0
        if kept.all():
            return Factor(self.variables, self.levels, self.cells, product)
        return Factor(self.variables, self.levels, self.cells[kept], product[kept])

    def _join(self, other: Factor, shared: list[int]) -> Factor:
        here, there = self.columns(shared), other.columns(shared)
        left, right = matching_rows(self.cells[:, here], other.cells[:, there], [self.levels[i] for i in here])
        added = [i for i, v in enumerate(other.variables) if v not in set(shared)]
        variables = self.variables + tuple(other.variables[i] for i in added)
        cells = np.concatenate([self.cells[left], other.cells[right][:, added]], axis=1)
        arranged = np.argsort(variables)
        every = self.levels + tuple(other.levels[i] for i in added)
        return Factor(
            tuple(variables[i] for i in arranged),
            tuple(every[i] for i in arranged),
            np.ascontiguousarray(cells[:, arranged]),
            self.values[left] * other.values[right],
        )


def match_rows(rows: NDArray[Any], among: NDArray[Any], levels: Sequence[int]) -> Integers:
    """For each row its place among other, different rows, or -1. O((n + m) log n), n being those among which."""
    n = len(among)
    keys, span = row_keys(np.concatenate([among, rows]), levels)
    if is_dense(span, len(keys)):
        place = np.full(span, -1, dtype=np.int64)
        place[keys[:n]] = np.arange(n)
        return place[keys[n:]]
    order = np.argsort(keys[:n], kind="stable")
    ordered = keys[:n][order]
    at = np.minimum(np.searchsorted(ordered, keys[n:]), n - 1)
    return np.where(ordered[at] == keys[n:], order[at], -1) if n else np.full(len(rows), -1, dtype=np.int64)


def matching_rows(rows: NDArray[Any], others: NDArray[Any], levels: Sequence[int]) -> tuple[Integers, Integers]:
    """All pairs of equal rows, as numbers of both: row by row. O((n + m) log m), and the number of pairs."""
    n = len(rows)
    keys, span = row_keys(np.concatenate([rows, others]), levels)
    order = np.argsort(keys[n:], kind="stable")
    if is_dense(span, len(keys)):
        below = np.zeros(span + 1, dtype=np.int64)
        np.cumsum(np.bincount(keys[n:], minlength=span), out=below[1:])
        low, high = below[keys[:n]], below[keys[:n] + 1]
    else:
        ordered = keys[n:][order]
        low, high = (np.searchsorted(ordered, keys[:n], side=side) for side in ("left", "right"))
    number = high - low
    size = int(number.sum())
    if size > ROW_LIMIT:
        raise GemelError(
            ErrorCode.MEMORY,
            "an intermediate table is too large",
            got=f"{size} rows",
            remedy="request fewer variables at once",
        )
    left = np.repeat(np.arange(n), number)
    return left, order[np.arange(size) - np.repeat(np.cumsum(number) - number, number) + low[left]]
