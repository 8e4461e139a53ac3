"""The published cells of a table with its margins, and the programmes that protections solve over them (HiGHS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array, sparray, vstack

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.attribution.release import Axis, Published


@dataclass(frozen=True, eq=False)
class Layout:
    """A table's cells followed by those of some of its margins, as sums of the table's cells.

    Parameters
    ----------
    table
        The true table.
    margins
        Sets of its variables.
    matrix : sparse, shape (n_published, n_cells)
        Which cells each published cell sums; the identity for the table's own.
    """

    table: Published
    margins: tuple[tuple[str, ...], ...]
    matrix: csr_array

    @property
    def counts(self) -> NDArray[np.int64]:
        """True counts of all published cells."""
        return np.asarray(self.matrix @ self.table.counts.ravel()).astype(np.int64)

    @property
    def cells(self) -> int:
        """Number of the table's own cells."""
        return int(self.table.counts.size)

    def margin_tables(self, values: NDArray[np.int64]) -> list[tuple[tuple[Axis, ...], NDArray[np.int64]]]:
        """Cut values of all published cells into the margins, each shaped."""
        found, start = [], self.cells
        for names in self.margins:
            axes = tuple(a for a in self.table.axes if a.variable in names)
            shape = tuple(len(a.labels) for a in axes)
            size = int(np.prod(shape, dtype=np.int64))
            found.append((axes, values[start : start + size].reshape(shape)))
            start += size
        return found


def layout(table: Published, margins: Sequence[Sequence[str]]) -> Layout:
    """Lay a table and its margins out."""
    shape = table.counts.shape
    numbers = np.arange(table.counts.size).reshape(shape)
    rows: list[NDArray[np.int64]] = [np.asarray([c]) for c in range(table.counts.size)]
    for names in margins:
        unknown = set(names) - set(table.names)
        if unknown:
            raise parameter(table.name, f"a margin over unknown variables: {', '.join(sorted(unknown))}")
        kept = [i for i, n in enumerate(table.names) if n in names]
        moved = np.moveaxis(numbers, kept, range(len(kept)))
        size = int(np.prod([shape[i] for i in kept], dtype=np.int64))
        rows.extend(moved.reshape(size, -1))
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    columns = np.concatenate(rows)
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(rows), table.counts.size))
    return Layout(table, tuple(tuple(m) for m in margins), matrix)


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution and its relative gap to the optimum."""

    values: NDArray[np.float64]
    gap: float


def solve(
    objective: NDArray[np.float64],
    rows: Sequence[sparray],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    floor: NDArray[np.float64],
    ceiling: NDArray[np.float64],
    whole: NDArray[np.float64],
    what: str,
    seconds: float | None,
) -> Solved:
    """Solve one programme, or raise with the reason."""
    options = {"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": seconds})
    matrix = vstack(list(rows), format="csr")
    result = milp(
        objective,
        constraints=[LinearConstraint(matrix, lower, upper)],
        bounds=Box(floor, ceiling),
        integrality=whole,
        options=options,
    )
    if result.x is None:
        reason = "there is no solution" if result.status == 2 else "none was found in the time allowed"
        raise GemelError(
            ErrorCode.PARAMETER,
            f"{what}: {reason}",
            remedy="require less protection, publish fewer margins, or allow more time",
        )
    gap = float(getattr(result, "mip_gap", 0.0) or 0.0)
    return Solved(np.asarray(result.x), gap)
