"""What protection costs: distances between the true table and the protected one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats


def utility(truth: ArrayLike, published: ArrayLike) -> dict[str, float]:
    """Distances of a protected table from the true one, cell by cell; negative published counts are withheld ones."""
    true, given = np.asarray(truth, dtype=float).ravel(), np.asarray(published, dtype=float).ravel()
    if true.shape != given.shape:
        raise parameter("", "the tables must have one shape", f"{true.shape} and {given.shape}")
    shown = given >= 0
    t, g = true[shown], given[shown]
    positive = t > 0
    return {
        "hellinger": hellinger(t, g),
        "total_variation": total_variation(t, g),
        "chi_square": float(((g - t)[positive] ** 2 / t[positive]).sum()),
        "invented": float(g[~positive].sum()),
        "absolute": float(np.abs(g - t).mean()) if len(t) else 0.0,
        "withheld": int((~shown).sum()),
    }


def hellinger(p: ArrayLike, q: ArrayLike) -> float:
    """Hellinger distance of two tables as distributions; 1 when one is empty and the other is not."""
    return _distance(p, q, lambda a, b: np.sqrt(max(0.0, 1.0 - float(np.sqrt(a * b).sum()))))


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """Total variation distance of two tables as distributions; 1 when one is empty and the other is not."""
    return _distance(p, q, lambda a, b: np.abs(a - b).sum() / 2.0)


def _distance(p: ArrayLike, q: ArrayLike, of_shares: Callable[[Floats, Floats], float]) -> float:
    a, b = (np.asarray(table, dtype=float).ravel() for table in (p, q))
    if min(a.sum(), b.sum()) > 0:
        return float(of_shares(a / a.sum(), b / b.sum()))
    return float(max(a.sum(), b.sum()) > 0)
