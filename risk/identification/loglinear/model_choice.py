"""Which log-linear model to use: the minimum-error criterion over a path of models, held to the file's DIS.

A path of decomposable models from independence to as many interactions as a file can carry.

Edges are added one by one, always the one that the marginal likelihood likes best, and on past its maximum: the model
most likely for the table as a whole still has too few interactions for its rarest cells, which is what tau is about.
Cliques grow along the path, so that three-way and higher terms come in where the data have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.identification.file_level import Dis, file_dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.criterion import precision_of_fit
from gemel.risk.identification.loglinear.fitting import LIMIT, Margins, graph_of
from gemel.risk.identification.loglinear.risk import LogLinearRisk, log_linear_risk
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.greedy_search import climb, move_changes
from gemel.risk.models.result import n_pairs
from gemel.risk.models.scores import HyperDirichlet

_TIE = 1e-9  # edges whose gain differs by less are taken in their order


def decomposable_path(table: SparseCounts) -> list[Graph]:
    """The path from independence to the saturated model, each with one edge more.

    1 + K (K - 1)/2 models for K variables, each found by the scores of all legal additions, nearly all remembered.
    """
    scores = HyperDirichlet(table, 1.0)
    path = [empty_graph(table.names)]
    while True:
        graph = path[-1]
        changes = move_changes(scores, graph)
        legal = [
            (float(changes[n_pairs(v) + w]), v, w)
            for v in range(len(graph))
            for w in range(v)
            if not graph.has_edge(v, w) and np.isfinite(changes[n_pairs(v) + w])
        ]
        if not legal:
            return path
        top = max(change for change, _, _ in legal)
        _, v, w = next(move for move in legal if move[0] >= top - _TIE)
        path.append(graph.toggled(v, w))


def likeliest(table: SparseCounts) -> Graph:
    """The model at the local maximum of the marginal likelihood, edges added and deleted from independence."""
    scores = HyperDirichlet(table, 1.0)
    return climb(scores, empty_graph(table.names))[0]


def cliques_of(graph: Graph) -> list[tuple[str, ...]]:
    return [tuple(str(graph.names[v]) for v in range(len(graph)) if clique >> v & 1) for clique in graph.cliques]


# A model against the file's own DIS: both say how likely a unique match is right, and only one needs a model for it.
#
# DIS counts the pairs of the file, and its interval covers whatever goes together with what. A model implies the same
# chance, n1 over the people expected to match a sample unique. Where that is outside the interval, the model expects
# too few or too many people in the rare combinations as a whole, and what it says of single records, or of tau, is
# not to be relied on. Inside the interval it may still be wrong; at a confidence of .95 a right model is outside in
# one file of twenty.


def agrees(dis: Dis, implied: float) -> bool:
    """Whether Pr(CM | UM) that a model implies is in the interval of DIS; true of a file without sample uniques."""
    return distance(dis, implied) == 0.0


def distance(dis: Dis, implied: float) -> float:
    """How far it is outside: logarithm of the ratio to the nearer limit, 0 inside."""
    if dis.uniques == 0:
        return 0.0
    rounding = 1e-9
    if implied < dis.low * (1.0 - rounding):
        return math.log(dis.low / implied) if implied > 0 else math.inf
    return math.log(implied / dis.high) if implied > dis.high * (1.0 + rounding) else 0.0


def disagreement(dis: Dis, implied: float, model: str) -> ResultWarning | None:
    if agrees(dis, implied):
        return None
    return result_warning(
        "model_contradicts_dis",
        model=model,
        implied=implied,
        dis=dis.value,
        low=dis.low,
        high=dis.high,
        direction="too high" if implied > dis.high else "too low",
    )


Criterion = Literal["B1", "B2"]
Origin = Literal["two-way path", "decomposable path", "search"]

_STEPS = 60  # decomposable models on the path
_OPEN = 1.5  # averaged tau2 over the plug-in from which a fit leaves too much open


@dataclass(frozen=True, eq=False)
class ModelChoice:
    models: tuple[LogLinearRisk, ...]
    chosen: int
    criterion: Criterion
    dis: Dis
    origins: tuple[Origin, ...]
    left_out: int

    @property
    def best(self) -> LogLinearRisk:
        return self.models[self.chosen]

    @property
    def agreeing(self) -> tuple[bool, ...]:
        return tuple(agrees(self.dis, m.cm_given_um) for m in self.models)

    def interval(self, r: int, level: float = 0.95) -> tuple[float, float] | None:
        """Interval of tau1 (r = 1) or tau2 (r = 2) over the models that the file does not contradict.

        From the lowest limit to the highest of the preferred model, of the closed-form models that agree with DIS, and
        of the next ones on either side, between which the truth was passed over: which model is right matters more than
        what sampling adds to each.
        """
        closed = [m for m in self.models if m.graph is not None and not _overfits(m)]
        above = [m for m in closed if m.cm_given_um > self.dis.high]
        below = [m for m in closed if m.cm_given_um < self.dis.low]
        kept = [self.best, *(m for m in closed if agrees(self.dis, m.cm_given_um))]
        kept += sorted(above, key=lambda m: m.cm_given_um)[:1] + sorted(below, key=lambda m: -m.cm_given_um)[:1]
        limits = [found for m in kept if (found := m.interval(r, level)) is not None]
        return (min(low for low, _ in limits), max(high for _, high in limits)) if limits else None


def pairwise_dependence(table: SparseCounts) -> dict[tuple[int, int], float]:
    """How strongly each pair of variables depends: likelihood-ratio statistic per degree of freedom."""
    strength = {}
    for v, w in combinations(range(len(table.levels)), 2):
        pair = table.marginal((table.names[v], table.names[w]))
        alone = [np.bincount(pair.cells[:, k], pair.counts, pair.levels[k]) for k in (0, 1)]
        expected = alone[0][pair.cells[:, 0]] * alone[1][pair.cells[:, 1]] / pair.total
        statistic = 2.0 * float((pair.counts * np.log(pair.counts / expected)).sum())
        strength[v, w] = statistic / ((table.levels[v] - 1) * (table.levels[w] - 1))
    return strength


def choose_model(
    file: KeyFile,
    criterion: Criterion = "B2",
    *,
    max_models: int | None = None,
    limit: int = LIMIT,
    higher_order: bool = False,
    searched: Iterable[Graph] = (),
) -> ModelChoice:
    """Fit a path of models and prefer the smallest error.

    Parameters
    ----------
    max_models
        How many two-way models at most; interactions are then added several at a time.
    limit
        Of `support`: two-way models that would need more cells are left out.
    higher_order
        Go on to decomposable models with terms of any order. These can overfit, and then have a small criterion for the
        wrong reason. So the path is used as far as the first model whose criterion is not positive, and preferred are
        those that agree with the file's DIS, or else the one nearest to it. A model whose tau2 is half as large again
        when averaged over what its fit leaves open is not preferred: the saturated one expects a fraction of all claims
        to be right, whatever the file.
    searched
        Decomposable graphs over the varying key variables, found elsewhere, to try as well.

    Raises
    ------
    GemelError
        Without `higher_order`, where all two-way interactions have too many cells.

    Notes
    -----
    The two-way path adds interactions from the strongest pairwise dependence on: at most 1 + K (K - 1)/2 fits. More
    interactions have fewer cells of positive mean: where all of them have too many, no part of them is tried but those
    that are decomposable.

    References
    ----------
    .. [1] Skinner and Shlomo, JASA 103, 2008, section 4. doi:10.1198/016214507000001328
    """
    if criterion not in ("B1", "B2"):
        raise parameter("criterion", "a criterion is `B1` or `B2`", repr(criterion))
    table = file.table()
    margins = Margins(table)
    models, left_out = _two_way(file, margins, max_models, limit, higher_order)
    origins: list[Origin] = ["two-way path"] * len(models)
    usable = [True] * len(models)
    if higher_order:
        path = decomposable_path(table)
        if len(path) > _STEPS:
            path = [path[k] for k in np.unique(np.linspace(0, len(path) - 1, _STEPS).round().astype(int))]
        later: list[tuple[Origin, Graph]] = [("decomposable path", graph) for graph in path]
        later += [("search", graph) for graph in searched]
        known = {m.terms: k for k, m in enumerate(models)}
        crossed = False
        for origin, graph in later:
            found = log_linear_risk(file, cliques_of(graph), averaged=True, margins=margins)
            own = not crossed or origin == "search"
            crossed |= origin == "decomposable path" and getattr(found, criterion) <= 0.0
            if found.terms in known:
                models[known[found.terms]] = found  # the same model, averaged
                continue
            known[found.terms] = len(models)
            models.append(found)
            origins.append(origin)
            usable.append(own)
    dis = file_dis(file)
    chosen = _preferred(models, usable, criterion, dis if higher_order else None)
    if models[chosen].graph is None:
        models[chosen] = _precise(models[chosen], margins, file.fraction)
    return ModelChoice(tuple(models), chosen, criterion, dis, tuple(origins), left_out)


def _two_way(
    file: KeyFile, margins: Margins, max_models: int | None, limit: int, higher_order: bool
) -> tuple[list[LogLinearRisk], int]:
    table = margins.table
    names = [str(n) for n in table.names]
    strength = pairwise_dependence(table)
    order = sorted(strength, key=lambda pair: -strength[pair])
    steps = np.arange(len(order) + 1)
    if max_models is not None and len(steps) > max(2, max_models):
        steps = np.unique(np.linspace(0, len(order), max(2, max_models)).round().astype(int))
    found: list[LogLinearRisk] = []
    refused: GemelError | None = None
    left_out = 0
    for count in reversed(steps.tolist()):  # the most interactions have the fewest cells
        pairs = order[:count]
        if refused is not None and not _is_decomposable(pairs, names):
            left_out += 1
            continue
        terms = [(names[v], names[w]) for v, w in pairs]
        try:
            found.append(log_linear_risk(file, terms, margins=margins, limit=limit, precise=False))
        except GemelError as error:
            if error.code != ErrorCode.MEMORY:
                raise
            if not found and not higher_order:
                raise
            refused = error
            left_out += 1
    return found[::-1], left_out


def _is_decomposable(pairs: Sequence[tuple[int, int]], names: Sequence[str]) -> bool:
    inside = {v for pair in pairs for v in pair}
    alone = [(v,) for v in range(len(names)) if v not in inside]
    return graph_of([*pairs, *alone], names) is not None


def _overfits(model: LogLinearRisk) -> bool:
    return model.tau2 > _OPEN * model.plug_in[1]


def _precise(model: LogLinearRisk, margins: Margins, fraction: float) -> LogLinearRisk:
    generators = [margins.table.positions(term) for term in model.terms]
    return replace(model, precision=precision_of_fit(model.fit, generators, margins.table.levels, fraction))


def _preferred(models: Sequence[LogLinearRisk], usable: Sequence[bool], criterion: Criterion, dis: Dis | None) -> int:
    fine = [
        own and m.converged and not (dis is not None and _overfits(m)) for m, own in zip(models, usable, strict=True)
    ]
    errors = np.array([abs(getattr(m, criterion)) if ok else np.inf for m, ok in zip(models, fine, strict=True)])
    if dis is not None:
        away = np.array([distance(dis, m.cm_given_um) if ok else np.inf for m, ok in zip(models, fine, strict=True)])
        if np.isfinite(away).any():
            errors[away > away.min()] = np.inf
    return int(np.argmin(errors))
