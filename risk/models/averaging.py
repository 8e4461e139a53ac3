"""Averages over models by weight: what is inferred does not hang on one model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gemel.common.errors import parameter
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import Estimate, FittedModel, fit, same_variables
from gemel.risk.models.result import SearchResult
from gemel.risk.models.sampling import sample


class ModelAverage:
    """A mixture of fitted models over the same variables.

    Parameters
    ----------
    models
        At least one.
    weights
        Not negative, with sum 1.
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
        same_variables(models)
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

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The variables."""
        return self.models[0].names

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels of each variable."""
        return self.models[0].levels

    def log_probability(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Log joint probability of each given cell."""
        return self._mixed([model.log_probability(cells) for model in self.models])

    def log_marginal(self, records: ArrayLike) -> NDArray[np.float64]:
        """Log probability of what is known of each record, -1 standing for a missing value."""
        return self._mixed([model.log_marginal(records) for model in self.models])

    def _mixed(self, by_model: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.asarray(logsumexp(np.stack(by_model), axis=0, b=self.weights[:, None]))

    def probability(self, evidence: Mapping[Hashable, int]) -> float:
        """The probability that some variables have the given values."""
        return float(self.weights @ [model.probability(evidence) for model in self.models])

    def marginal(
        self, variables: Sequence[Hashable], evidence: Mapping[Hashable, int] | None = None
    ) -> NDArray[np.float64]:
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

    def sample(self, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Independent records, each from a model drawn by weight."""
        numbers = rng.multinomial(size, self.weights)
        drawn = [sample(model, int(number), rng) for model, number in zip(self.models, numbers, strict=True)]
        return np.asarray(rng.permutation(np.concatenate(drawn)))
