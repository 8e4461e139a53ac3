"""Decomposable models under a gamma prior on the precision of their hyper-Dirichlet prior (Tarantola 2004).

A gamma prior on the total precision of the hyper-Dirichlet prior, on a grid, and tables scored at all of it at once.

The grid is regular in the logarithm of the precision, where the trapezoid rule of a smooth function is nearly exact
once the step is small beside what is integrated; where data determine the precision more closely than a step, the prior
is the gamma's restricted to the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logsumexp

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.models import chain_kernels as kernels
from gemel.risk.models.chains import Chain
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.defaults import EXACT_TO
from gemel.risk.models.enumeration import decomposable_keys, score_all
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.mc3_search import check_at_least, pooled
from gemel.risk.models.result import SearchResult, graph_of_key, make_result
from gemel.risk.models.scores import HyperDirichlet, count_table, data_arrays, work_arrays

MAX_POINTS = 2_000


@dataclass(frozen=True)
class GammaPrior:
    """A gamma prior on the total prior precision alpha, held to a grid.

    `shape`, `rate`: mean shape / rate; 1 and 1 have the mean that is otherwise the fixed precision; `lowest`,
    `highest`: first and last point of the grid. Posterior probability at either end calls for a wider one.
    """

    shape: float = 1.0
    rate: float = 1.0
    lowest: float = 1e-3
    highest: float = 1e4
    per_decade: int = 20

    def __post_init__(self) -> None:
        for name in ("shape", "rate", "lowest"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise parameter(name, "must be positive and finite", f"{value:g}")
        if not (self.lowest < self.highest < math.inf):
            raise parameter(
                "highest", "the grid must end above its start", f"{self.highest:g}, with lowest {self.lowest:g}"
            )
        if self.per_decade < 1 or self._points > MAX_POINTS:
            raise parameter(
                "per_decade",
                f"the grid must have at least 1 point a decade and {MAX_POINTS:,} in all at most",
                str(self.per_decade),
            )

    @property
    def _points(self) -> int:
        return 1 + math.ceil(self.per_decade * math.log10(self.highest / self.lowest))

    def grid(self) -> tuple[Floats, Floats]:
        """Precisions, ascending, and the logarithms of their prior probabilities; both of shape (n_points,)."""
        values = np.geomspace(self.lowest, self.highest, self._points)
        # The density of log alpha is that of alpha times alpha; constants go with the sum.
        logs = self.shape * np.log(values) - self.rate * values
        return values, np.asarray(logs - logsumexp(logs))


@dataclass(eq=False)
class GridScores:
    """Log marginal likelihoods at several precisions: a table is counted once for all of them.

    `precisions` (float64, shape (n_points,)).

    A table enters only by how many of its cells hold each count, so a new one costs O(occupied cells * its variables)
    and then O(different counts * n_points).
    """

    counts: SparseCounts
    precisions: Floats
    _tables: dict[int, Floats] = field(default_factory=dict, repr=False)
    _compiled: dict[int, HyperDirichlet] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._data = data_arrays(self.counts.cells, self.counts.counts, self.counts.levels, 1.0)
        self._work = work_arrays(len(self.counts.counts), 1024)

    def table(self, variables: int) -> Floats:
        """Of the table over a set of variables, shape (n_points,)."""
        if variables not in self._tables:
            self._tables[variables] = self._scored(variables)
        return self._tables[variables]

    def at_point(self, k: int) -> HyperDirichlet:
        """The compiled scores at one precision, with a cache of their own."""
        if k not in self._compiled:
            self._compiled[k] = HyperDirichlet(self.counts, float(self.precisions[k]))
        return self._compiled[k]

    def _scored(self, variables: int) -> Floats:
        if variables == 0:
            return np.zeros(len(self.precisions))
        used, declared = count_table(self._data, self._work, variables)
        sums = self._work.sums[:used]
        counts, cells = np.unique(sums[sums > 0], return_counts=True)
        prior = self.precisions[:, None] / declared
        rising = gammaln(prior + counts) - gammaln(prior)
        total = float(counts @ cells)
        return np.asarray(rising @ cells + gammaln(self.precisions) - gammaln(self.precisions + total))

    def graph(self, graph: Graph) -> Floats:
        """Of a decomposable model, shape (n_points,)."""
        tree = JunctionTree.of(graph)
        score = np.zeros(len(self.precisions))
        for clique in tree.cliques:
            score += self.table(clique)
        for separator in tree.separators:
            score -= self.table(separator)
        return score


# The thesis tried this to help MC3 mix and gave it up: it "negates the speed ups that can be achieved by caching".
# On a grid of precisions caches stay: every precision that the chain is at has its own. The chain alternates moves
# between graphs at a fixed precision with a draw of the precision given the graph, from its exact conditional
# distribution
#
# .. math:: P(\alpha_k | G, x) \propto P(\alpha_k) \, P(x | G, \alpha_k),
#
# so its target is the uniform prior over graphs times the gamma prior times the marginal likelihood.
#
# References
# ----------
# .. [1] Tarantola, MCMC model determination for discrete graphical models, Statistical Modelling 4, 2004.

END_SHARE = 1e-3  # posterior probability at an end of the grid from which the grid is too short


@dataclass(frozen=True, eq=False)
class PrecisionSearch:
    """Models and precisions by their joint posterior.

    `search`: the models, their weights summed over the precision; log scores are of the likelihood averaged over its
    prior; `precisions`, `posterior` (float64, shape (n_points,)): the grid, ascending, and its posterior probabilities.
    """

    search: SearchResult
    prior: GammaPrior
    precisions: Floats = field(repr=False)
    posterior: Floats = field(repr=False)

    @property
    def mean(self) -> float:
        return float(self.precisions @ self.posterior)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Points of the grid between which the precision lies with at least this posterior probability."""
        tail = (1 - level) / 2
        below = np.cumsum(self.posterior)
        low = int(np.searchsorted(below, tail, side="right"))
        high = int(np.searchsorted(below, 1 - tail - 1e-12))
        return float(self.precisions[low]), float(self.precisions[min(high, len(below) - 1)])

    @property
    def grid_too_short(self) -> bool:
        """Whether an end of the grid has posterior probability."""
        return bool(max(self.posterior[0], self.posterior[-1]) > END_SHARE)


