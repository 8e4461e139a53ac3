"""Iterative proportional fitting over the cells of positive mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.risk.identification.loglinear.support import LIMIT, support
from gemel.risk.models.counts import SparseCounts, distinct_rows

_MINIMUM = -80.0  # logarithm of a mean from which it is 0 for every purpose


@dataclass(frozen=True, eq=False)
class Fit:
    """Maximum-likelihood means of a log-linear model.

    Parameters
    ----------
    cells : ndarray of int32, shape (n_cells, n_variables)
        Cells of positive mean, in lexicographic order; the occupied cells are among them.
    means : ndarray of float64, shape (n_cells,)
    observed : ndarray of float64, shape (n_cells,)
    converged
        Whether every fitted margin agrees with its observed one to the tolerance.
    deviation
        Largest absolute difference of a margin's cell.
    rounds
        Passes over all margins.
    deviance
        Likelihood-ratio statistic against the saturated model.
    """

    cells: NDArray[np.int32] = field(repr=False)
    means: NDArray[np.float64] = field(repr=False)
    observed: NDArray[np.float64] = field(repr=False)
    converged: bool
    deviation: float
    rounds: int
    deviance: float


def fit_margins(
    table: SparseCounts,
    generators: Sequence[Sequence[int]],
    tolerance: float = 0.01,
    max_rounds: int = 1_000,
    limit: int = LIMIT,
) -> Fit:
    """Fit the log-linear model with the given margins.

    Notes
    -----
    A pass costs one addition and one multiplication per cell and margin. Decomposable models converge in two passes.
    In sparse tables many cells have positive margins and a fitted mean of 0, which proportional fitting approaches
    like 1/rounds: squared extrapolation of the logarithms goes some ten times as far, and never down in likelihood.

    References
    ----------
    .. [1] Varadhan and Roland, Simple and globally convergent methods for accelerating the convergence of any EM
       algorithm, 2008. doi:10.1111/j.1467-9469.2007.00585.x
    """
    cells = support(table, generators, limit)
    observed = _observed(table, cells)
    groups, targets = [], []
    for generator in generators:
        own = list(generator)
        first, group = distinct_rows(cells[:, own], [table.levels[v] for v in own])
        groups.append(group.astype(np.int32))
        targets.append(np.bincount(group, weights=observed, minlength=len(first)).astype(np.float64))
    means = np.full(len(cells), table.total / len(cells))
    deviation, rounds, likelihood = np.inf, 0, -np.inf
    while rounds < max_rounds and deviation > tolerance:
        before = np.log(means)
        _passed(means, groups, targets)
        once = np.log(means)
        deviation = _passed(means, groups, targets)
        rounds += 2
        tried = _extrapolated(before, once, np.log(means))
        if deviation > tolerance and rounds < max_rounds:
            _passed(tried, groups, targets)
            rounds += 1
            reached, plain = _likelihood(tried, observed), _likelihood(means, observed)
            if reached >= max(likelihood, plain):
                means = tried
            likelihood = max(reached, plain)
    occupied = observed > 0
    deviance = 2.0 * float((observed[occupied] * np.log(observed[occupied] / means[occupied])).sum())
    return Fit(cells, means, observed, deviation <= tolerance, float(deviation), rounds, deviance)


def _observed(table: SparseCounts, cells: NDArray[np.int32]) -> NDArray[np.float64]:
    """The counts of the support's cells; every occupied cell is one of them."""
    first, group = distinct_rows(np.concatenate([cells, table.cells]), table.levels)
    counts = np.zeros(len(first))
    counts[group[len(cells) :]] = table.counts
    return counts[group[: len(cells)]]


def _passed(means: NDArray[np.float64], groups: list[NDArray[np.int32]], targets: list[NDArray[np.float64]]) -> float:
    """One pass over all margins, in place; how far any was off."""
    return float(max(_fit_one(means, group, target) for group, target in zip(groups, targets, strict=True)))


@njit(cache=True, nogil=True)
def _extrapolated(before, once, twice):  # type: ignore[no-untyped-def]  # compiled
    """Squared extrapolation of two passes in the logarithms of the means, which stays in the model."""
    steps, bends = 0.0, 0.0
    for i in range(len(before)):
        step = once[i] - before[i]
        bend = twice[i] - once[i] - step
        steps += step * step
        bends += bend * bend
    length = 1.0 if bends == 0.0 else max(1.0, math.sqrt(steps / bends))
    means = np.empty_like(before)
    for i in range(len(before)):
        step = once[i] - before[i]
        bend = twice[i] - once[i] - step
        means[i] = math.exp(min(50.0, max(_MINIMUM, before[i] + 2.0 * length * step + length * length * bend)))
    return means


@njit(cache=True, nogil=True)
def _likelihood(means, observed):  # type: ignore[no-untyped-def]  # compiled
    """Poisson log-likelihood but for a constant."""
    value = 0.0
    for i in range(len(means)):
        value -= means[i]
        if observed[i] > 0:
            value += observed[i] * math.log(means[i])
    return value


@njit(cache=True, nogil=True)
def _fit_one(means, group, target):  # type: ignore[no-untyped-def]  # compiled
    """Scale the means so that one margin fits; how far it was off."""
    sums = np.zeros(len(target))
    for i in range(len(means)):
        sums[group[i]] += means[i]
    worst = 0.0
    for g in range(len(target)):
        worst = max(worst, abs(sums[g] - target[g]))
        sums[g] = target[g] / sums[g]
    for i in range(len(means)):
        means[i] *= sums[group[i]]
    return worst
