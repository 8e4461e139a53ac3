"""Attribution by a fitted joint model: what an intruder comes to believe of each record's sensitive variable.

For each record, the model's distribution of the sensitive variable given the record's key values (the posterior) is
set beside its distribution without them (the prior). A posterior near 1 or 0, or far from the prior, is a risk even
where no class of the file is uniform. Any model that answers for a conditional distribution will do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.attribution.tables import Table, Variable, axis_of
from tryst.risk.attribution.utility import jensen_shannon
from tryst.risk.models import FittedModel

Floats = NDArray[np.float64]


class JointModel(Protocol):
    """A joint distribution over named variables."""

    def conditional(self, sensitive: str, keys: Sequence[str], values: NDArray[np.int64]) -> Floats:
        """P(sensitive | keys = values), shape (n_rows, n_levels), for rows of level numbers, shape (n_rows, n_keys)."""
        ...


@dataclass(frozen=True, eq=False)
class TableModel:
    """A joint distribution held as an array with an axis for each variable.

    Parameters
    ----------
    variables
        One for each axis.
    probabilities : ndarray of float64
        Not negative, sum 1.
    """

    variables: tuple[Variable, ...]
    probabilities: Floats

    def __post_init__(self) -> None:
        p = np.asarray(self.probabilities, dtype=float)
        if p.shape != tuple(v.size for v in self.variables) or (p < 0).any() or not np.isclose(p.sum(), 1.0):
            raise TrystError(ErrorCode.PARAMETER, "a joint model needs one probability for each cell, summing to 1")

    @classmethod
    def fitted(cls, table: Table, precision: float = 0.0) -> TableModel:
        """Shares of a table's counts, with `precision` prior records spread evenly over all cells."""
        counts = table.counts + precision / table.counts.size
        if counts.sum() <= 0:
            raise TrystError(ErrorCode.PARAMETER, "an empty table has no shares", remedy="give a prior precision")
        return cls(table.variables, counts / counts.sum())

    def conditional(self, sensitive: str, keys: Sequence[str], values: NDArray[np.int64]) -> Floats:
        """See `JointModel`. A combination of key values with probability 0 gets the prior."""
        axes = [axis_of(self.variables, n) for n in keys]
        own = axis_of(self.variables, sensitive)
        gone = tuple(a for a in range(len(self.variables)) if a not in axes and a != own)
        kept = self.probabilities.sum(axis=gone)
        left = [a for a in range(len(self.variables)) if a not in gone]
        joint = np.transpose(kept, [left.index(a) for a in (*axes, own)])
        rows = joint[tuple(values.T)] if axes else np.broadcast_to(joint, (len(values), joint.shape[-1]))
        whole = rows.sum(axis=1, keepdims=True)
        prior = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
        return np.asarray(np.where(whole > 0, rows / np.where(whole > 0, whole, 1.0), prior))


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A decomposable model (`risk.models.FittedModel`) as a `JointModel`: inference on its junction tree.

    Parameters
    ----------
    fitted
        The model; the full joint table is never formed.
    """

    fitted: FittedModel

    def conditional(self, sensitive: str, keys: Sequence[str], values: NDArray[np.int64]) -> Floats:
        """See `JointModel`. One query for each different row; a row with probability 0 gets the prior."""
        if not keys:
            return np.tile(self.fitted.marginal([sensitive]), (len(values), 1))
        rows, which = np.unique(values, axis=0, return_inverse=True)
        prior = self.fitted.marginal([sensitive])
        found = np.tile(prior, (len(rows), 1))
        for i, row in enumerate(rows):
            evidence: dict[Hashable, int] = dict(zip(keys, row.tolist(), strict=True))
            if self.fitted.probability(evidence) > 0:
                found[i] = self.fitted.marginal([sensitive], evidence)
        return np.asarray(found[which.reshape(-1)])


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posterior of the sensitive variable for each record, beside its prior.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_levels,)
    posterior : ndarray of float64, shape (n_records, n_levels)
    divergence : ndarray of float64, shape (n_records,)
        Jensen-Shannon divergence of posterior from prior, in bits.
    guess : ndarray of int64, shape (n_records,)
        The likeliest level.
    true : ndarray of int64, shape (n_records,), or None
        The record's own level.
    """

    prior: Floats
    posterior: Floats
    divergence: Floats
    guess: NDArray[np.int64]
    true: NDArray[np.int64] | None

    @property
    def confidence(self) -> Floats:
        """Probability of the likeliest level, for each record."""
        return np.asarray(self.posterior.max(axis=1))

    @property
    def factor(self) -> Floats:
        """By how much the odds of the record's own level rose from prior to posterior (its Bayes factor)."""
        if self.true is None:
            raise TrystError(ErrorCode.PARAMETER, "the Bayes factor of the true level needs the true levels")
        rows = np.arange(len(self.true))
        after, before = self.posterior[rows, self.true], self.prior[self.true]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((after / (1.0 - after)) / (before / (1.0 - before)))

    def claims(self, threshold: float) -> tuple[int, float | None]:
        """Records whose likeliest level reaches a confidence, and the share of those claims that is true."""
        made = self.confidence >= threshold
        if self.true is None or not made.any():
            return int(made.sum()), None
        return int(made.sum()), float((self.guess == self.true)[made].mean())

    def ruled_out(self, threshold: float) -> int:
        """Records for which some level that the prior allows falls to a probability of at most `threshold`."""
        return int(((self.posterior <= threshold) & (self.prior > threshold)).any(axis=1).sum())


def beliefs(
    model: JointModel,
    sensitive: str,
    keys: Sequence[str],
    values: NDArray[np.int64],
    true: NDArray[np.int64] | None = None,
) -> Beliefs:
    """What an intruder with this model believes of records with these key values.

    Parameters
    ----------
    model
        Fitted to whatever the intruder has.
    sensitive
        The sensitive variable.
    keys
        The key variables.
    values : ndarray of int64, shape (n_records, n_keys)
    true : ndarray of int64, shape (n_records,)
        The records' own levels, to judge the claims.
    """
    posterior = model.conditional(sensitive, keys, values)
    prior = model.conditional(sensitive, (), np.empty((1, 0), dtype=np.int64))[0]
    divergence = jensen_shannon(posterior, np.broadcast_to(prior, posterior.shape))
    return Beliefs(prior, posterior, divergence, posterior.argmax(axis=1).astype(np.int64), true)


def model_divergence(first: TableModel, second: TableModel) -> float:
    """Jensen-Shannon divergence in bits between two joint distributions (SE17's measure of an intruder's model)."""
    if first.variables != second.variables:
        raise TrystError(ErrorCode.PARAMETER, "the models must have the same variables, in the same order")
    return float(jensen_shannon(first.probabilities.ravel(), second.probabilities.ravel()))
