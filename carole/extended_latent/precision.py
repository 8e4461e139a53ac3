r"""The prior precision of the value model, chosen by how well it orders pairs that it was not estimated from.

With g the probability of a pair's agreement that it is a match, its values have the probability
`g P(values | M) + (1 - g) P(values | U)`, so that a model of the values is worth

.. math:: \sum_{pairs} \log(1 - g + g \, BF^t / Z_t)

nats on pairs held out: with t = 1 and Z = 1 the likelihood that the extended step's EM maximises, as a ratio to that of
values without meaning. More precision makes all Bayes factors weaker and lets the search find more dependences; the
first changes no order of pairs, and would decide. So the factors are calibrated first: t is the power that is best for
this precision, and Z_t the mean of BF^t among strangers, drawn as Alice's record of a pair with another record of Bob's
that agrees with it on the same keys and no others.

The mean probability of a held-out match, by which precisions are usually chosen, is no guide here: it is mainly each
file's own distribution, and non-matches among the weighted pairs dilute the rest. `docs/extended-latent.md` compares
the criteria.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemel.carole.extended_latent.bayes_factor import ValueModel
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.variables import Values, WeightedPairs
from gemel.common.arrays import F64, I32, Flags
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.fitted import FittedModel

PRECISIONS = (1.0, 4.0, 16.0, 64.0, 256.0)

UNDECIDED = 64.0
"""Where there is too little to hold out: near the best on the files of Smith and Elliot."""

FOLDS = 4
STRANGERS = 8
"""Drawn for each pair."""

POWERS = 2.0 ** np.arange(-1.5, 2.1, 0.5)
"""Of the Bayes factors, among which the best is taken."""

MIN_MATCHES = 10.0
"""Expected matches below which nothing is held out."""

MAX_COMPLETIONS = 2**17
"""Completions of the pairs that the choice is made with: of more, those of some of Alice's records."""

MIN_ROWS = 200
"""Of Alice's records that are taken, however many completions their pairs have."""

JointModels = Callable[[WeightedPairs, Sequence[float]], Iterator[FittedModel]]
"""Estimates the joint distribution from pairs, with each of some precisions."""


@dataclass(frozen=True)
class PrecisionChoice:
    """The precision chosen, and what each was worth.

    `tried`: precisions, ascending, without those whose tables do not fit; empty where there was too little to hold out;
    `worth` (float64, shape (n_tried,)): log likelihood of the values of the pairs held out, in nats above that of
    values without meaning.
    """

    precision: float
    tried: tuple[float, ...] = ()
    worth: F64 = field(default_factory=lambda: np.zeros(0), repr=False)


def choose_precision(values: Values, weighted: WeightedPairs, joint_models: JointModels, seed: int) -> PrecisionChoice:
    """Choose the prior precision from the pairs that the value model is estimated from.

    `FOLDS` estimations with each of `PRECISIONS`, of three quarters of the pairs; the completion of missing keys is
    shared by all precisions. Folds are of Alice's records. Keys that stand alone do not depend on the precision and are
    left out.
    """
    rng = np.random.default_rng(seed)
    values = _joint_part(values)
    lacking = values.evidence(weighted.row_a, weighted.row_b) < 0
    used = np.flatnonzero(~lacking.all(axis=1) & (weighted.weight > 0))
    completions = np.where(lacking[used], values.model_levels, 1.0).prod(axis=1)
    rows, member = np.unique(weighted.row_a[used], return_inverse=True)
    rank = rng.permutation(len(rows))[member]
    cost = np.cumsum(np.bincount(rank, completions, minlength=len(rows)))
    taken = rank < max(int(np.searchsorted(cost, MAX_COMPLETIONS, side="right")), MIN_ROWS)
    used, rank = used[taken], rank[taken]
    pairs = weighted.among(used)
    if pairs.total < MIN_MATCHES or int(rank.max(initial=-1)) + 1 < FOLDS:
        return PrecisionChoice(UNDECIDED)
    row_b, valid = strangers(values, pairs, rng)
    if not valid.any():
        return PrecisionChoice(UNDECIDED)
    log_factor = np.zeros((len(PRECISIONS), len(used)))
    others = np.zeros((len(PRECISIONS), *valid.shape))
    usable = len(PRECISIONS)
    for fold in range(FOLDS):
        inside = rank % FOLDS == fold
        i = 0
        try:
            for model in joint_models(pairs.among(~inside), PRECISIONS[:usable]):
                factors = BayesFactors(ValueModel.of(model), values)
                log_factor[i, inside] = factors.log(pairs.row_a[inside], pairs.row_b[inside])
                repeated = np.repeat(pairs.row_a[inside], STRANGERS)
                others[i, inside] = factors.log(repeated, row_b[inside].ravel()).reshape(-1, STRANGERS)
                i += 1
        except GemelError as error:
            if error.code is not ErrorCode.MEMORY or i == 0:
                raise
            # Graphs grow with the precision: tables that do not fit at this one will not at a larger one.
            usable = i
    log_factor, others = log_factor[:usable], others[:usable]
    worth = np.array([calibrated(pairs.weight, *both, valid) for both in zip(log_factor, others, strict=True)])
    best = int(np.flatnonzero(worth == worth.max())[-1])
    return PrecisionChoice(PRECISIONS[best], PRECISIONS[:usable], worth)


