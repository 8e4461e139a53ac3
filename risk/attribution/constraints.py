"""A release as a system of inequalities: lower <= A x <= upper over the base table's cells x >= 0, whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.release import Release


@dataclass(frozen=True, eq=False)
class System:
    """Constraints on the base table.

    Parameters
    ----------
    matrix : sparse, shape (n_constraints, n_cells)
        Ones where a published cell covers a base cell.
    lower, upper : ndarray of int64, shape (n_constraints,)
        Bounds of the sums; `INFINITE` is no bound.
    tables : ndarray of int64, shape (n_constraints,)
        Which published table a constraint comes from.
    floor, ceiling : ndarray of int64, shape (n_cells,)
        Bounds of the single cells.
    """

    matrix: csr_array
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    tables: NDArray[np.int64]
    floor: NDArray[np.int64]
    ceiling: NDArray[np.int64]

    @property
    def cells(self) -> int:
        """Number of base cells."""
        return int(self.matrix.shape[1])

    def satisfied(self, tables: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the tables (n, n_cells) satisfy every constraint."""
        sums = (self.matrix @ tables.T).T
        inside = ((sums >= self.lower) & (sums <= self.upper)).all(axis=1)
        return np.asarray(inside & ((tables >= self.floor) & (tables <= self.ceiling)).all(axis=1))

    def at_least(self, floor: NDArray[np.int64]) -> System:
        """The same system for an intruder who knows of so many units in each cell."""
        return System(self.matrix, self.lower, self.upper, self.tables, np.maximum(self.floor, floor), self.ceiling)


def system(release: Release, tables: list[int] | None = None) -> System:
    """Build the system of a release, or of some of its tables (by number).

    A published cell that is a single base cell becomes a bound of that cell, not a row. O(published cells x block).
    """
    floor, ceiling = np.zeros(release.cells, dtype=np.int64), np.full(release.cells, INFINITE, dtype=np.int64)
    rows: dict[bytes, int] = {}
    blocks: list[NDArray[np.int64]] = []
    lower: list[int] = []
    upper: list[int] = []
    origin: list[int] = []
    for number in range(len(release.tables)) if tables is None else tables:
        table = release.tables[number]
        low, high = table.box
        for index in np.ndindex(table.counts.shape):
            if low[index] <= 0 and high[index] >= INFINITE:
                continue
            block = release.block(table, index)
            if len(block) == 1:
                floor[block[0]] = max(floor[block[0]], low[index])
                ceiling[block[0]] = min(ceiling[block[0]], high[index])
                continue
            key = block.tobytes()
            if key in rows:  # two tables speak of the same sum: intersect
                row = rows[key]
                lower[row], upper[row] = max(lower[row], int(low[index])), min(upper[row], int(high[index]))
                continue
            rows[key] = len(blocks)
            blocks.append(block)
            lower.append(int(low[index]))
            upper.append(int(high[index]))
            origin.append(number)
    starts = np.concatenate([[0], np.cumsum([len(b) for b in blocks])]).astype(np.int64)
    columns = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(blocks), release.cells))
    return System(
        matrix,
        np.asarray(lower, dtype=np.int64),
        np.asarray(upper, dtype=np.int64),
        np.asarray(origin, dtype=np.int64),
        floor,
        ceiling,
    )
