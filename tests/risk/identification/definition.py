"""Plain forms: the expectation of a reciprocal."""

from __future__ import annotations

import numpy as np
from scipy.stats import poisson


def expected_reciprocal(f: int, rate: float) -> float:
    """E[1/(f + K)] of a Poisson count K, term by term until the rest is below 1e-16."""
    maximum = int(poisson.isf(1e-16, rate)) + 2
    k = np.arange(maximum + 1)
    return float((poisson.pmf(k, rate) / (f + k)).sum())
