"""Numbers that no one knows as a key, changed: microaggregation (MDAV), correlated noise, rounding.

Rows with a missing number are left as they are. Noise and random rounding take a generator: whoever knows its seed can
undo them.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError

Numbers = NDArray[np.float64]


def microaggregate(numbers: Numbers, k: int) -> tuple[Numbers, NDArray[np.int64]]:
    """Rows replaced by the means of groups of at least `k` near each other (MDAV).

    Parameters
    ----------
    numbers : ndarray of float64, shape (n_records, n_variables)
    k
        Smallest group, from 2 to the number of rows.

    Returns
    -------
    ndarray of float64, ndarray of int64 of shape (n_records,)
        The new numbers, and the group of each row, -1 for rows with a missing number.

    Notes
    -----
    Distances are Euclidean after dividing by standard deviations. As long as 3k rows are left: the row farthest from
    their mean and the row farthest from that one each make a group with their k - 1 nearest; of 2k to 3k - 1 rows the
    farthest makes one, and the rest is one. Ties go to the first row. O(n^2 / k).

    References
    ----------
    .. [1] Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, 2005.
    """
    whole = ~np.isnan(numbers).any(axis=1)
    rows = np.flatnonzero(whole)
    if not 2 <= k <= len(rows):
        raise TrystError(
            ErrorCode.PARAMETER,
            "groups have at least 2 records and at most all",
            where="--microaggregate",
            got=f"{k} of {len(rows)} records without a missing number",
        )
    scale = numbers[rows].std(axis=0)
    standard = numbers[rows] / np.where(scale > 0, scale, 1.0)
    own = _mdav(np.ascontiguousarray(standard), k)
    groups = np.full(len(numbers), -1, dtype=np.int64)
    groups[rows] = own
    found = numbers.copy()
    sizes = np.bincount(own)
    for v in range(numbers.shape[1]):
        found[rows, v] = (np.bincount(own, weights=numbers[rows, v]) / sizes)[own]
    return found, groups


@njit(cache=True)
def _mdav(points: Numbers, k: int) -> NDArray[np.int64]:  # pragma: no cover
    n, width = points.shape
    group = np.full(n, -1, dtype=np.int64)
    left = np.arange(n)
    number = 0
    total = np.zeros(width)
    for i in range(n):
        total += points[i]
    while len(left) >= 2 * k:
        center = total / len(left)
        distance = np.empty(len(left))
        for i in range(len(left)):
            distance[i] = ((points[left[i]] - center) ** 2).sum()
        start = points[left[np.argmax(distance)]].copy()
        both = 2 if len(left) >= 3 * k else 1
        for side in range(both):
            for i in range(len(left)):
                distance[i] = ((points[left[i]] - start) ** 2).sum() if group[left[i]] < 0 else np.inf
            if side == 0 and both == 2:
                farthest = points[left[np.argmax(distance)]].copy()
            for i in np.argsort(distance, kind="mergesort")[:k]:
                group[left[i]] = number
                total -= points[left[i]]
            number += 1
            if side == 0 and both == 2:
                start = farthest
        left = left[group[left] < 0]
    for rest in left:
        group[rest] = number
    return group


def add_noise(numbers: Numbers, share: float, generator: np.random.Generator) -> Numbers:
    r"""Normal noise with the covariance of the numbers times `share`, then shrunk so that covariances stay.

    .. math:: \bar x + (x - \bar x + e) / \sqrt{1 + share}, \quad e \sim N(0, share \cdot \Sigma)

    Means and covariances stay as they were in expectation, and with them correlations and regressions between the
    numbers.

    References
    ----------
    .. [1] Kim, A method for limiting disclosure in microdata based on random noise and transformation, 1986.
    """
    if not 0.0 < share < np.inf:
        raise TrystError(ErrorCode.PARAMETER, "a share of noise is above 0", where="--noise", got=f"{share:g}")
    rows = np.flatnonzero(~np.isnan(numbers).any(axis=1))
    own = numbers[rows]
    if len(own) < 2:
        raise TrystError(ErrorCode.PARAMETER, "too few records without a missing number", where="--noise")
    covariance = np.atleast_2d(np.cov(own, rowvar=False))
    drawn = generator.multivariate_normal(np.zeros(own.shape[1]), share * covariance, len(own), method="eigh")
    mean = own.mean(axis=0)
    found = numbers.copy()
    found[rows] = mean + (own - mean + drawn) / np.sqrt(1.0 + share)
    return found


def round_to(numbers: Numbers, base: float, generator: np.random.Generator | None = None) -> Numbers:
    """Multiples of `base`: the nearest, or with a generator one of the two around, unbiased."""
    if not 0.0 < base < np.inf:
        raise TrystError(ErrorCode.PARAMETER, "a base of rounding is above 0", where="--round", got=f"{base:g}")
    units = numbers / base
    if generator is None:
        return np.asarray(np.floor(units + 0.5) * base)
    low = np.floor(units)
    return np.asarray((low + (generator.random(numbers.shape) < units - low)) * base)
