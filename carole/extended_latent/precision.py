r"""The prior precision of the value model, chosen by how well it judges pairs that it was not estimated from.

With g the probability of a pair's agreement that it is a match, its values have the probability
`g P(values | M) + (1 - g) P(values | U)`, so that a model of the values is worth

.. math:: \sum_{pairs} \log(1 - g + g \, BF)

nats on pairs held out: the likelihood that the extended step's EM maximises, as a ratio to that of a model in which
values tell nothing. The mean probability of a held-out match, by which precisions are usually chosen, is no guide here:
most of it is each file's own distribution, which every precision fits, and the weighted pairs are diluted with
non-matches, so that it is best where the search finds least.

The likelihood is flat and uncertain, and too little prior loses more links than too much. So of all precisions from the
best upwards the largest is taken whose likelihood is within a standard error of the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tryst.carole.extended_latent.bayes_factor import ValueModel
from tryst.carole.extended_latent.compiled import BayesFactors
from tryst.carole.extended_latent.pairs import WeightedPairs
from tryst.carole.extended_latent.variables import Values
from tryst.risk.models.fitted import FittedModel

PRECISIONS = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Those tried. Between neighbours the area under precision and recall moves by less than its uncertainty."""

UNDECIDED = 64.0
"""Where there is too little to hold out: of those tried, the one that was never far from the best."""

FOLDS = 4
MIN_MATCHES = 10.0
"""Expected matches below which nothing is held out."""

MAX_COMPLETIONS = 2**18
"""Completions of the pairs that the choice is made with: of more, those of some of Alice's records."""

MIN_ROWS = 200
"""Of Alice's records that are taken, however many completions their pairs have."""

JointModels = Callable[[WeightedPairs, Sequence[float]], Iterator[FittedModel]]
"""Estimates the joint distribution from pairs, with each of some precisions."""


@dataclass(frozen=True)
class PrecisionChoice:
    """The precision chosen, and what each was worth.

    Attributes
    ----------
    precision
        The one chosen.
    tried
        Precisions, ascending; empty where there was too little to hold out.
    log_likelihood : ndarray of float64, shape (n_tried,)
        Of the values of the pairs held out, in nats above that of a model in which values tell nothing.
    standard_error : ndarray of float64, shape (n_tried,)
        Of the difference from the best, Alice's records taken as independent.
    """

    precision: float
    tried: tuple[float, ...] = ()
    log_likelihood: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    standard_error: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)


def choose_precision(values: Values, weighted: WeightedPairs, joint_models: JointModels, seed: int) -> PrecisionChoice:
    """Choose the prior precision from the pairs that the value model is estimated from.

    Parameters
    ----------
    values : Values
        With at least one variable in the joint model.
    weighted : WeightedPairs
        With weights of at most 1.
    joint_models : callable
        Called with the pairs outside of each fold and all precisions.
    seed : int
        Of the folds and, where there are too many pairs, of the records taken.

    Returns
    -------
    PrecisionChoice
        `UNDECIDED` where fewer than `MIN_MATCHES` are expected or fewer of Alice's records have pairs than there are
        folds.

    Notes
    -----
    `FOLDS` estimations with each of `PRECISIONS`, of three quarters of the pairs; the completion of missing keys, which
    costs most of an estimation, is shared by all precisions. Keys that stand alone do not depend on it and are left
    out.
    """
    lacking = values.evidence(weighted.row_a, weighted.row_b)[:, list(values.model_columns)] < 0
    used = np.flatnonzero(~lacking.all(axis=1) & (weighted.weight > 0))
    completions = np.where(lacking[used], values.model_levels, 1.0).prod(axis=1)
    rows, member = np.unique(weighted.row_a[used], return_inverse=True)
    rank = np.random.default_rng(seed).permutation(len(rows))[member]
    cost = np.cumsum(np.bincount(rank, completions, minlength=len(rows)))
    taken = rank < max(int(np.searchsorted(cost, MAX_COMPLETIONS, side="right")), MIN_ROWS)
    used, rank = used[taken], rank[taken]
    pairs = WeightedPairs(weighted.row_a[used], weighted.row_b[used], weighted.weight[used])
    n_rows = int(rank.max(initial=-1)) + 1
    if pairs.total < MIN_MATCHES or n_rows < FOLDS:
        return PrecisionChoice(UNDECIDED)
    worth = np.zeros((len(PRECISIONS), n_rows))
    joint_values = _joint_part(values)
    for fold in range(FOLDS):
        inside = rank % FOLDS == fold
        outside = WeightedPairs(pairs.row_a[~inside], pairs.row_b[~inside], pairs.weight[~inside])
        for i, model in enumerate(joint_models(outside, PRECISIONS)):
            factors = BayesFactors(ValueModel.of(model), joint_values)
            log_factor = factors.log(pairs.row_a[inside], pairs.row_b[inside])
            worth[i] += np.bincount(rank[inside], log_mixture(pairs.weight[inside], log_factor), minlength=n_rows)
    return chosen(PRECISIONS, worth)


def log_mixture(g: NDArray[np.float64], log_factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(1 - g + g BF) of each pair, by its match probability and its natural log Bayes factor."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log1p(-g), np.log(g) + log_factor))


def chosen(tried: Sequence[float], worth: NDArray[np.float64]) -> PrecisionChoice:
    """The largest precision, from the best upwards, that is within a standard error of the best.

    Parameters
    ----------
    tried : sequence of float
        Ascending.
    worth : ndarray of float64, shape (n_tried, n_rows)
        Held-out log likelihood of the pairs of each of Alice's records.
    """
    total = worth.sum(axis=1)
    best = int(total.argmax())
    error = (worth - worth[best]).std(axis=1) * np.sqrt(worth.shape[1])
    near = np.flatnonzero((total[best] - total <= error) & (np.arange(len(tried)) >= best))
    return PrecisionChoice(tried[int(near[-1])], tuple(tried), total, error)


def _joint_part(values: Values) -> Values:
    """The same files without the keys that stand alone."""
    columns = list(values.model_columns)
    return Values(
        tuple(values.variables[v] for v in columns),
        np.ascontiguousarray(values.codes_a[:, columns]),
        np.ascontiguousarray(values.codes_b[:, columns]),
    )
