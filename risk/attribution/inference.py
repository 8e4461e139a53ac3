"""Attribution by a fitted joint model: what an intruder infers of each record's sensitive variable.

For each record, the model's distribution of the sensitive variable given the record's key values (the posterior) is
set beside its distribution without them (the prior). A posterior near 1 or 0, or far from the prior, is a risk even
where no class of the file is uniform.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from gemel.risk.arrays import Floats, Integers
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.queries import divergence_terms


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posterior of the sensitive variable for each record, beside its prior.

    `prior` (float64, shape (n_levels,)); `posterior` (float64, shape (n_records, n_levels)); `divergence` (float64,
    shape (n_records,)): Jensen-Shannon divergence of posterior from prior, in bits; `true` (int64, shape (n_records,)):
    the record's own level.
    """

    prior: Floats
    posterior: Floats
    divergence: Floats
    true: Integers

    @property
    def confidence(self) -> Floats:
        """Probability of the likeliest level, for each record."""
        return np.asarray(self.posterior.max(axis=1))

    @property
    def factor(self) -> Floats:
        """By how much the odds of the record's own level rose from prior to posterior (its Bayes factor)."""
        rows = np.arange(len(self.true))
        after, before = self.posterior[rows, self.true], self.prior[self.true]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((after / (1.0 - after)) / (before / (1.0 - before)))

    def claims(self, threshold: float) -> tuple[int, float | None]:
        """Records whose likeliest level reaches a confidence, and the share of those claims that is true."""
        made = self.confidence >= threshold
        right = self.posterior.argmax(axis=1) == self.true
        return int(made.sum()), float(right[made].mean()) if made.any() else None

    def ruled_out(self, threshold: float) -> int:
        """Records for which some level that the prior allows falls to a probability of at most `threshold`."""
        return int(((self.posterior <= threshold) & (self.prior > threshold)).any(axis=1).sum())


def beliefs(model: FittedModel, sensitive: str, keys: Sequence[str], values: Integers, true: Integers) -> Beliefs:
    """What an intruder with this model infers of records with these key values.

    `values` (int64, shape (n_records, n_keys)); `true` (int64, shape (n_records,)): the records' own levels, to judge
    the claims.
    """
    prior = model.marginal([sensitive])
    posterior = _conditional(model, sensitive, keys, values, prior)
    divergence = divergence_terms(posterior, np.broadcast_to(prior, posterior.shape)).sum(axis=1)
    return Beliefs(prior, posterior, divergence, true)


def _conditional(model: FittedModel, sensitive: str, keys: Sequence[str], values: Integers, prior: Floats) -> Floats:
    """P(sensitive | keys), one query for each different row; a row with probability 0 gets the prior."""
    if not keys:
        return np.tile(prior, (len(values), 1))
    rows, which = np.unique(values, axis=0, return_inverse=True)
    found = np.tile(prior, (len(rows), 1))
    for i, row in enumerate(rows):
        evidence: dict[Hashable, int] = dict(zip(keys, row.tolist(), strict=True))
        if model.probability(evidence) > 0:
            found[i] = model.marginal([sensitive], evidence)
    return np.asarray(found[which.reshape(-1)])
