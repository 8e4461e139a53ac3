"""Numbers that no one knows as a key, changed: microaggregation (MDAV), correlated noise, rounding.

Records may lack some of the numbers: each number is changed among the records that have it, and one that cannot be is
suppressed. A missing number stays missing. Noise takes a generator: whoever knows its seed can undo it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers, Mask

_UNITS = 2.0**53  # of rounding: from there on a number holds no digits below its base


def microaggregate(numbers: Floats, k: int) -> tuple[Floats, Integers]:
    """Numbers replaced by the means of groups of at least `k` records near each other (MDAV).

    Parameters
    ----------
    numbers : ndarray of float64, shape (n_records, n_variables)
        NaN where missing.

    Returns
    -------
    ndarray of float64, ndarray of int64, both of shape (n_records, n_variables)
        The new numbers, NaN where missing or suppressed; and the group of each, -1 for those.

    Notes
    -----
    Records that have the same variables are grouped together if they are at least k. The others join the nearest group
    that has all of their variables; where there is none, each of their numbers joins the nearest group that has this
    variable, or if no group does, they are grouped by this variable alone. A variable that fewer than k records have is
    suppressed. So no mean is of fewer than k numbers. It can be the number that was there: in a group that is alike,
    or of a number that is the mean of its group.

    Distances are Euclidean after dividing by standard deviations. As long as 3k rows are left: the row farthest from
    their mean and the row farthest from that one each make a group with their k - 1 nearest; of 2k to 3k - 1 rows the
    farthest makes one, and the rest is one. Ties go to the first row. O(n^2 / k).

    References
    ----------
    .. [1] Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, 2005.
    """
    there = ~np.isnan(numbers)
    maximum = int(there.sum(axis=0).max(initial=0))
    if not 2 <= k <= maximum:
        what = "groups have at least 2 records and at most all that have a number"
        raise parameter("--microaggregate", what, f"{k} of {maximum} records with the number that most records have")
    standard = numbers / _scales(numbers)
    groups = _grouped(standard, there, k)
    found = np.full(numbers.shape, np.nan)
    for v in range(numbers.shape[1]):
        rows = np.flatnonzero(groups[:, v] >= 0)
        own = groups[rows, v]
        sizes = np.maximum(np.bincount(own), 1)
        found[rows, v] = (np.bincount(own, weights=numbers[rows, v]) / sizes)[own]
    return found, groups


def _scales(numbers: Floats) -> Floats:
    """Standard deviation of each variable over the numbers there are, 1 where that is 0."""
    found = np.ones(numbers.shape[1])
    for v, column in enumerate(numbers.T):
        own = column[~np.isnan(column)]
        if len(own) and (spread := own.std()) > 0:
            found[v] = spread
    return found


def _grouped(points: Floats, there: Mask, k: int) -> Integers:
    """Group of each number: by records of the same variables, then by nearest groups, then by single variables."""
    groups = np.full(points.shape, -1, dtype=np.int64)
    patterns, which = np.unique(there, axis=0, return_inverse=True)
    centers, held = list[Floats](), list[Mask]()  # of each group: its mean, and the variables it has

    def group(rows: Integers, variables: Mask) -> None:
        own = _mdav(np.ascontiguousarray(points[np.ix_(rows, variables)]), k)
        groups[np.ix_(rows, variables)] = len(centers) + own[:, None]
        for g in range(int(own.max()) + 1):
            center = np.full(points.shape[1], np.nan)
            center[variables] = points[np.ix_(rows[own == g], variables)].mean(axis=0)
            centers.append(center)
            held.append(variables)

    members = [np.flatnonzero(which.reshape(-1) == p) for p in range(len(patterns))]
    large = [p for p in range(len(patterns)) if len(members[p]) >= k and patterns[p].any()]
    for p in large:
        group(members[p], patterns[p])
    few = [p for p in range(len(patterns)) if p not in large]
    apart = list[int]()
    for p in few:
        if not _join(points, groups, members[p], patterns[p], centers, held):
            apart += members[p].tolist()
    for v in range(points.shape[1]):
        rows = np.array([r for r in apart if there[r, v]], dtype=np.int64)
        alone = np.arange(points.shape[1]) == v
        if not _join(points, groups, rows, alone, centers, held) and len(rows) >= k:
            group(rows, alone)
    return groups


def _join(
    points: Floats, groups: Integers, rows: Integers, variables: Mask, centers: list[Floats], held: list[Mask]
) -> bool:
    """Put rows into the nearest of the groups that have some variables; False where there is none."""
    able = [g for g, own in enumerate(held) if own[variables].all()]
    if not able:
        return False
    middles = np.stack([centers[g][variables] for g in able])
    for r in rows:
        nearest = able[int(((middles - points[r, variables]) ** 2).sum(axis=1).argmin())]
        groups[r, variables] = nearest
    return True


@njit(cache=True)
def _mdav(points: Floats, k: int) -> Integers:  # pragma: no cover
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


def add_noise(numbers: Floats, share: float, generator: np.random.Generator) -> Floats:
    r"""Normal noise with the covariance of the numbers times `share`, then shrunk so that covariances stay.

    .. math:: \bar x + (x - \bar x + e) / \sqrt{1 + share}, \quad e \sim N(0, share \cdot \Sigma)

    Numbers are NaN where missing, and in the result where suppressed, by record and variable.

    Notes
    -----
    Means and covariances stay as they were in expectation, and with them correlations and regressions between the
    numbers. Means and variances are over the records that have a number, correlations over those that have both; if
    these fit no normal law, the nearest by eigenvalues is taken. The noise of a record is that of the variables that it
    has, so each number has noise of its own variance whatever else the record lacks.

    Suppressed is a number to which no noise can be added: of a variable that fewer than two records have or that does
    not vary, or so large that the noise is lost in its last digit.

    References
    ----------
    .. [1] Kim, A method for limiting disclosure in microdata based on random noise and transformation, 1986.
    """
    if not 0.0 < share < np.inf:
        raise parameter("--noise", "a share of noise is above 0", f"{share:g}")
    there = ~np.isnan(numbers)
    able = np.array([len(np.unique(column[own])) > 1 for column, own in zip(numbers.T, there.T, strict=True)])
    found = np.full(numbers.shape, np.nan)
    if not able.any():
        return found
    own = numbers[:, able]
    rows = np.flatnonzero(there[:, able].any(axis=1))
    own = own[rows]
    mean, deviation = np.nanmean(own, axis=0), np.nanstd(own, axis=0, ddof=1)
    drawn = generator.multivariate_normal(np.zeros(own.shape[1]), _correlation(own), len(own), method="eigh")
    made = mean + (own - mean + drawn * np.sqrt(share) * deviation) / np.sqrt(1.0 + share)
    found[np.ix_(rows, able)] = np.where(made == own, np.nan, made)
    return found


def _correlation(numbers: Floats) -> Floats:
    """Correlations from the records that have both variables, made those of a normal law where they are of none."""
    width = numbers.shape[1]
    there = ~np.isnan(numbers)
    found = np.eye(width)
    for a in range(width):
        for b in range(a):
            pair = numbers[there[:, a] & there[:, b]][:, [a, b]]
            # Two records are on a line whatever the correlation is.
            if len(pair) > 2 and (np.ptp(pair, axis=0) > 0).all():
                found[a, b] = found[b, a] = np.asarray(np.corrcoef(pair.T))[0, 1]
    values, vectors = np.linalg.eigh(found)
    if values[0] < 0:
        nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
        scale = np.sqrt(np.diag(nearest))
        found = nearest / np.outer(scale, scale)
    return np.asarray(found)


def round_to(numbers: Floats, base: float) -> Floats:
    """The nearest multiples of `base`.

    A number so large that its last digit is above the base stays as it is, and a missing one missing.
    """
    if not 0.0 < base < np.inf:
        raise parameter("--round", "a base of rounding is above 0", f"{base:g}")
    units = np.clip(numbers / base, -_UNITS, _UNITS)
    return np.asarray(np.where(np.abs(units) < _UNITS, np.floor(units + 0.5) * base, numbers))
