"""Controlled rounding: rounded tables that still add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.attribution.laws import Adjacent, Law, Random
from gemel.risk.attribution.protections.programmes import layout, solve
from gemel.risk.attribution.protections.protection import Outcome, Protection, all_margins, require_exact
from gemel.risk.attribution.release import Published


@dataclass(frozen=True)
class ControlledRounding(Protection):
    """Every count and margin to a multiple of the base next to it, so that all add up, as near to the truth as can be.

    Parameters
    ----------
    base
        Of the multiples.
    margins
        Sets of variables whose margins are rounded along; by default all, with the total.
    seconds
        Time allowed; the gap is reported.

    Notes
    -----
    Least sum of absolute changes over all published cells; ties are broken by the generator. With three or more
    variables there may be no solution. What a single cell becomes depends on the whole table: its law is its bounds.
    """

    base: int
    margins: tuple[tuple[str, ...], ...] | None = None
    seconds: float | None = None

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "controlled rounding")
        margins = all_margins(given.names) if self.margins is None else self.margins
        plan = layout(given, margins)
        truth = plan.counts
        down, rest = truth // self.base, truth % self.base
        # Unknown: how many cells go up. A margin's multiples are the sum of its cells': floors known, ups chosen.
        own = plan.cells
        base_down = down[:own].astype(float)
        fixed = plan.matrix @ base_down
        lower, upper = down - fixed, down + (rest > 0) - fixed
        going_up = self.base - 2.0 * rest  # change of |rounded - truth| when a cell goes up instead of down
        cost = plan.matrix.T @ np.where(rest > 0, going_up, 0.0)
        cost = cost + generator.random(own) * 1e-4
        found = solve(
            cost,
            [plan.matrix],
            lower,
            upper,
            np.zeros(own),
            (rest[:own] > 0).astype(float),
            np.ones(own),
            "controlled rounding",
            self.seconds,
        )
        rounded = self.base * (down[:own] + np.rint(found.values).astype(np.int64))
        return _outcome(given, rounded.reshape(given.counts.shape), margins, Adjacent(self.base), found.gap)


@dataclass(frozen=True)
class UnbiasedControlledRounding(Protection):
    """Controlled rounding of a two-way table whose expectation is the truth, cell by cell and margin by margin.

    Fractions are moved along cycles of cells until none is left, up or down with probabilities that keep the
    expectation; so each cell by itself has the law of random rounding.

    References
    ----------
    .. [1] Cox, A constructive procedure for unbiased controlled rounding, JASA 82, 1987.
    """

    base: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "controlled rounding")
        if given.counts.ndim != 2:
            raise parameter(
                f"table {given.name!r}",
                "unbiased controlled rounding is for tables of two variables",
                f"{given.counts.ndim}",
                "use controlled rounding by least change",
            )
        rest = given.counts % self.base
        # One more row and column take up what is missing to whole multiples, so that every line sums to one.
        full = np.zeros(tuple(n + 1 for n in rest.shape), dtype=np.int64)
        full[:-1, :-1] = rest
        full[:-1, -1] = -rest.sum(axis=1) % self.base
        full[-1, :] = -full[:-1, :].sum(axis=0) % self.base
        rounded_cells = _round_feasibly(full, self.base, generator)[:-1, :-1]
        rounded = given.counts - rest + rounded_cells
        return _outcome(given, rounded, all_margins(given.names), Random(self.base), 0.0)


def _round_feasibly(fractions: NDArray[np.int64], base: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Move units along cycles of unrounded cells until every cell is 0 or the base."""
    cells = fractions.copy()
    while True:
        open_cells = (cells % base) != 0
        if not open_cells.any():
            return cells
        cycle = _cycle(open_cells)
        plus, minus = cycle[::2], cycle[1::2]
        up = min(min(base - cells[c] for c in plus), min(cells[c] for c in minus))
        down = min(min(cells[c] for c in plus), min(base - cells[c] for c in minus))
        step = int(up) if generator.random() * float(up + down) < float(down) else -int(down)
        for c in plus:
            cells[c] += step
        for c in minus:
            cells[c] -= step


def _cycle(open_cells: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """A closed path of unrounded cells that turns at each: along a row, along a column, and so on.

    Every line with one unsettled cell has another, since it sums to a multiple of the base.
    """
    row, column = (int(i) for i in np.argwhere(open_cells)[0])
    path = [(row, column)]
    left: dict[tuple[str, int], int] = {}  # which cell of the path leaves along a line
    while True:
        if ("row", row) in left:
            return path[left["row", row] + 1 :]
        left["row", row] = len(path) - 1
        column = next(int(j) for j in np.flatnonzero(open_cells[row]) if j != path[-1][1])
        path.append((row, column))
        if ("column", column) in left:
            return path[left["column", column] + 1 :]
        left["column", column] = len(path) - 1
        row = next(int(i) for i in np.flatnonzero(open_cells[:, column]) if i != path[-1][0])
        path.append((row, column))


def _outcome(
    given: Published, rounded: NDArray[np.int64], margins: Sequence[Sequence[str]], law: Law, gap: float
) -> Outcome:
    also = []
    for names in margins:
        gone = tuple(i for i, n in enumerate(given.names) if n not in names)
        axes = tuple(a for a in given.axes if a.variable in names)
        label = ", ".join(a.variable for a in axes) or "total"
        also.append(Published(f"{given.name}: {label}", axes, rounded.sum(axis=gone), law))
    return Outcome(replace(given, counts=rounded, law=law), tuple(also), gap)
