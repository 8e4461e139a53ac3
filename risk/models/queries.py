"""Questions to models with parameters: samples, averages over models, divergences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats
from gemel.risk.models.counts import SparseCounts, distinct_rows
from gemel.risk.models.fitted import Estimate, FittedModel, fit
from gemel.risk.models.graphs import members
from gemel.risk.models.result import SearchResult


def sample(model: FittedModel, size: int, rng: np.random.Generator) -> Codes:
    """Independent records.

    Returns int32, shape (size, n_variables).

    O((size + rows) log(size + rows)) for each clique, rows being its cells of positive probability.
    """
    if size < 0:
        raise parameter("size", "must not be negative", str(size))
    records = np.zeros((size, len(model.levels)), dtype=np.int32)
    for c, parent in model.tree.walk():
        factor = model.cliques[c]
        separator = list(members(model.tree.cliques[c] & model.tree.cliques[parent])) if parent >= 0 else []
        own = factor.cells[:, factor.columns(separator)]
        both = np.concatenate([own, records[:, separator]])
        _, group = distinct_rows(both, [model.levels[v] for v in separator])
        order = np.argsort(group[: len(own)], kind="stable")
        sorted_group = group[: len(own)][order]
        cumulative = np.concatenate([[0.0], np.cumsum(factor.values[order])])
        low = np.searchsorted(sorted_group, group[len(own) :], side="left")
        high = np.searchsorted(sorted_group, group[len(own) :], side="right")
        target = cumulative[low] + rng.random(size) * (cumulative[high] - cumulative[low])
        row = np.clip(np.searchsorted(cumulative, target, side="right") - 1, low, high - 1)
        records[:, factor.variables] = factor.cells[order[row]]
    return records


class ModelAverage:
    """A mixture of fitted models over the same variables.

    `weights`: not negative, with sum 1.
    """

    def __init__(self, models: Sequence[FittedModel], weights: ArrayLike) -> None:
        given = np.asarray(weights, dtype=np.float64)
        if not models or given.shape != (len(models),):
            raise parameter(
                "weights",
                "there must be one weight for each of at least one model",
                f"{given.shape} for {len(models)} models",
            )
        if not np.isfinite(given).all() or (given < 0).any() or abs(given.sum() - 1) > 1e-6:
            raise parameter(
                "weights",
                "weights must not be negative and must sum to 1",
                f"sum {float(given.sum()):.6g}, minimum {float(given.min()):.6g}",
                "divide them by their sum",
            )
        if any(m.names != models[0].names or m.levels != models[0].levels for m in models):
            raise parameter("models", "the models must have the same variables with the same levels")
        self.models, self.weights = tuple(models), given / given.sum()

    @classmethod
    def of(
        cls,
        result: SearchResult,
        counts: SparseCounts,
        estimate: Estimate = "maximum likelihood",
        *,
        precision: float = 1.0,
        share: float = 0.99,
        at_most: int = 1000,
    ) -> ModelAverage:
        """Fit the heaviest models of a search (those that hold `share` of the weight) and average them."""
        kept = result.heaviest(share, at_most)
        models = [fit(counts, model.graph, estimate, precision) for model in kept]
        return cls(models, [model.weight for model in kept])

    def marginal(self, variables: Sequence[Hashable], evidence: Mapping[Hashable, int] | None = None) -> Floats:
        """Probabilities of some variables given others: evidence also shifts weight to the models that expected it."""
        given = evidence or {}
        likelihoods = self.weights * [model.probability(given) for model in self.models]
        if not likelihoods.sum() > 0:
            raise parameter("evidence", "the evidence is impossible under every model", "probability 0")
        weights = likelihoods / likelihoods.sum()
        tables = [
            weight * model.marginal(variables, given)
            for model, weight in zip(self.models, weights, strict=True)
            if weight > 0
        ]
        return np.asarray(np.sum(tables, axis=0))


# Jensen-Shannon divergence, base 2, between two models.
#
#     JSD(p, q) = [KL(p || m) + KL(q || m)] / 2,   m = (p + q) / 2,   0 for equal distributions, 1 for disjoint ones.

CHUNK = 2**16


@dataclass(frozen=True)
class Divergence:
    """A divergence in bits, with its standard error: 0 where it is exact."""

    bits: float
    standard_error: float = 0.0


def jensen_shannon(
    p: FittedModel,
    q: FittedModel,
    *,
    limit: int = 2**22,
    rng: np.random.Generator | None = None,
    samples: int = 100_000,
) -> Divergence:
    """Jensen-Shannon divergence of two models, in bits.

    `limit`: up to this number of cells the sum over all of them is made, a chunk at a time; `rng`, `samples`: above it:
    so many records are drawn from each model, and the standard error is given.

    Refused: the variables differ; the table is larger than the limit and there is no generator.
    """
    if p.names != q.names or p.levels != q.levels:
        raise parameter("jensen_shannon", "both must have the same variables with the same levels")
    size = int(np.prod([int(n) for n in p.levels], dtype=object))
    if size <= limit:
        parts = []
        for start in range(0, size, CHUNK):
            cells = np.stack(np.unravel_index(np.arange(start, min(start + CHUNK, size)), p.levels), axis=1)
            parts.append(divergence_terms(np.exp(p.log_probability(cells)), np.exp(q.log_probability(cells))).sum())
        return Divergence(float(np.clip(np.sum(parts), 0, 1)))
    if rng is None:
        raise parameter(
            "jensen_shannon",
            "the table is too large for an exact sum",
            f"{size} cells",
            "give a generator to estimate the divergence by sampling",
        )
    first, second = (_log_ratio(a, b, samples, rng) for a, b in ((p, q), (q, p)))
    error = float(np.sqrt(first.var(ddof=1) + second.var(ddof=1)) / (2 * np.sqrt(samples)))
    return Divergence(float((first.mean() + second.mean()) / 2), error)


def divergence_terms(p: Floats, q: Floats) -> Floats:
    """What each cell of two distributions of one shape adds to their divergence, in bits."""
    middle = (p + q) / 2
    terms = np.zeros_like(middle)
    for side in (p, q):
        some = (side > 0) & (middle > 0)  # half of the least number is 0
        terms[some] += side[some] * np.log2(side[some] / middle[some]) / 2
    return terms


def _log_ratio(p: FittedModel, q: FittedModel, samples: int, rng: np.random.Generator) -> Floats:
    """log2 of p over the middle, at records drawn from p."""
    cells = sample(p, samples, rng)
    return np.asarray(1 - np.log2(1 + np.exp(q.log_probability(cells) - p.log_probability(cells))))
