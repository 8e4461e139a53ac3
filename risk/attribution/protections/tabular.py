"""Changes of a whole table: rounding, controlled rounding, controlled tabular adjustment."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from gemel.common.errors import parameter
from gemel.risk.arrays import Integers, Mask
from gemel.risk.attribution import laws
from gemel.risk.attribution.protections.records import Outcome, Protection, require_exact
from gemel.risk.attribution.protections.suppression import Layout, all_margins, layout, risky_cells, solve
from gemel.risk.attribution.release import Published


@dataclass(frozen=True)
class ConventionalRounding(Protection):
    """Each count to the nearest multiple of an odd base."""

    base: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = laws.Conventional(self.base)
        return _cell_by_cell(given, law.rounded(given.counts), law)


@dataclass(frozen=True)
class RandomRounding(Protection):
    """Each count up or down to a multiple of the base; up with probability (remainder / base)."""

    base: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = laws.Random(self.base)
        remainder = given.counts % self.base
        up = generator.random(given.counts.shape) * self.base < remainder
        return _cell_by_cell(given, given.counts - remainder + self.base * up, law)


@dataclass(frozen=True)
class Barnardisation(Protection):
    """Each count above 0 stays with probability `stay`, else goes one up or one down with equal chances."""

    stay: float

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = laws.Barnardised(self.stay)
        chances = [self.stay, (1 - self.stay) / 2, (1 - self.stay) / 2]
        step = generator.choice([0, -1, 1], size=given.counts.shape, p=chances)
        return _cell_by_cell(given, np.where(given.counts > 0, given.counts + step, 0), law)


@dataclass(frozen=True)
class RecordSuppression(Protection):
    """Delete the records of cells with fewer than `threshold` of them (people unusual enough to be recognised)."""

    threshold: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        deleted = np.where(given.counts < self.threshold, 0, given.counts)
        return _cell_by_cell(given, deleted, laws.BelowThreshold(self.threshold))


def _cell_by_cell(given: Published, counts: Integers, law: laws.Law) -> Outcome:
    """Other counts, each under a law of its own; withheld ones stay withheld."""
    counts = np.where(given.counts == laws.UNPUBLISHED, laws.UNPUBLISHED, counts)
    return Outcome(replace(given, counts=counts, law=law if given.law.exact else laws.Composed(given.law, law)))


@dataclass(frozen=True)
class ControlledRounding(Protection):
    """Every count and margin to a multiple of the base next to it, so that all add up, as near to the truth as can be.

    Least sum of absolute changes over all published cells; ties are broken by the generator. With three or more
    variables there may be no solution. What a single cell becomes depends on the whole table: its law is its bounds.
    """

    base: int
    margins: tuple[tuple[str, ...], ...] | None = None
    seconds: float | None = None

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "controlled rounding")
        plan = layout(given, self.margins)
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
        up = (rest[:own] > 0).astype(float)
        found = solve(cost, [plan.matrix], lower, upper, up, "controlled rounding", self.seconds)
        return _rounded(plan, self.base * (down[:own] + found), laws.Adjacent(self.base))


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
            what, got = "unbiased controlled rounding is for tables of two variables", f"{given.counts.ndim}"
            raise parameter(f"table {given.name!r}", what, got, "use controlled rounding by least change")
        rest = given.counts % self.base
        # One more row and column take up what is missing to whole multiples, so that every line sums to one.
        full = np.zeros(tuple(n + 1 for n in rest.shape), dtype=np.int64)
        full[:-1, :-1] = rest
        full[:-1, -1] = -rest.sum(axis=1) % self.base
        full[-1, :] = -full[:-1, :].sum(axis=0) % self.base
        rounded_cells = _round_feasibly(full, self.base, generator)[:-1, :-1]
        rounded = given.counts - rest + rounded_cells
        return _rounded(layout(given), rounded.ravel(), laws.Random(self.base))


def _round_feasibly(fractions: Integers, base: int, generator: np.random.Generator) -> Integers:
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


def _cycle(open_cells: Mask) -> list[tuple[int, int]]:
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


def _rounded(plan: Layout, cells: Integers, law: laws.Law) -> Outcome:
    """A table of rounded cells, and the margins that follow from them."""
    return Outcome(plan.with_counts(cells, law), plan.published_margins(plan.matrix @ cells, law))


@dataclass(frozen=True)
class TabularAdjustment(Protection):
    """Change each risky count to a safe one, and the others least, with chosen margins unchanged.

    References
    ----------
    .. [1] Cox, Kelly and Patil, Balancing quality and confidentiality for multivariate tabular data, 2004.
    """

    threshold: int = 3
    cells: tuple[tuple[int, ...], ...] | None = None
    step: int = 1
    reach: int = 2
    margins: tuple[tuple[str, ...], ...] | None = None
    seconds: float | None = None

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "controlled tabular adjustment")
        margins = [m for m in all_margins(given.names) if len(m) == 1] if self.margins is None else self.margins
        plan = layout(given, margins)
        risky = risky_cells(given, self.threshold, self.cells)
        truth = given.counts.ravel().astype(float)
        n = len(truth)
        down = np.minimum(truth, self.step) if self.cells is not None else truth
        up = np.full(n, float(self.step)) if self.cells is not None else self.threshold - truth
        # Unknowns: by how much each count rises and falls, and for each risky one whether it rises.
        is_risky = np.zeros(n, dtype=bool)
        is_risky[risky] = True
        highest = np.where(is_risky, np.maximum(up, 0.0), float(self.reach))
        deepest = np.where(is_risky, down, np.minimum(truth, self.reach))
        ceiling = np.concatenate([highest, deepest, is_risky.astype(float)])
        sums = plan.matrix[n:]
        rises, falls = (csr_array(np.diag(np.where(is_risky, by, 0.0))) for by in (-up, down))
        picked = csr_array(np.diag(is_risky.astype(float)))
        rows = [
            hstack([sums, -sums, csr_array(sums.shape)], format="csr"),  # margins stay
            hstack([picked, csr_array((n, n)), rises], format="csr"),  # rise = up * choice
            hstack([csr_array((n, n)), picked, falls], format="csr"),  # fall = down * (1 - choice)
        ]
        right = np.concatenate([np.zeros(sums.shape[0]), np.zeros(n), np.where(is_risky, down, 0.0)])
        price = np.concatenate([1.0 + generator.random(2 * n) * 1e-3, np.zeros(n)])
        moves = solve(price, rows, right, right, ceiling, "controlled tabular adjustment", self.seconds)
        adjusted = given.counts.ravel() + moves[:n] - moves[n : 2 * n]
        maximum = int(max(self.reach, up[risky].max(initial=0), down[risky].max(initial=0)))
        table = plan.with_counts(adjusted, laws.Within(maximum, maximum))
        return Outcome(table, plan.published_margins(plan.counts))
