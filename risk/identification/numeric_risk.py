"""Risk of numeric variables after a perturbation: how close values stayed, and whether records link to originals.

An intruder who knows exact amounts looks for the protected record that is nearest. Both measures compare a protected
file with its original, record by record; an intruder has less, so they bound what he can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats, Mask

PERCENTS = (1.0, 5.0, 10.0)
_FIRST = 4  # nearest originals looked at; more where they are as near


def within_percent(original: Floats, protected: Floats, percent: float) -> Mask:
    """Whether each protected value lies within so many per cent of its original, shape (n_records,); 0 is kept only."""
    return np.asarray(np.abs(protected - original) <= percent / 100.0 * np.abs(original))


def within_ranks(original: Floats, protected: Floats, percent: float) -> Mask:
    """Whether each original lies in the rank interval about its protected value, shape (n_records,).

    The interval is from the protected value so many per cent of the records further down to the one as far up; equal
    values have all their ranks. O(n log n).

    References
    ----------
    .. [1] Domingo-Ferrer and Torra, A quantitative comparison of disclosure control methods for microdata, 2001.
    """
    ordered = np.sort(protected)
    steps = int(percent / 100.0 * len(ordered))
    low = np.maximum(np.searchsorted(ordered, protected, "left") - steps, 0)
    high = np.minimum(np.searchsorted(ordered, protected, "right") - 1 + steps, len(ordered) - 1)
    return np.asarray((ordered[low] <= original) & (original <= ordered[high]))


def linked_by_distance(original: Floats, protected: Floats) -> tuple[Floats, Floats]:
    """Link every protected record to the original records by standardised Euclidean distance.

    `original`, `protected` (float64, shape (n_records, n_variables)): row i of both is one person. Both are divided by
    the standard deviations of the original.

    Returns `nearest`, `second` (float64, shape (n_records,)): probability that a protected record's own original is the
    nearest, and the second nearest, of all originals; originals as near are in random order.

    A k-d tree over the distinct originals: O(n log n) for few variables.

    References
    ----------
    .. [1] Domingo-Ferrer and Torra, Disclosure risk assessment in statistical data protection, 2004.
    """
    scale = original.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    points, which, number = np.unique(original / scale, axis=0, return_inverse=True, return_counts=True)
    targets = protected / scale
    own = np.sqrt(((targets - points[which.reshape(-1)]) ** 2).sum(axis=1))
    margin = 1e-9 * (1.0 + own)
    tree = cKDTree(points)
    closer, as_near = np.zeros(len(own), dtype=np.int64), np.ones(len(own), dtype=np.int64)
    rows, k = np.arange(len(own)), min(_FIRST, len(points))
    while len(rows):
        distance, at = tree.query(targets[rows], k=np.arange(1, k + 1))
        closer[rows] = (number[at] * (distance < (own - margin)[rows, None])).sum(axis=1)
        as_near[rows] = (number[at] * (np.abs(distance - own[rows, None]) <= margin[rows, None])).sum(axis=1)
        # Where all that were looked at are at most as far, others may be as near too.
        rows = rows[(closer[rows] <= 1) & (distance[:, -1] <= (own + margin)[rows])] if k < len(points) else rows[:0]
        k = min(2 * k, len(points))
    share = 1.0 / np.maximum(as_near, 1)
    return np.where(closer == 0, share, 0.0), np.where((closer <= 1) & (closer + as_near >= 2), share, 0.0)


def _inside(original: Floats, protected: Floats, percent: float) -> Mask:
    """Which values lie within an interval, by value and by rank, shape (2, n_records, n_variables)."""
    by_rank = [within_ranks(x, y, percent) for x, y in zip(original.T, protected.T, strict=True)]
    return np.stack([within_percent(original, protected, percent), np.stack(by_rank, axis=1)])


def numeric_risk_document(original: Mapping[str, Floats], protected: Mapping[str, Floats]) -> dict[str, Any]:
    names = list(protected)
    before = np.stack([original[name] for name in names], axis=1)
    after = np.stack([protected[name] for name in names], axis=1) if names else before
    if before.shape != after.shape:
        raise GemelError(
            ErrorCode.SOURCE,
            "the original must have the records of the protected file, in the same order",
            where="--original",
            got=f"{len(before):,} records for {len(after):,}",
            remedy="leave out of the original what is not released, and sort both alike",
        )
    if np.isinf(before).any() or np.isinf(after).any():
        raise GemelError(ErrorCode.SOURCE, "numbers must be finite", where="--numeric")
    known = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
    if not known.any():
        raise GemelError(
            ErrorCode.EMPTY_SOURCE, "every record lacks a number in one of the two files", where="--numeric"
        )
    x, y = before[known], after[known]
    nearest, second = linked_by_distance(x, y)
    inside = {p: _inside(x, y, p) for p in PERCENTS}

    def intervals(masks: Mapping[float, Mask]) -> list[dict[str, float]]:
        return [{"percent": p, "by_value": float(v.mean()), "by_rank": float(r.mean())} for p, (v, r) in masks.items()]

    return {
        "records": len(x),
        "records_with_missing": int((~known).sum()),
        "unchanged_records": int((x == y).all(axis=1).sum()),
        "variables": [
            {"variable": name, "intervals": intervals({p: both[:, :, q] for p, both in inside.items()})}
            for q, name in enumerate(names)
        ],
        "all_variables": intervals({p: np.all(both, axis=2) for p, both in inside.items()}),
        "linked_nearest": float(nearest.mean()),
        "linked_second": float(second.mean()),
        "by_chance": 1.0 / len(x),
    }
