"""Log-linear models of a key's counts: the cells they are fitted on, the fit, the closed form where decomposable."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numba import njit

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.models.counts import SparseCounts, distinct_rows
from gemel.risk.models.factors import match_rows
from gemel.risk.models.graphs import Graph, members
from gemel.risk.models.junction_trees import JunctionTree

LIMIT = 2**24  # cells from which a model is refused: 16.8 million, some 0.6 GB

TOLERANCE = 0.01  # records by which a fitted margin may be off

_WIDEST = 32  # bytes that may be needed for each cell allowed


def support(table: SparseCounts, generators: Sequence[Sequence[int]], limit: int = LIMIT) -> Codes:
    """Cells all of whose fitted margins are positive; elsewhere the fitted mean is 0.

    Returns int32, shape (n_cells, n_variables): in lexicographic order.

    Variable by variable: the cells so far are extended by every level, and those that have an empty margin go. Cost
    grows with the cells that remain, for sparse tables far fewer than the full table has.
    """
    cells = np.zeros((1, 0), dtype=np.int32)
    for q, n in enumerate(table.levels):
        if len(cells) * n > _WIDEST * limit:
            raise _too_many(limit, q, table)
        keep = np.ones((len(cells), n), dtype=bool)
        for generator in generators:
            if q not in generator:
                continue
            earlier = [v for v in generator if v < q]
            own, level = table.cells[:, earlier], table.cells[:, q]
            both = np.concatenate([own, cells[:, earlier]])
            first, group = distinct_rows(both, [table.levels[v] for v in earlier])
            there = np.zeros((len(first), n), dtype=bool)
            there[group[: len(own)], level] = True
            keep &= there[group[len(own) :]]
        row, added = np.nonzero(keep)
        if len(row) > limit:
            raise _too_many(limit, q, table)
        cells = np.column_stack([cells[row], added]).astype(np.int32)
    return cells


def _too_many(limit: int, q: int, table: SparseCounts) -> GemelError:
    return GemelError(
        ErrorCode.MEMORY,
        "the log-linear model has too many cells of positive mean",
        got=f"more than {limit:,} at variable {q + 1} of {len(table.levels)}",
        remedy="use fewer or coarser key variables, more interactions, or Bayesian matching",
    )


_MINIMUM = -80.0  # logarithm of a mean from which it is 0 for every purpose


@dataclass(frozen=True, eq=False)
class Fit:
    """Maximum-likelihood means of a log-linear model.

    `cells` (int32, shape (n_cells, n_variables)): cells of positive mean, in lexicographic order; the occupied cells
    are among them; `means` (float64, shape (n_cells,)); `observed` (float64, shape (n_cells,)).
    """

    cells: Codes = field(repr=False)
    means: Floats = field(repr=False)
    observed: Floats = field(repr=False)
    converged: bool
    deviation: float
    rounds: int


def fit_margins(
    table: SparseCounts,
    generators: Sequence[Sequence[int]],
    tolerance: float = TOLERANCE,
    max_rounds: int = 1_000,
    limit: int = LIMIT,
) -> Fit:
    """Fit the log-linear model with the given margins.

    A pass costs one addition and one multiplication per cell and margin. Decomposable models converge in two passes.
    In sparse tables many cells have positive margins and a fitted mean of 0, which proportional fitting approaches
    like 1/rounds: squared extrapolation of the logarithms goes some ten times as far, and never down in likelihood.

    References
    ----------
    .. [1] Varadhan and Roland, Simple and globally convergent methods for accelerating the convergence of any EM
       algorithm, 2008. doi:10.1111/j.1467-9469.2007.00585.x
    """
    cells = support(table, generators, limit)
    observed = np.zeros(len(cells))
    observed[positions(cells, table.cells, table.levels)] = table.counts
    groups, targets = [], []
    for generator in generators:
        own = list(generator)
        first, group = distinct_rows(cells[:, own], [table.levels[v] for v in own])
        groups.append(group.astype(np.int32))
        targets.append(np.bincount(group, weights=observed, minlength=len(first)).astype(np.float64))
    means = np.full(len(cells), table.total / len(cells))
    deviation, rounds, likelihood = np.inf, 0, -np.inf
    while rounds < max_rounds and deviation > tolerance:
        before = np.log(means)
        _passed(means, groups, targets)
        once = np.log(means)
        deviation = _passed(means, groups, targets)
        rounds += 2
        tried = _extrapolated(before, once, np.log(means))
        if deviation > tolerance and rounds < max_rounds:
            _passed(tried, groups, targets)
            rounds += 1
            reached, plain = _likelihood(tried, observed), _likelihood(means, observed)
            if reached >= max(likelihood, plain):
                means = tried
            likelihood = max(reached, plain)
    return Fit(cells, means, observed, deviation <= tolerance, float(deviation), rounds)


def positions(cells: Codes, requested: Codes, levels: Sequence[int]) -> Integers:
    """Where requested cells are among distinct ones that hold them all."""
    places = match_rows(requested, cells, levels)
    if (places < 0).any():
        raise AssertionError("an occupied cell has no positive mean")
    return places


def _passed(means: Floats, groups: list[Codes], targets: list[Floats]) -> float:
    return float(max(_fit_one(means, group, target) for group, target in zip(groups, targets, strict=True)))


@njit(cache=True, nogil=True)
def _extrapolated(before, once, twice):  # type: ignore[no-untyped-def]  # compiled
    """Squared extrapolation of two passes in the logarithms of the means, which stays in the model."""
    steps, bends = 0.0, 0.0
    for i in range(len(before)):
        step = once[i] - before[i]
        bend = twice[i] - once[i] - step
        steps += step * step
        bends += bend * bend
    length = 1.0 if bends == 0.0 else max(1.0, math.sqrt(steps / bends))
    means = np.empty_like(before)
    for i in range(len(before)):
        step = once[i] - before[i]
        bend = twice[i] - once[i] - step
        means[i] = math.exp(min(50.0, max(_MINIMUM, before[i] + 2.0 * length * step + length * length * bend)))
    return means


@njit(cache=True, nogil=True)
def _likelihood(means, observed):  # type: ignore[no-untyped-def]  # compiled
    value = 0.0
    for i in range(len(means)):
        value -= means[i]
        if observed[i] > 0:
            value += observed[i] * math.log(means[i])
    return value


@njit(cache=True, nogil=True)
def _fit_one(means, group, target):  # type: ignore[no-untyped-def]  # compiled
    """Scale the means so that one margin fits; how far it was off."""
    sums = np.zeros(len(target))
    for i in range(len(means)):
        sums[group[i]] += means[i]
    worst = 0.0
    for g in range(len(target)):
        worst = max(worst, abs(sums[g] - target[g]))
        sums[g] = target[g] / sums[g]
    for i in range(len(means)):
        means[i] *= sums[group[i]]
    return worst


# The fitted mean of a cell is the product of its clique margins over its separator margins, so that a table of a file's
# occupied cells, with the margins of each, is all there is to fit. Everything else follows from the junction tree:
#
# - The variance of the logarithm of a fitted mean is the sum of 1/margin over cliques less that over separators, and
#   of a linear function of the log means, :math:`\sum_j d_j \, \delta \log \mu_j`, it is :math:`\sum_C \sum_x
#   D_C(x)^2 / n_C(x) - \sum_S \sum_x D_S(x)^2 / n_S(x)`, D being the sums of d over margins.
# - A sum over all cells, :math:`\sum_j g(\mu_j)`, is n times the mean of :math:`g(\mu)/\mu` over cells drawn from the
#   model. Where the tree has few cells of positive mean they are all visited, and the sum is exact.

EXACT_CELLS = 2**17  # cells of positive mean up to which a sum over them is exact
DRAWN = 2**15  # cells drawn where there are more

_HELD = 256  # margins kept at a time


@dataclass(frozen=True, eq=False)
class Margin:
    """The table over some variables.

    `group` (int64, shape (n_cells,)): the margin's row of each occupied cell; `first` (int64, shape (n_rows,)): an
    occupied cell of each row; `totals` (float64, shape (n_rows,)).
    """

    group: Integers = field(repr=False)
    first: Integers = field(repr=False)
    totals: Floats = field(repr=False)


class Margins:
    """Margins of a table, each made once: neighbouring models share all but a few."""

    def __init__(self, table: SparseCounts) -> None:
        self.table = table
        self._made: dict[int, Margin] = {}

    def of(self, variables: int) -> Margin:
        """The margin over a set of variables. O(n log n) for n occupied cells."""
        if variables not in self._made:
            if len(self._made) >= _HELD:
                self._made.clear()
            own = list(members(variables))
            first, group = distinct_rows(self.table.cells[:, own], [self.table.levels[v] for v in own])
            totals = np.bincount(group, weights=self.table.counts, minlength=len(first)).astype(np.float64)
            self._made[variables] = Margin(group, first, totals)
        return self._made[variables]


@dataclass(frozen=True, eq=False)
class Visited:
    """Cells that stand for all cells of positive mean.

    `means`, `spread` (float64, shape (n_visited,)): fitted mean, and variance of its logarithm; `rows` (tuple of int64,
    shape (n_visited,)): for each clique the row of its margin; then for each separator; `weights` (float64, shape
    (n_visited,)): how many cells each stands for: 1 where all are visited.
    """

    means: Floats = field(repr=False)
    spread: Floats = field(repr=False)
    rows: tuple[Integers, ...] = field(repr=False)
    weights: Floats = field(repr=False)
    exact: bool

    def total(self, values: Floats) -> tuple[float, float]:
        """The sum of a function's values over all cells, and its standard error."""
        terms = self.weights * values
        error = 0.0 if self.exact else float(terms.std(ddof=1)) * len(terms) ** 0.5
        return float(terms.sum()), error


