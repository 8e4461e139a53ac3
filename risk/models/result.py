"""What a search returns: models with weights, and diagnostics of the search.

All searches return the same type. What the weights mean differs: see `SearchResult`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.models.graphs import Graph

WORD = 62  # pairs held in one 64-bit word of a model's key


@dataclass(frozen=True)
class WeightedModel:
    graph: Graph
    weight: float
    log_score: float


@dataclass(frozen=True)
class SearchResult:
    """Models found, heaviest first.

    Attributes
    ----------
    keys : ndarray of int64, shape (n_models, n_words)
        Each model's edges, one bit for each pair of variables (see `pair_numbers`).
    weights : ndarray of float64, shape (n_models,)
        They sum to 1. Visit frequencies of MC3; of other searches the posterior probabilities among the models found.
    log_scores : ndarray of float64, shape (n_models,)
        Log marginal likelihoods.
    edge_inclusion : ndarray of float64, shape (n, n)
        The weight of the models that have each edge.
    unrecorded
        Share of the samples at models that found no place in the record (they count in `edge_inclusion`).
    proposed, accepted, refused
        Moves proposed, made, and rejected because they would leave the decomposable graphs.
    swap_rate
        Share of the proposed temperature swaps that were made, cold end first; empty without tempering.
    trace : ndarray of float64, shape (n_chains, n_traced)
        Log scores along each chain.
    r_hat
        Split R-hat of the trace; NaN without one. Values above 1.01 call for a longer run.
    edge_spread
        Greatest difference between two chains in an edge's inclusion; NaN with fewer than two chains.
    """

    method: str
    names: tuple[Hashable, ...]
    keys: Integers = field(repr=False)
    weights: Floats = field(repr=False)
    log_scores: Floats = field(repr=False)
    edge_inclusion: Floats = field(repr=False)
    visited: int
    unrecorded: float = 0.0
    proposed: int = 0
    accepted: int = 0
    refused: int = 0
    swap_rate: tuple[float, ...] = ()
    trace: Floats = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    r_hat: float = float("nan")
    edge_spread: float = float("nan")

    def __len__(self) -> int:
        return len(self.weights)

    def __iter__(self) -> Iterator[WeightedModel]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> WeightedModel:
        return WeightedModel(self.graph(i), float(self.weights[i]), float(self.log_scores[i]))

    def graph(self, i: int) -> Graph:
        return graph_of_key(self.keys[i], self.names)

    @property
    def best(self) -> WeightedModel:
        """The model of greatest marginal likelihood."""
        return self[int(np.argmax(self.log_scores))]

    @property
    def acceptance(self) -> float:
        """Share of the proposed moves that were made; NaN where none was proposed."""
        return self.accepted / self.proposed if self.proposed else float("nan")

    def heaviest(self, share: float = 0.99, at_most: int = 1000) -> list[WeightedModel]:
        """The fewest models that hold a share of the weight (no more than `at_most`), their weights made to
        sum to 1."""
        number = min(int(np.searchsorted(np.cumsum(self.weights), share)) + 1, at_most, len(self))
        total = float(self.weights[:number].sum())
        return [replace(self[i], weight=self[i].weight / total) for i in range(number)]


def make_result(
    method: str,
    names: tuple[Hashable, ...],
    keys: Integers,
    log_scores: Floats,
    weights: Floats | None = None,
    *,
    visited: int,
    edge_inclusion: Floats | None = None,
    **diagnostics: object,
) -> SearchResult:
    """A result with its models in order of weight, which is by their scores where none is given; without
    `edge_inclusion` it is computed from the models."""
    weights = normalised_weights(log_scores) if weights is None else weights
    if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or abs(weights.sum() - 1) > 1e-6:
        raise parameter(
            "weights",
            "the weights of models must not be negative and must sum to 1",
            f"{len(weights)} with sum {float(weights.sum()):.6g}",
        )
    order = np.lexsort((-log_scores, -weights))
    if edge_inclusion is None:
        edge_inclusion = inclusion_matrix(inclusion_counts(keys, weights, len(names)), len(names))
    return SearchResult(
        method,
        names,
        keys[order],
        weights[order] / weights.sum(),
        log_scores[order],
        edge_inclusion,
        visited,
        **diagnostics,  # type: ignore[arg-type]
    )


def normalised_weights(log_scores: Floats) -> Floats:
    """Probabilities proportional to the exponentials of log scores."""
    weights = np.exp(log_scores - log_scores.max())
    return np.asarray(weights / weights.sum())


def n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def pair_numbers(n: int) -> Integers:
    """The number of every pair, shape (n, n): (1, 0), (2, 0), (2, 1), (3, 0), ...; 0 on the diagonal."""
    v, w = (side.outer(np.arange(n), np.arange(n)) for side in (np.maximum, np.minimum))
    return np.where(v == w, 0, v * (v - 1) // 2 + w)


def words_for(n: int) -> int:
    """Words of a model's key over n variables."""
    return max(1, -(-n_pairs(n) // WORD))


def key_of(graph: Graph) -> Integers:
    """A graph's edges as bits, `WORD` to a word."""
    key = np.zeros(words_for(len(graph)), dtype=np.int64)
    for v, w in graph.edges:
        pair = n_pairs(w) + v
        key[pair // WORD] |= 1 << (pair % WORD)
    return key


def graph_of_key(key: Integers, names: tuple[Hashable, ...]) -> Graph:
    pairs = ((names[v], names[w]) for v in range(len(names)) for w in range(v))
    return Graph.from_edges(names, (pair for p, pair in enumerate(pairs) if int(key[p // WORD]) >> p % WORD & 1))


def inclusion_counts(keys: Integers, weights: Floats, n: int) -> Floats:
    """For each pair the weight of the keys that have it, shape (n_pairs,)."""
    return np.array(
        [weights[(keys[:, p // WORD] >> (p % WORD) & 1) == 1].sum() for p in range(n_pairs(n))], dtype=np.float64
    )


def inclusion_matrix(by_pair: Floats, n: int) -> Floats:
    """Values of pairs as a symmetric matrix with a zero diagonal."""
    if n < 2:
        return np.zeros((n, n))
    matrix = by_pair[pair_numbers(n)]
    np.fill_diagonal(matrix, 0.0)
    return matrix


def split_r_hat(trace: Floats) -> float:
    """Split R-hat of several chains' traces: each is cut in half, and the spread between halves is set against
    that within.

    `trace` (float64, shape (n_chains, n_traced)). Returns 1 for chains that agree; infinity for constant chains that
    differ; NaN for fewer than 4 values a chain.

    References
    ----------
    .. [1] Gelman et al., Bayesian Data Analysis, 3rd edition, section 11.4.
    """
    half = trace.shape[1] // 2
    if half < 2:
        return float("nan")
    halves = np.concatenate([trace[:, :half], trace[:, -half:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(half * halves.mean(axis=1).var(ddof=1))
    if within <= 1e-18:
        return 1.0 if between <= 1e-12 else float("inf")
    return float(np.sqrt(((half - 1) / half * within + between / half) / within))
