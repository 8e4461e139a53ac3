"""The value model from weighted pairs: Fuchs' EM, one decomposable graph by search, and its probabilities.

Each pair is a record over all variables, weighted by its match probability; keys that disagree are missing. The search
needs complete counts: where the table of all completions can be held they come from the saturated model (Fuchs' EM, as
Smith and Elliot have it), otherwise from the decomposable model found so far, repeatedly until the graph no longer
changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numba import njit

from gemel.carole.extended_latent.bayes_factor import ValueModel, frequencies
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.precision import PrecisionChoice, choose_precision
from gemel.carole.extended_latent.settings import ExtendedSettings
from gemel.carole.extended_latent.variables import Values, WeightedPairs, check_codes, wrong
from gemel.common.arrays import F64, I32, I64
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.annealing import anneal
from gemel.risk.models.counts import SparseCounts, distinct_rows
from gemel.risk.models.expectation_step import completions
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.greedy_search import greedy
from gemel.risk.models.incomplete import IncompleteCounts, completed, fit_incomplete
from gemel.risk.models.result import SearchResult
from gemel.risk.models.scores import HyperDirichlet

# Complete counts from incomplete records: by the saturated model (Fuchs' EM, compiled), or by a given model.
#
# `risk.models.incomplete` fits any decomposable model to incomplete records; the saturated one is its complete graph.
# Here records lack at most a key or two, so that all completions can be listed once, and a step of EM is a pass over
# the list.


MINIMUM = 1e-18
"""Probability below which a cell counts as empty: what EM leaves there is rounding."""


def saturated_counts(data: IncompleteCounts, tolerance: float, max_iterations: int) -> tuple[SparseCounts, bool]:
    """Fuchs' EM of the saturated model, until no cell's probability changes by more than `tolerance`.

    O(completions of all records) an iteration. It starts with equal probabilities of all cells that agree with a
    record.

    References
    ----------
    .. [1] Fuchs, JASA 77, 1982. doi:10.1080/01621459.1982.10477795
    """
    cells, start = completed(data.records, data.levels, completions(data.records, data.levels))
    first, number = distinct_rows(cells, data.levels)
    probability = np.full(len(first), 1 / len(first))
    weight = data.weights / data.total
    converged = False
    for _ in range(max_iterations):
        after = np.zeros_like(probability)
        _step(start, number, weight, probability, after)
        converged = bool(np.abs(after - probability).max() <= tolerance)
        probability = after
        if converged:
            break
    some = probability > MINIMUM
    kept = np.ascontiguousarray(cells[first[some]])
    return SparseCounts(data.names, data.levels, kept, probability[some] * data.total), converged


def completed_by(model: FittedModel, data: IncompleteCounts, limit: int = 2**23) -> SparseCounts:
    """Each record spread over its completions by a model's conditional probabilities.

    Records with too many completions to be held in all (more than `limit` rows, the fewest first) are left out.
    """
    times = completions(data.records, data.levels)
    order = np.argsort(times, kind="stable")
    kept = order[np.cumsum(times[order]) <= limit]
    cells, start = completed(data.records[kept], data.levels, times[kept])
    rows = np.repeat(np.arange(len(kept)), np.diff(start))
    probability = np.exp(model.log_probability(cells))
    sums = np.bincount(rows, weights=probability, minlength=len(kept))
    share = data.weights[kept][rows] * probability / sums[rows]
    return SparseCounts.from_records(cells, data.levels, data.names, share)


@njit(nogil=True, cache=True)
def _step(start: I64, cell: I64, weight: F64, probability: F64, after: F64) -> None:
    """Spread each record over its completions by their present probabilities; sum the counts of each cell."""
    for r in range(weight.size):
        total = 0.0
        for i in range(start[r], start[r + 1]):
            total += probability[cell[i]]
        if total > 0.0:
            share = weight[r] / total
            for i in range(start[r], start[r + 1]):
                after[cell[i]] += share * probability[cell[i]]


SATURATED_CELLS = 2**20
"""Completions of the records up to which complete counts come from the saturated model."""

MAX_GRAPHS = 8
"""Rounds of completing and searching above that."""

MIN_WEIGHT = 1e-12
"""Pairs of a smaller match probability carry no information, and would be lost in rounding."""

MAX_CELLS = 2**22
"""Pairs of configurations up to which weights are added up in a table of all of them."""

TOLERANCE = 1e-6
MAX_ITERATIONS = 300


@dataclass(frozen=True)
class ValueFit:
    """A value model and its estimation.

    `search`: the search for the graph; None where there was no choice, or the model was known; `records`: weight of the
    records it was estimated from: expected matches and training records. 0: it was known beforehand; `converged`:
    whether the EM for the missing keys and the search for the graph converged; `precision`: total prior precision; None
    where there is no joint model, or it was known beforehand; `choice`: how it was chosen; None where it was given.
    """

    model: ValueModel
    search: SearchResult | None = field(default=None, repr=False)
    records: float = 0.0
    training: float = 0.0
    converged: bool = True
    precision: float | None = None
    choice: PrecisionChoice | None = field(default=None, repr=False)

    @property
    def dependences(self) -> tuple[tuple[str, str], ...]:
        if self.model.match is None:
            return ()
        graph = self.model.match.graph
        return tuple((str(graph.names[v]), str(graph.names[w])) for v, w in graph.edges)


def estimate(
    values: Values, weighted: WeightedPairs, settings: ExtendedSettings, training: I32 | None = None
) -> ValueFit:
    """Estimate a value model.

    `settings`: without a precision it is chosen (`choose_precision`); `training` (int32, shape (n_records,
    n_variables)): records of people like these, over all variables; -1 is missing. Each counts as one match.
    """
    if training is not None:
        check_codes(training, values.variables, "training records")
    alone = tuple(frequencies(values, weighted, training))
    n_training = 0.0 if training is None else float(len(training))
    if not values.model_columns:
        return ValueFit(ValueModel.of(None, alone), None, weighted.total + n_training, n_training)
    data = match_records(values, weighted, training)
    choice = None
    usable = [settings.precision or 0.0]
    if settings.precision is None:
        choice = _choice(values, weighted, settings, training)
        usable = [*(p for p in choice.tried if p < choice.precision), choice.precision]
    # A graph of all pairs may be too dense where those of the folds were not: then a smaller precision is taken.
    while True:
        precision = usable.pop()
        try:
            fitted, search, converged = next(joint_models(data, settings, [precision]))
            model = ValueModel.of(fitted, alone)
            if usable:
                BayesFactors(model, values)
            break
        except GemelError as error:
            if error.code is not ErrorCode.MEMORY or not usable:
                raise
    if settings.separate:
        files = [file_model(values, side, settings, precision) for side in ("alice", "bob")]
        model = ValueModel(fitted, files[0], files[1], alone)
    return ValueFit(model, search, data.total, n_training, converged, precision, choice)


def joint_models(
    data: IncompleteCounts, settings: ExtendedSettings, precisions: Sequence[float]
) -> Iterator[tuple[FittedModel, SearchResult | None, bool]]:
    """The joint distribution with each precision, its search (None of one variable), and whether all converged."""
    complete: tuple[SparseCounts, bool] | None = None
    for precision in precisions:
        if complete is None or not _saturated(data):
            complete = complete_counts(data, settings, precision)
        search = found_graph(complete[0], settings, precision) if len(data.names) > 1 else None
        graph = empty_graph(data.names) if search is None else search.best.graph
        fitted = fit_incomplete(data, graph, precision=precision, tolerance=TOLERANCE, max_iterations=MAX_ITERATIONS)
        yield fitted.model, search, complete[1] and fitted.converged


def _choice(
    values: Values, weighted: WeightedPairs, settings: ExtendedSettings, training: I32 | None
) -> PrecisionChoice:
    """The precision for these pairs, its graphs found by steepest ascent whatever the search."""
    quick = replace(settings, search="greedy")

    def models(pairs: WeightedPairs, precisions: Sequence[float]) -> Iterator[FittedModel]:
        return (model for model, _, _ in joint_models(match_records(values, pairs, training), quick, precisions))

    return choose_precision(values, weighted, models, settings.seed)


def match_records(values: Values, weighted: WeightedPairs, training: I32 | None = None) -> IncompleteCounts:
    """The pairs as records over the joint model's variables, equal ones together; and the training records.

    Pairs are first merged by their two configurations, of which there are far fewer.
    """
    a, b = values.configurations
    number = a.of_row[weighted.row_a].astype(np.int64) * len(b.codes) + b.of_row[weighted.row_b]
    if len(a.codes) * len(b.codes) <= MAX_CELLS:
        sums = np.bincount(number, weighted.weight, minlength=len(a.codes) * len(b.codes)).astype(np.float64)
        place = np.arange(len(sums))
    else:
        place, member = np.unique(number, return_inverse=True)
        sums = np.bincount(member, weighted.weight, minlength=len(place)).astype(np.float64)
    some = sums > MIN_WEIGHT
    of_a, of_b = a.codes[place[some] // len(b.codes)], b.codes[place[some] % len(b.codes)]
    keys = np.array([values.variables[v].is_key for v in values.model_columns])
    records = np.where(keys, np.where(of_a == of_b, of_a, -1), np.maximum(of_a, of_b)).astype(np.int32)
    weights = sums[some]
    if training is not None:
        records = np.concatenate([records, training[:, list(values.model_columns)]])
        weights = np.concatenate([weights, np.ones(len(training))])
    some = np.asarray((records >= 0).any(axis=1))
    if not some.any():
        remedy = "contribute values, or leave out the extended latent step"
        got = f"{len(records)} records, all missing"
        raise wrong("no pair and no training record has values of the variables", "latent", got, remedy)
    return IncompleteCounts.from_records(records[some], values.model_levels, values.model_names, weights[some])


def _saturated(data: IncompleteCounts) -> bool:
    """Whether all completions of the records can be held."""
    return bool(completions(data.records, data.levels).sum() <= SATURATED_CELLS)


def complete_counts(data: IncompleteCounts, settings: ExtendedSettings, precision: float) -> tuple[SparseCounts, bool]:
    """Expected counts of complete records, and whether their EM converged."""
    if _saturated(data):
        return saturated_counts(data, TOLERANCE, MAX_ITERATIONS)
    graph = empty_graph(data.names)
    seen: list[Graph] = []
    while graph not in seen and len(seen) < MAX_GRAPHS:
        seen.append(graph)
        fitted = fit_incomplete(data, graph, precision=precision, tolerance=1e-5, max_iterations=MAX_ITERATIONS)
        counts = completed_by(fitted.model, data)
        graph = found_graph(counts, settings, precision).best.graph
    return counts, graph in seen


def found_graph(counts: SparseCounts, settings: ExtendedSettings, precision: float) -> SearchResult:
    scores = HyperDirichlet(counts, precision)
    if settings.search == "annealing":
        return anneal(scores, np.random.default_rng(settings.seed), moves=settings.moves)
    return greedy(scores)


def file_model(values: Values, side: str, settings: ExtendedSettings, precision: float) -> FittedModel:
    """A model of one file's variables and keys, from its records."""
    codes = values.codes_a if side == "alice" else values.codes_b
    columns = [v for v in values.model_columns if values.variables[v].holder in (side, "both")]
    kept = codes[:, columns]
    kept = kept[(kept >= 0).any(axis=1)]
    names = tuple(values.variables[v].name for v in columns)
    levels = tuple(values.variables[v].levels for v in columns)
    if not columns or not len(kept):
        what = "a separate denominator needs variables that this file holds"
        raise wrong(what, f"latent.separate, {side}", "none", "use one model for both")
    model, _, _ = next(joint_models(IncompleteCounts.from_records(kept, levels, names), settings, [precision]))
    return model
