"""The law of how many other records share a record's combination, given how crowded the table is around it.

How crowded the table is around each occupied cell, counted without the cell itself.

How many people share a combination of key values is not seen in the combination's own count, which is 1 for every
sample unique; it shows in the records *near* it. Four numbers are taken for each cell, all from counts of the other
cells, so that they are independent of the cell's own count whatever it is:

- records that differ in exactly one key variable, and in exactly two;
- what independence of the keys would expect here;
- what the tree of the strongest pairwise dependences (Chow and Liu) would expect here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.optimize import minimize

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.models.counts import SparseCounts, distinct_rows

PREDICTORS = ("independence", "tree", "differ in one key", "differ in two keys")

_HALF = 0.5  # added to a count before its logarithm


def neighbourhood(table: SparseCounts) -> Floats:
    r"""Logarithms of the four predictors of each cell.

    Returns float64, shape (n_cells, 4): in the order of `PREDICTORS`; counts have 1/2 added before the logarithm is
    taken. Records that differ in every key are no predictor (with the others they would give the cell's own count
    away): with two keys or one, that column is the same for all cells.

    With :math:`c_S` the other records that agree with the cell on the variables S (the margin's count less f), the
    records that differ in exactly one variable are :math:`\sum_k c_{-k}`, and those that differ in exactly two
    :math:`\sum_{k<l} c_{-kl} - (K - 1) \sum_k c_{-k}`. One sort of the cells for each pair of variables:
    O(K^2 n log n).

    References
    ----------
    .. [1] Chow and Liu, Approximating discrete probability distributions with dependence trees, 1968.
    """
    K = len(table.levels)
    others = range(K)
    single = [_others(table, [k]) for k in others]
    one, two = np.zeros(len(table.cells)), np.zeros(len(table.cells))
    if K > 1:
        one = np.sum([_others(table, [q for q in others if q != k]) for k in others], axis=0)
    if K > 2:
        for k, m in combinations(others, 2):
            two += _others(table, [q for q in others if q not in (k, m)])
        two -= (K - 1) * one
    independence = np.sum([_log(c) for c in single], axis=0) - (K - 1) * _log(table.total - table.counts)
    return np.stack([independence, _tree(table, single), _log(one), _log(two)], axis=1)


def _tree(table: SparseCounts, single: list[Floats]) -> Floats:
    """Logarithm of the mean by the spanning tree of greatest mutual information."""
    K, f = len(single), table.counts
    pairs = {pair: _others(table, list(pair)) for pair in combinations(range(K), 2)}
    information = {
        (k, m): float((f * np.log((c + f) * table.total / ((single[k] + f) * (single[m] + f)))).sum())
        for (k, m), c in pairs.items()
    }
    joined = list(range(K))
    mean = np.sum([_log(c) for c in single], axis=0) - (K - 1) * np.log(table.total)  # the total cancels
    for k, m in sorted(information, key=lambda pair: -information[pair]):
        if joined[k] != joined[m]:
            mean = mean + _log(pairs[k, m]) + np.log(table.total) - _log(single[k]) - _log(single[m])
            joined = [joined[k] if group == joined[m] else group for group in joined]
    return np.asarray(mean)


def _others(table: SparseCounts, kept: list[int]) -> Floats:
    """Records that agree with each cell on the kept variables and are not of the cell itself."""
    _, group = distinct_rows(table.cells[:, kept], [table.levels[v] for v in kept])
    return np.bincount(group, weights=table.counts)[group] - table.counts


def _log(counts: Floats) -> Floats:
    return np.log(counts + _HALF)


# Take a record at random, and let Y be the *other* records of its cell. Given the cell's neighbourhood x
# (`neighbourhood`), Y is Poisson with a mean that has a gamma law: with linear predictor :math:`\eta = x b`,
#
# .. math:: E[Y] = \mu = \exp\{\eta + q (\eta - \bar\eta)^2\}, \qquad \log a = c_0 + c_1 \eta,
#
# a the shape, so that Y is negative binomial. Only small Y are looked at (the law given Y <= 3): the chance that a
# unique record has company outside the sample is decided there, and large cells would teach the model about crowds
# instead. With no predictor at all and Y <= 1 this is DIS; the neighbourhood tells one unique record from another,
# and the sum over them stays anchored at what DIS reads: how often two records are alike for each that is alone.
#
# The shape decides how far the law reaches below one record, and a small sample says little of it: different shapes
# are as likely and claim half as much again (`python -m benchmarks claimed_risk --sections shapes`). It has a prior;
# this and the bend's were set on samples of eusilcP and of Adult and on nothing else. The benchmark also has
# populations that played no part in it.

COUNTED = 3  # other records up to which a cell is looked at
FEWEST_PAIRS = 10  # combinations of two records from which the law is estimated

_BEND_SPREAD = 0.1  # of q
_SLOPE_SPREAD = 1.0  # of b, for predictors of standard deviation 1
_LEVEL_SPREAD = 100.0
_SEARCH = 500
_STEP = 1e-4


@dataclass(frozen=True)
class ShapePrior:
    """Normal prior of c0 and c1: means and standard deviations."""

    mean: tuple[float, float] = (1.5, 0.4)
    spread: tuple[float, float] = (0.5, 0.2)


_SHAPE = ShapePrior()


@dataclass(frozen=True, eq=False)
class Crowding:
    """The fitted law.

    `predictors` (float64, shape (n_cells, 1 + n_predictors)): a column of ones, and the predictors that vary, centred
    and scaled; `used`: positions of these predictors among those given; `centre`: mean of the linear predictor, about
    which it bends; `parameters` (float64, shape (n_predictors + 4,)): b (the level first), q, c0, c1: the greatest
    posterior density; `covariance` (float64, square): of the parameters, by the sandwich: cells are what was sampled,
    not records; `log_likelihood`: of the cells looked at, at these parameters; without the prior.
    """

    predictors: Floats = field(repr=False)
    used: tuple[int, ...]
    centre: float
    parameters: Floats
    covariance: Floats = field(repr=False)
    converged: bool
    log_likelihood: float

    def law(self, cells: Integers, parameters: Floats | None = None) -> tuple[Floats, Floats]:
        """Mean mu and shape a of the other records of some cells."""
        own = self.parameters if parameters is None else parameters
        logs = _logs(self.predictors[cells], self.centre, own)
        return np.exp(logs[0]), np.exp(logs[1])

    @property
    def coefficients(self) -> dict[str, float]:
        """Of the predictors used, for one standard deviation of each."""
        return {PREDICTORS[v]: float(b) for v, b in zip(self.used, self.parameters[1:], strict=False)}

    def draws(self, number: int, rng: np.random.Generator) -> Floats:
        """Parameters drawn from their normal approximation, shape (number, n_parameters)."""
        return rng.multivariate_normal(self.parameters, self.covariance, size=number, method="eigh")


def fit_crowding(
    predictors: Floats, counts: Floats, weights: Floats | None = None, shape: ShapePrior = _SHAPE
) -> Crowding:
    """Fit the law.

    `predictors` (float64, shape (n_cells, n_predictors)): logarithms (`neighbourhood`), which do not depend on the
    cell's own count; `counts` (float64, shape (n_cells,)): records of each cell, f; where units were sampled whole, the
    units that they are of; `weights` (float64, shape (n_cells,), optional): records of each cell that learn of its
    others only by sampling; all, unless units were sampled whole.

    Refused: fewer than ten cells of two records: nothing says how likely company is.

    Cells weigh as many records as they have. Each evaluation is O(n_cells) without special functions, since Y is small.
    """
    everyone = counts if weights is None else weights
    small = (counts <= COUNTED + 1) & (everyone > 0)
    pairs = int((counts[small] == 2.0).sum())
    if pairs < FEWEST_PAIRS:
        raise parameter(
            "records",
            f"at least {FEWEST_PAIRS} combinations must occur exactly twice to calibrate the risk of single records",
            str(pairs),
            "the interval of DIS is what this file supports",
        )
    spread = predictors[small].std(axis=0)
    used = tuple(int(v) for v in np.flatnonzero(spread > 1e-9))
    scaled = (predictors[:, used] - np.average(predictors[small][:, used], axis=0, weights=everyone[small])) / spread[
        list(used)
    ]
    X = np.concatenate([np.ones((len(counts), 1)), scaled], axis=1)
    own, y, w = X[small], counts[small] - 1.0, everyone[small]
    p = X.shape[1]
    prior_mean = np.concatenate([np.zeros(p + 1), shape.mean])
    prior = 1.0 / np.concatenate([[_LEVEL_SPREAD], np.full(p - 1, _SLOPE_SPREAD), [_BEND_SPREAD], shape.spread]) ** 2
    start = prior_mean.copy()
    start[0] = np.log(np.average(y, weights=w))
    centre = 0.0
    reached = start
    for _ in range(2):  # the centre of the linear predictor follows its first fit

        def objective(t: Floats, centre: float = centre) -> tuple[float, Floats]:
            value, gradient = _likelihood(own, y, centre, t)
            off = t - prior_mean
            return (-float(w @ value) + 0.5 * float((prior * off * off).sum()), -(w @ gradient) + prior * off)

        found = minimize(objective, reached, jac=True, method="L-BFGS-B", options={"maxiter": _SEARCH})
        reached = np.asarray(found.x)
        centre = float(np.average(own @ reached[:p], weights=w)) if centre == 0.0 else centre
    curvature = np.empty((len(reached), len(reached)))
    for i in range(len(reached)):
        step = np.zeros(len(reached))
        step[i] = _STEP
        curvature[i] = (objective(reached + step)[1] - objective(reached - step)[1]) / (2.0 * _STEP)
    inverse = np.linalg.inv((curvature + curvature.T) / 2.0)
    value, gradient = _likelihood(own, y, centre, reached)
    scores = gradient * w[:, None]
    covariance = inverse @ (scores.T @ scores + np.diag(prior)) @ inverse
    return Crowding(X, used, centre, reached, (covariance + covariance.T) / 2.0, bool(found.success), float(w @ value))


def _logs(X: Floats, centre: float, t: Floats) -> tuple[Floats, Floats, Floats]:
    """Logarithms of mean and shape, and the linear predictor."""
    p = X.shape[1]
    eta = X @ t[:p]
    mean = np.clip(eta + t[p] * (eta - centre) ** 2, -30.0, 30.0)
    return mean, np.clip(t[p + 1] + t[p + 2] * eta, -8.0, 10.0), eta


def _likelihood(X: Floats, y: Floats, centre: float, t: Floats) -> tuple[Floats, Floats]:
    """Log-likelihood of each cell given Y <= COUNTED, and its gradient, shape (n_cells, n_parameters)."""
    p = X.shape[1]
    log_mu, log_a, eta = _logs(X, centre, t)
    mu, a = np.exp(log_mu), np.exp(log_a)
    both = np.log(a + mu)
    log_pmf = np.empty((COUNTED + 1, len(y)))
    by_mu = np.empty_like(log_pmf)
    by_a = np.empty_like(log_pmf)
    rising = np.zeros(len(y))  # log a (a + 1) ... (a + k - 1)
    slope = np.zeros(len(y))
    factorial = 1.0
    for k in range(COUNTED + 1):
        if k:
            rising = rising + np.log(a + (k - 1))
            slope = slope + 1.0 / (a + (k - 1))
            factorial *= k
        log_pmf[k] = rising - np.log(factorial) + a * (log_a - both) + k * (log_mu - both)
        by_mu[k] = k - (k + a) * mu / (a + mu)
        by_a[k] = a * (slope + log_a + 1.0 - both - (a + k) / (a + mu))
    top = log_pmf.max(axis=0)
    share = np.exp(log_pmf - top)
    total = share.sum(axis=0)
    share /= total
    own = y.astype(np.int64)
    rows = np.arange(len(y))
    value = log_pmf[own, rows] - top - np.log(total)
    d_mu = by_mu[own, rows] - (share * by_mu).sum(axis=0)
    d_a = by_a[own, rows] - (share * by_a).sum(axis=0)
    gradient = np.empty((len(y), p + 3))
    bend = 1.0 + 2.0 * t[p] * (eta - centre)
    gradient[:, :p] = X * (d_mu * bend + d_a * t[p + 2])[:, None]
    gradient[:, p] = d_mu * (eta - centre) ** 2
    gradient[:, p + 1] = d_a
    gradient[:, p + 2] = d_a * eta
    return value, gradient
