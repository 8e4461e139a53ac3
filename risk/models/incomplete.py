"""Models of incomplete tables: Fuchs' EM for weighted records with missing values, saturated or decomposable.

The expectation step spreads each record over the completions that the present model finds likely, clique by clique on
the junction tree; the maximisation step takes the cliques' expected counts as if observed. A saturated model is the
complete graph, a tree of one clique. Values are missing at random.

Only cells that agree with some record's known part are ever held: all others have probability 0 at the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.models.counts import SparseCounts, distinct_rows
from gemel.risk.models.expectation_step import ExpectationStep, completions
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel, calibrated, clique_factor
from gemel.risk.models.graphs import Graph, complete_graph, members

SUPPORT_LIMIT = 2**23


@dataclass(frozen=True)
class IncompleteCounts:
    """Records with missing values, equal ones put together.

    `records` (int32, shape (n_records, n_variables)): different rows, in which -1 is missing; `weights` (float64, shape
    (n_records,)): what each counts for, above 0.
    """

    names: tuple[Hashable, ...]
    levels: tuple[int, ...]
    records: Codes = field(repr=False)
    weights: Floats = field(repr=False)

    @classmethod
    def from_records(
        cls,
        records: ArrayLike,
        levels: Sequence[int],
        names: Sequence[Hashable] | None = None,
        weights: ArrayLike | None = None,
    ) -> IncompleteCounts:
        """Count records whose codes are -1 where missing; checked as `SparseCounts.from_records` checks."""
        codes = np.asarray(records)
        if codes.ndim == 2 and np.issubdtype(codes.dtype, np.integer) and codes.size and codes.min() < -1:
            raise parameter("", "a missing value is -1, other codes are not negative", str(codes.min()))
        shifted = SparseCounts.from_records(codes + 1, [n + 1 for n in levels], names, weights)
        known = [n - 1 for n in shifted.levels]
        if min(known) < 2:
            name = shifted.names[int(np.argmin(known))]
            raise parameter(f"variable {name}", "a variable must have at least two levels")
        return cls(shifted.names, tuple(known), shifted.cells - 1, shifted.counts)

    @property
    def total(self) -> float:
        return float(self.weights.sum())


@dataclass(frozen=True)
class IncompleteFit:
    model: FittedModel
    log_likelihood: tuple[float, ...]
    converged: bool


def fit_incomplete(
    data: IncompleteCounts,
    graph: Graph | None = None,
    *,
    precision: float = 0.0,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> IncompleteFit:
    """Fit a decomposable model to records with missing values.

    `graph`: a decomposable graph over their variables; by default the complete one (the saturated model). `precision`:
    0 for maximum likelihood. Positive: the total precision of a hyper-Dirichlet prior whose parameters are added to the
    expected counts (posterior means given those counts); every cell of a clique is then held. `tolerance`: greatest
    change of a clique cell's probability at which to stop. `max_iterations`: where to stop otherwise, which the result
    reports.

    Refused: a graph that is not decomposable or has other variables; too many completions to be held.

    An iteration costs, for each clique, the completions of its missing part summed over the records.

    References
    ----------
    .. [1] Fuchs, JASA 77, 1982. doi:10.1080/01621459.1982.10477795
    """
    graph = complete_graph(data.names) if graph is None else graph
    if graph.names != data.names:
        raise parameter(
            "graph",
            "the graph must have the data's variables in their order",
            f"{len(graph)} nodes for {len(data.names)} variables",
        )
    if precision < 0 or max_iterations < 1 or tolerance <= 0:
        raise parameter(
            "fit_incomplete",
            "the precision must not be negative, and tolerance and iterations must be positive",
            f"{precision}, {tolerance}, {max_iterations}",
        )
    graph.require_decomposable()
    start = calibrated(graph, data.levels, [_support(data, clique, precision > 0) for clique in graph.cliques])
    step = ExpectationStep(start.tree, start.cliques, data.records)
    factors = start.cliques
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < max_iterations:
        before = [factor.values for factor in factors]
        counts, log_likelihood = step.expected(before, data.weights)
        trace.append(log_likelihood)
        factors = tuple(
            clique_factor(f.variables, f.levels, f.cells, count, precision)
            for f, count in zip(start.cliques, counts, strict=True)
        )
        change = max(float(np.abs(f.values - old).max()) for f, old in zip(factors, before, strict=True))
        converged = change <= tolerance
    estimate = "posterior mean" if precision > 0 else "maximum likelihood"
    model = FittedModel(graph, data.levels, start.tree, tuple(_possible(factor) for factor in factors), estimate)
    return IncompleteFit(model, tuple(trace), converged)


def _support(data: IncompleteCounts, clique: int, everywhere: bool) -> Factor:
    """The cells of a clique that agree with some record's known part, each with value 1."""
    columns = list(members(clique))
    levels = [data.levels[v] for v in columns]
    records = data.records[:, columns]
    if everywhere or (records < 0).all(axis=1).any():
        if math.prod(levels) > SUPPORT_LIMIT:
            raise _too_many(math.prod(levels))
        return Factor.from_table(columns, np.ones(levels))
    first, _ = distinct_rows(records + 1, [n + 1 for n in levels])
    records = records[first]
    times = completions(records, levels)
    _, pattern = np.unique(records < 0, axis=0, return_inverse=True)
    most = np.bincount(pattern.ravel(), times).max()
    if most > SUPPORT_LIMIT:
        raise _too_many(int(most))
    cells, _ = completed(records, levels, times)
    first, _ = distinct_rows(cells, levels)
    return Factor(tuple(columns), tuple(levels), np.ascontiguousarray(cells[first]), np.ones(len(first)))


def completed(records: Codes, levels: Sequence[int], times: Floats) -> tuple[Codes, Integers]:
    """All completions of each record, of which there are `times`, one record's after another's; where each begins."""
    start = np.concatenate([[0], np.cumsum(times)]).astype(np.int64)
    rows = np.repeat(np.arange(len(records)), np.diff(start))
    number = np.arange(start[-1]) - start[rows]
    cells = records[rows]
    for q, n in enumerate(levels):
        lacking = cells[:, q] < 0
        cells[lacking, q] = number[lacking] % n
        number[lacking] //= n
    return cells, start


def _too_many(cells: int) -> GemelError:
    return GemelError(
        ErrorCode.MEMORY,
        "the missing values of a clique have too many completions",
        got=f"{cells} cells",
        remedy="fit a model with smaller cliques",
    )


def _possible(factor: Factor) -> Factor:
    """Without the cells that have become impossible."""
    some = factor.values > 0
    return factor if some.all() else Factor(factor.variables, factor.levels, factor.cells[some], factor.values[some])