def calibrated(g: F64, log_factor: F64, others: F64, valid: Flags) -> float:
    """Greatest over t of the sum of log(1 - g + g BF^t / Z_t).

    `g` (float64, shape (n_pairs,)): match probabilities; `log_factor` (float64, shape (n_pairs,)): natural log Bayes
    factors of the pairs; `others` (float64, shape (n_pairs, n_strangers)): of strangers; `valid` (bool, shape (n_pairs,
    n_strangers)): which of these count, at least one; a pair's strangers have the pair's weight between them.
    """
    number = valid.sum(axis=1)
    share = np.where(valid, (g / np.maximum(number, 1))[:, None], 0.0)
    share /= share.sum()
    log_other, weight = others[valid], share[valid]
    with np.errstate(divide="ignore"):
        log_g, log_not_g = np.log(g), np.log1p(-g)
    best = -np.inf
    for power in POWERS:
        largest = float((power * log_other).max())
        log_mean = largest + np.log(np.exp(power * log_other - largest) @ weight)
        mixture = np.logaddexp(log_not_g, log_g + power * log_factor - log_mean)
        best = max(best, float(mixture.sum()))
    return best


def strangers(values: Values, pairs: WeightedPairs, rng: np.random.Generator) -> tuple[I32, Flags]:
    """Records of Bob's beside each pair's own, that agree with Alice's on the same keys.

    They are drawn by weight from the pairs that agree on the same keys with the same values.

    Returns `row_b` (int32, shape (n_pairs, STRANGERS)). Returns `valid` (bool, shape (n_pairs, STRANGERS)): False where
    a draw is the pair's own record, or agrees with Alice's on other keys too.
    """
    keys = list(values.model_keys)
    agree = values.agreeing(pairs.row_a, pairs.row_b)[:, keys]
    shared = np.where(agree, values.codes_a[pairs.row_a][:, keys], -1)
    group = np.zeros(len(shared), dtype=np.int64)
    if keys:
        group = np.unique(shared, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(pairs.weight[order])])
    ends = np.cumsum(np.bincount(group))
    low, high = below[np.concatenate([[0], ends[:-1]])][group], below[ends][group]
    at = low[:, None] + rng.random((len(group), STRANGERS)) * (high - low)[:, None]
    place = np.clip(np.searchsorted(below, at, side="right") - 1, 0, len(order) - 1)
    row_b = pairs.row_b[order[place]]
    repeated = np.repeat(pairs.row_a, STRANGERS)
    same = (values.agreeing(repeated, row_b.ravel())[:, keys] == np.repeat(agree, STRANGERS, axis=0)).all(axis=1)
    return row_b, same.reshape(row_b.shape) & (row_b != pairs.row_b[:, None])


def _joint_part(values: Values) -> Values:
    """The same files without the keys that stand alone."""
    columns = list(values.model_columns)
    return Values(
        tuple(values.variables[v] for v in columns),
        np.ascontiguousarray(values.codes_a[:, columns]),
        np.ascontiguousarray(values.codes_b[:, columns]),
    )