def search_precision(
    counts: SparseCounts,
    rng: np.random.Generator,
    prior: GammaPrior | None = None,
    *,
    moves: int = 250_000,
    chains: int = 4,
) -> PrecisionSearch:
    """The joint posterior of models and precision: exact to six variables, by MC3 above (`moves`, `chains`)."""
    prior = GammaPrior() if prior is None else prior
    if len(counts.names) <= EXACT_TO:
        return enumerate_with_precision(counts, prior)
    return mc3_with_precision(counts, rng, prior, moves=moves, chains=chains)


def enumerate_with_precision(counts: SparseCounts, prior: GammaPrior) -> PrecisionSearch:
    """The exact joint posterior over all decomposable models (to 7 variables) and the grid.

    Each of 2**n tables is counted once, and every graph scored at every point of the grid.
    """
    n = len(counts.names)
    keys = decomposable_keys(n)
    precisions, log_prior = prior.grid()
    scores = GridScores(counts, precisions)
    tables = np.array([scores.table(variables) for variables in range(1 << n)])
    joint = np.array([score_all(n, keys, tables[:, k].copy()) for k in range(len(precisions))]) + log_prior[:, None]
    log_scores = logsumexp(joint, axis=0)
    weights = np.exp(log_scores - logsumexp(log_scores))
    posterior = np.exp(logsumexp(joint, axis=1) - logsumexp(joint))
    found = make_result(
        "exact enumeration",
        counts.names,
        keys[:, None],
        log_scores,
        weights / weights.sum(),
        visited=len(keys),
    )
    return PrecisionSearch(found, prior, precisions, posterior / posterior.sum())


