"""Means over replicates with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student


def interval(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean and its 95 % interval by Student's t."""
    found = np.asarray(values)
    mean, n = float(found.mean()), len(found)
    half = float(student.ppf(0.975, n - 1) * found.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def bracketed(values: Sequence[float] | NDArray[np.float64], form: str = ".3f") -> str:
    """The same in words."""
    mean, low, high = interval(values)
    return f"{mean:{form}} ({low:{form}} to {high:{form}})"
