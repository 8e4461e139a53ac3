"""Values of keys changed at random: PRAM with its matrix, and swapping of values between records.

A matrix here is ``theta[observed, true]``, columns summing to 1, as in `identification.perturbation`, which makes that
of swapping. Values are numbers from 0, missing ones (-1) stay as they are. All take a generator: whoever knows its seed
can undo what was changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter
from gemel.risk.identification.coding import Counts
from gemel.risk.identification.misclassification.perturbation import check_matrix

Values = NDArray[np.int32]


def pram_matrix(counts: ArrayLike, rate: float) -> NDArray[np.float64]:
    """A matrix by which a value is redrawn with probability `rate` from all values by their shares in the file.

    Notes
    -----
    ``(1 - rate) I + rate p 1'`` leaves the expected counts as they are, so it is invariant by itself.
    """
    n = np.asarray(counts, dtype=np.float64)
    if not 0.0 <= rate <= 1.0:
        raise parameter("--pram", "a rate lies from 0 to 1", f"{rate:g}")
    if n.ndim != 1 or len(n) < 2 or n.sum() <= 0 or (n < 0).any():
        raise parameter("counts", "at least two values and some records are needed")
    p = n / n.sum()
    return np.asarray((1.0 - rate) * np.eye(len(n)) + rate * p[:, None])


def neighbour_matrix(values: int, rate: float) -> NDArray[np.float64]:
    """A matrix by which one of ordered values moves to a neighbour with probability `rate`, half to each side."""
    if not 0.0 <= rate <= 1.0:
        raise parameter("--pram", "a rate lies from 0 to 1", f"{rate:g}")
    theta = np.eye(values) * (1.0 - rate)
    for k in range(values):
        around = [j for j in (k - 1, k + 1) if 0 <= j < values]
        theta[around, k] += rate / len(around)
    return theta


def invariant_matrix(theta: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    r"""A matrix made of `theta` that leaves the expected counts as they are: theta, then its reversal by Bayes' rule.

    .. math:: R_{ik} = \sum_j \frac{\theta_{ji} p_i}{\sum_l \theta_{jl} p_l}\, \theta_{jk}

    Parameters
    ----------
    theta : array of shape (n_values, n_values)
    counts : array of shape (n_values,)
        Records with each true value.

    References
    ----------
    .. [1] Gouweleeuw, Kooiman, Willenborg and De Wolf, Post randomisation for statistical disclosure control, 1998.
    """
    p = np.asarray(counts, dtype=np.float64)
    t = check_matrix(theta, len(p), "PRAM")
    observed = t @ p
    back = np.divide(t * p, observed[:, None], out=np.zeros_like(t), where=observed[:, None] > 0)
    result = back.T @ t
    # A value that no one has goes wherever theta sends it, and comes back only as a value that someone has.
    return np.asarray(result / result.sum(axis=0))


def pram(values: Values, theta: ArrayLike, generator: np.random.Generator) -> Values:
    """Each value redrawn from the column of `theta` of its true value, int32 of shape (n_records,)."""
    t = check_matrix(theta, int(np.asarray(theta).shape[0]), "PRAM")
    cumulative = np.cumsum(t, axis=0)
    there = values >= 0
    drawn = generator.random(len(values))
    found = values.copy()
    own = (drawn[there][None, :] > cumulative[:, values[there]]).sum(axis=0)
    found[there] = np.minimum(own, len(t) - 1)
    return found


def swap(values: Values, rate: float, generator: np.random.Generator, strata: Counts | None = None) -> Values:
    """Values of a share of the records, drawn at random, put in a random order among them, within strata.

    Parameters
    ----------
    values : ndarray of int32, shape (n_records,)
    rate
        Share of the records of each stratum that take part.
    strata : ndarray of int64, shape (n_records,), optional
        Records swap with records of the same number only.
    """
    if not 0.0 <= rate <= 1.0:
        raise parameter("--swap", "a rate lies from 0 to 1", f"{rate:g}")
    found = values.copy()
    groups = np.zeros(len(values), dtype=np.int64) if strata is None else strata
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        own = members[values[members] >= 0]
        chosen = generator.permutation(own)[: round(len(own) * rate)]
        found[chosen] = values[generator.permutation(chosen)]
    return found


def grouped_matrix(theta: ArrayLike, groups: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """The matrix between groups of values, where true values occur in a group as in the file."""
    t = np.asarray(theta, dtype=np.float64)
    own, n = np.asarray(groups), np.asarray(counts, dtype=np.float64)
    size = int(own.max()) + 1
    into = np.zeros((size, len(own)))
    into[own, np.arange(len(own))] = 1.0
    whole = into @ n
    shares = np.where(whole[own] > 0, n / np.where(whole[own] > 0, whole[own], 1.0), 1.0 / np.bincount(own)[own])
    return np.asarray(into @ t @ (into * shares).T)