def mc3_with_precision(
    counts: SparseCounts,
    rng: np.random.Generator,
    prior: GammaPrior,
    *,
    moves: int = 250_000,
    chains: int = 4,
    burn_in: int | None = None,
    thin: int = 1,
    stretch: int = 100,
    double_share: float = 0.3,
    model_limit: int = 1 << 20,
) -> PrecisionSearch:
    """Sample models and precisions from their joint posterior.

    Parameters
    ----------
    moves, burn_in, thin
        Metropolis-Hastings steps of each chain, steps before sampling (by default a tenth of them), and which steps are
        samples; all are rounded up to whole stretches.
    chains
        Independent chains, from the graph without edges; all but the first first walk without regard to the data.
    stretch
        Steps between draws of the precision; a multiple of `thin`.
    double_share
        Share of the moves that change two edges at one node; 0 for the thesis's single-edge moves.
    model_limit
        Bounds the record of models of each chain at each precision.

    Returns
    -------
    PrecisionSearch
        Weights are visit frequencies over all chains; the trace is the log of prior times likelihood at each draw.
    """
    burn_in = moves // 10 if burn_in is None else burn_in
    check_at_least(1, moves=moves, chains=chains, thin=thin)
    check_at_least(0, burn_in=burn_in)
    if stretch < 1 or stretch % thin:
        raise parameter("stretch", f"must be a multiple of thin, {thin}", str(stretch))
    precisions, log_prior = prior.grid()
    scores = GridScores(counts, precisions)
    start = int(np.argmin(np.abs(np.log(precisions * prior.rate / prior.shape))))
    ran = []
    for number in range(chains):
        chain = _PrecisionChain(scores, log_prior, start, rng, double_share, model_limit)
        if number:
            chain.at_point(start).disperse(2 * len(counts.names))
        for _ in range(-(-burn_in // stretch)):
            chain.turn(stretch, thin, recording=False)
        chain.begin()
        for _ in range(-(-moves // stretch)):
            chain.turn(stretch, thin, recording=True)
        ran.append(chain)

    def log_scores(keys: Integers) -> Floats:
        graphs = [graph_of_key(key, counts.names) for key in keys]
        return np.array([logsumexp(log_prior + scores.graph(graph)) for graph in graphs])

    found = pooled([list(chain.at.values()) for chain in ran], np.array([chain.trace for chain in ran]), log_scores)
    drawn = np.sum([chain.drawn for chain in ran], axis=0)
    return PrecisionSearch(found, prior, precisions, drawn / drawn.sum())


class _PrecisionChain:
    """One chain: a compiled one for each precision it was at, of which one at a time has the graph."""

    def __init__(
        self,
        scores: GridScores,
        log_prior: Floats,
        start: int,
        rng: np.random.Generator,
        double_share: float,
        model_limit: int,
    ) -> None:
        self.scores, self.log_prior, self.rng, self.k = scores, log_prior, rng, start
        self.double_share, self.model_limit = double_share, model_limit
        self.at: dict[int, Chain] = {}
        self.drawn = np.zeros(len(log_prior))
        self.trace: list[float] = []

    def at_point(self, k: int) -> Chain:
        if k not in self.at:
            self.at[k] = Chain(
                self.scores.at_point(k),
                empty_graph(self.scores.counts.names),
                self.rng,
                double_share=self.double_share,
                model_limit=self.model_limit,
            )
        return self.at[k]

    def begin(self) -> None:
        """Forget what burn-in tallied."""
        self.drawn[:] = 0
        self.trace.clear()
        for chain in self.at.values():
            chain.ladder.tally[:] = 0

    def turn(self, moves: int, thin: int, recording: bool) -> None:
        """Move between graphs at the present precision, then draw another given the graph."""
        chain = self.at_point(self.k)
        chain.run(moves, thin=thin, recording=recording)
        self.drawn[self.k] += moves
        vector = self.scores.graph(chain.graph)
        joint = self.log_prior + vector
        if recording:
            self.trace.append(float(joint[self.k]))
        chances = np.exp(joint - joint.max())
        k = int(self.rng.choice(len(chances), p=chances / chances.sum()))
        if k != self.k:
            later = self.at_point(k)
            later.ladder.graphs[0] = chain.ladder.graphs[0]
            kernels.renew(later.record, later.ladder.graphs[0])
            self.k, chain = k, later
        chain.ladder.scores[0] = vector[k]
