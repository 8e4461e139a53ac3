"""Compiled loops of the attacks."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

NO_RIVAL = 1e9
"""Margin of a row that has one column only."""


@numba.njit(cache=True, nogil=True)
def best_two(fit: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Largest entry's column of each row, the first of equal ones, and how far the second largest lies below."""
    n_rows, n_columns = fit.shape
    best = np.zeros(n_rows, dtype=np.int64)
    margin = np.full(n_rows, NO_RIVAL)
    for row in range(n_rows):
        first, second = fit[row, 0], np.float32(-np.inf)
        for column in range(1, n_columns):
            value = fit[row, column]
            if value > first:
                second = first
                first = value
                best[row] = column
            elif value > second:
                second = value
        if n_columns > 1:
            margin[row] = np.float64(first) - np.float64(second)
    return best, margin
