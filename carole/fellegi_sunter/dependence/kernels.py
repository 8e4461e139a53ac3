"""The compiled expectation step of latent classes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def class_expectation(
    gamma: NDArray[np.int8],
    count: NDArray[np.float64],
    identified: NDArray[np.uint64],
    log_levels: NDArray[np.float64],
    log_shares: NDArray[np.float64],
    log_last: NDArray[np.float64],
    masked: int,
    levels: NDArray[np.float64],
    sizes: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> float:
    """Expected pairs of each class, by field and level.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    count : ndarray of float64, shape (n_patterns,)
        Pairs of each pattern, not negative.
    identified : ndarray of uint64, shape (n_patterns,)
        Bit q is set where a row identifies the first classes' distribution of field q.
    log_levels : ndarray of float64, shape (n_classes, n_fields, n_levels + 1)
        Log probability of each level in each class but the last; the last column, of a missing level, is 0.
    log_shares : ndarray of float64, shape (n_classes + 1,)
        Of all classes, the last one too.
    log_last : ndarray of float64, shape (n_patterns,)
        Log probability of each pattern in the last class, whose distribution is not estimated here.
    masked : int
        The first classes, so many, are estimated only from the rows that identify a field.
    levels : ndarray of float64, shape (n_classes, n_fields, n_levels)
        Overwritten with expected pairs.
    sizes : ndarray of float64, shape (n_classes + 1,)
        Overwritten with expected pairs, of all rows.
    posterior : ndarray of float64, shape (n_patterns, n_classes + 1)
        Overwritten with the probability of each class.
    """
    n, n_fields = gamma.shape
    n_classes = len(log_levels)
    levels[:] = 0.0
    sizes[:] = 0.0
    log_likelihood = 0.0
    for i in range(n):
        posterior[i, n_classes] = log_shares[n_classes] + log_last[i]
        highest = posterior[i, n_classes]
        for c in range(n_classes):
            total = log_shares[c]
            for q in range(n_fields):
                total += log_levels[c, q, gamma[i, q]]
            posterior[i, c] = total
            highest = max(highest, total)
        if highest == -np.inf:
            posterior[i] = 0.0
            posterior[i, n_classes] = 1.0
            continue
        total = 0.0
        for c in range(n_classes + 1):
            posterior[i, c] = np.exp(posterior[i, c] - highest)
            total += posterior[i, c]
        log_likelihood += count[i] * (highest + np.log(total))
        for c in range(n_classes + 1):
            posterior[i, c] /= total
            pairs = count[i] * posterior[i, c]
            sizes[c] += pairs
            if c == n_classes or pairs == 0.0:
                continue
            for q in range(n_fields):
                k = gamma[i, q]
                if k >= 0 and (c >= masked or (identified[i] >> np.uint64(q)) & np.uint64(1)):
                    levels[c, q, k] += pairs
    return log_likelihood
