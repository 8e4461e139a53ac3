"""Programmes in whole numbers (HiGHS), to the optimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from gemel.risk.arrays import Floats


def cheapest(
    costs: Floats,
    rows: Sequence[LinearConstraint],
    low: ArrayLike,
    high: ArrayLike,
    seconds: float | None = None,
    *,
    whole: bool = True,
) -> OptimizeResult:
    """Whole numbers of least cost within bounds and constraints; without `whole` the linear relaxation."""
    # No relative gap: with counts in the thousands the default one would stop short of the integer optimum.
    options = {"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": seconds})
    numbers = np.full(len(costs), float(whole))
    return milp(costs, constraints=rows, bounds=Bounds(low, high), integrality=numbers, options=options)
