"""Compiled passes over the patterns.

Tables of logarithms have one column more than there are levels, holding 0: a missing level is -1, which indexes
that last column, so that a missing field adds nothing without a branch.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def expectation(
    gamma: NDArray[np.int8],
    count: NDArray[np.float64],
    identified: NDArray[np.uint64],
    log_m: NDArray[np.float64],
    log_u: NDArray[np.float64],
    log_p: float,
    log_q: float,
    matches: NDArray[np.float64],
    others: NDArray[np.float64],
) -> tuple[float, float]:
    """Add up expected numbers of matches and non-matches by field and level.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    count : ndarray of float64, shape (n_patterns,)
    identified : ndarray of uint64, shape (n_patterns,)
        Bit q is set where a row identifies m of field q.
    log_m, log_u : ndarray of float64, shape (n_fields, n_levels + 1)
    log_p, log_q : float
        Logarithms of p and 1 - p.
    matches, others : ndarray of float64, shape (n_fields, n_levels)
        Overwritten with the expected numbers of matches and of non-matches.

    Returns
    -------
    tuple of float
        Expected number of matches in all rows, and the log likelihood of the rows.
    """
    n, n_fields = gamma.shape
    matches[:] = 0.0
    others[:] = 0.0
    total = 0.0
    log_likelihood = 0.0
    for i in range(n):
        a = log_p
        b = log_q
        for q in range(n_fields):
            k = gamma[i, q]
            a += log_m[q, k]
            b += log_u[q, k]
        if a == -np.inf and b == -np.inf:
            log_likelihood = -np.inf
            continue
        d = a - b
        if d > 0:
            e = np.exp(-d)
            g = 1.0 / (1.0 + e)
            log_likelihood += count[i] * (a + np.log1p(e))
        else:
            e = np.exp(d)
            g = e / (1.0 + e)
            log_likelihood += count[i] * (b + np.log1p(e))
        g *= count[i]
        h = count[i] - g
        total += g
        bits = identified[i]
        for q in range(n_fields):
            k = gamma[i, q]
            if k >= 0 and (bits >> np.uint64(q)) & np.uint64(1):
                matches[q, k] += g
                others[q, k] += h
    return total, log_likelihood


@njit(nogil=True, cache=True)
def summed(gamma: NDArray[np.int8], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over fields of a table's entry at the field's level; its last column is for missing ones."""
    n, n_fields = gamma.shape
    total = np.zeros(n)
    for i in range(n):
        for q in range(n_fields):
            total[i] += table[q, gamma[i, q]]
    return total


@njit(nogil=True, cache=True)
def level_counts(gamma: NDArray[np.int8], count: NDArray[np.int64], n_levels: int) -> NDArray[np.float64]:
    """Number of pairs by field and level, missing ones left out: shape (n_fields, n_levels)."""
    n, n_fields = gamma.shape
    counts = np.zeros((n_fields, n_levels))
    for i in range(n):
        for q in range(n_fields):
            k = gamma[i, q]
            if k >= 0:
                counts[q, k] += count[i]
    return counts