class ClosedForm:
    def __init__(self, margins: Margins, graph: Graph) -> None:
        graph.require_decomposable()
        self.graph, self.tree = graph, JunctionTree.of(graph)
        self._cliques = [margins.of(c) for c in self.tree.cliques]
        self._separators = [margins.of(s) for s in self.tree.separators]
        self._margins = [*self._cliques, *self._separators]
        self._walk = list(self.tree.walk())
        edges = {frozenset(edge): k for k, edge in enumerate(self.tree.edges)}
        self._edge = {c: edges[frozenset((c, p))] for c, p in self._walk if p >= 0}
        self.total = margins.table.total

    @cached_property
    def means(self) -> Floats:
        """Fitted means of the occupied cells, shape (n_cells,)."""
        return self._fitted([m.group for m in self._margins])[0]

    @cached_property
    def spread(self) -> Floats:
        """Variance of the logarithms of `means`, counts being Poisson, shape (n_cells,)."""
        return self._fitted([m.group for m in self._margins])[1]

    def _fitted(self, rows: Sequence[Integers]) -> tuple[Floats, Floats]:
        log, spread = np.zeros(len(rows[0])), np.zeros(len(rows[0]))
        for k, (margin, own) in enumerate(zip(self._margins, rows, strict=True)):
            sign = 1.0 if k < len(self._cliques) else -1.0
            log += sign * np.log(margin.totals)[own]
            spread += sign * (1.0 / margin.totals)[own]
        return np.exp(log), np.maximum(spread, 0.0)

    def variance(self, d: Floats) -> float:
        """Variance of ``sum(d * log(means))`` over the occupied cells: the module's second formula."""

        def part(m: Margin) -> float:
            return float((np.bincount(m.group, weights=d, minlength=len(m.totals)) ** 2 / m.totals).sum())

        return max(0.0, sum(part(m) for m in self._cliques) - sum(part(m) for m in self._separators))

    def explained(self, cells: Visited, values: Floats) -> float:
        """What the model can fit of a function over all cells: the same formula with d = mean * value.

        Where cells are drawn, squares of sums leave out each draw's own square, which would only add noise.
        """
        d = cells.weights * cells.means * values
        m = len(d)

        def part(margin: Margin, rows: Integers) -> float:
            sums = np.bincount(rows, weights=d, minlength=len(margin.totals)).astype(np.float64) ** 2
            if not cells.exact:
                sums = (sums - np.bincount(rows, weights=d * d, minlength=len(margin.totals))) * m / (m - 1)
            return float((sums / margin.totals).sum())

        found = [part(own, rows) for own, rows in zip(self._margins, cells.rows, strict=True)]
        return sum(found[: len(self._cliques)]) - sum(found[len(self._cliques) :])

    @cached_property
    def n_cells(self) -> float:
        """How many cells have a positive mean, counted along the tree."""
        ways = [np.ones(len(m.totals)) for m in self._cliques]
        for c, parent in reversed(self._walk):
            if parent >= 0:
                s = self._separators[self._edge[c]]
                message = np.bincount(s.group[self._cliques[c].first], weights=ways[c], minlength=len(s.totals))
                ways[parent] = ways[parent] * message[s.group[self._cliques[parent].first]]
        return float(ways[self._walk[0][0]].sum())

    def visit(self, rng: np.random.Generator, exact: int = EXACT_CELLS, drawn: int = DRAWN) -> Visited:
        """All cells of positive mean where they are no more than `exact`, otherwise some drawn from the model.

        Along the tree, clique by clique.
        """
        drawn = 0 if self.n_cells <= exact else drawn
        cliques: dict[int, Integers] = {}
        separators: dict[int, Integers] = {}
        for c, parent in self._walk:
            own = self._cliques[c].totals
            if parent < 0:
                target = rng.random(drawn) * own.sum()
                places = np.minimum(np.searchsorted(np.cumsum(own), target, side="right"), len(own) - 1)
                cliques[c] = places if drawn else np.arange(len(own))
                continue
            at, order, start, size = self._joined(c, parent, cliques[parent])
            kept = np.arange(len(at)) if drawn else np.repeat(np.arange(len(at)), size)
            if drawn:
                ends = np.cumsum(own[order])
                before = np.concatenate([[0.0], ends])[start]
                target = before + rng.random(drawn) * (ends[start + size - 1] - before)
                place = np.clip(np.searchsorted(ends, target, side="right"), start, start + size - 1)
            else:
                place = start[kept] + np.arange(len(kept)) - np.repeat(np.cumsum(size) - size, size)
            cliques = {k: rows[kept] for k, rows in cliques.items()}
            separators = {k: rows[kept] for k, rows in separators.items()}
            separators[self._edge[c]] = at[kept]
            cliques[c] = order[place]
        rows = [*(cliques[c] for c in range(len(cliques))), *(separators[s] for s in range(len(separators)))]
        means, spread = self._fitted(rows)
        weights = self.total / (len(means) * means) if drawn else np.ones(len(means))
        return Visited(means, spread, tuple(rows), weights, not drawn)

    def _joined(self, c: int, parent: int, rows: Integers) -> tuple[Integers, ...]:
        """For rows of a parent their separator's row; a clique's rows in the order of the separator's, and which."""
        s, own = self._separators[self._edge[c]], self._cliques[c]
        at = s.group[self._cliques[parent].first][rows]
        mine = s.group[own.first]
        number = np.bincount(mine, minlength=len(s.totals))
        return at, np.argsort(mine, kind="stable"), (np.cumsum(number) - number)[at], number[at]


def graph_of(generators: Sequence[tuple[int, ...]], names: Sequence[Hashable]) -> Graph | None:
    """The decomposable graph whose cliques are these terms; None where there is none."""
    adjacency = [0] * len(names)
    for generator in generators:
        for v in generator:
            for w in generator:
                if v != w:
                    adjacency[v] |= 1 << w
    graph = Graph(tuple(adjacency), tuple(names))
    if not graph.is_decomposable:
        return None
    cliques = {frozenset(members(clique)) for clique in graph.cliques}
    return graph if cliques == {frozenset(g) for g in generators} else None
