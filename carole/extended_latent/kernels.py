"""Compiled passes: Bayes factors of pairs, and the E-step over classes of pairs."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

LARGEST = 700.0
"""A log Bayes factor is kept within this of 0: beyond it, probabilities are 0 or 1 whatever else is known."""


@njit(nogil=True, cache=True)
def pair_factors(
    row_a: NDArray[np.int32],
    row_b: NDArray[np.int32],
    configuration_a: NDArray[np.int32],
    configuration_b: NDArray[np.int32],
    codes_a: NDArray[np.int32],
    codes_b: NDArray[np.int32],
    keys: NDArray[np.int64],
    shape_a: NDArray[np.int64],
    shape_b: NDArray[np.int64],
    rank_a: NDArray[np.int64],
    rank_b: NDArray[np.int64],
    n_shapes_b: int,
    terms_a: NDArray[np.float64],
    terms_b: NDArray[np.float64],
    start_a: NDArray[np.int64],
    start_b: NDArray[np.int64],
    factor_start: NDArray[np.int64],
    table_start: NDArray[np.int64],
    variable_start: NDArray[np.int64],
    of_a: NDArray[np.bool_],
    column: NDArray[np.int64],
    stride: NDArray[np.int64],
    tables: NDArray[np.float64],
    alone_a: NDArray[np.int32],
    alone_b: NDArray[np.int32],
    alone_start: NDArray[np.int64],
    alone_factors: NDArray[np.float64],
    result: NDArray[np.float64],
) -> None:
    """Write the natural log Bayes factor of each pair, within `LARGEST` of 0.

    Rows point to configurations, and these to which variables they have (their shape) and their number among those of
    that shape. A pair's two shapes and the keys that agree tell its plan: what each side contributes by itself
    (`terms`), and the tables that hold variables of both.
    """
    n_sets = 1 << keys.size
    for i in range(row_a.size):
        total = 0.0
        for k in range(alone_a.shape[1]):
            x = alone_a[row_a[i], k]
            if x >= 0 and x == alone_b[row_b[i], k]:
                total += alone_factors[alone_start[k] + x]
        if configuration_a.size:
            a = configuration_a[row_a[i]]
            b = configuration_b[row_b[i]]
            agree = 0
            for k in range(keys.size):
                x = codes_a[a, keys[k]]
                if x >= 0 and x == codes_b[b, keys[k]]:
                    agree |= 1 << k
            plan = (shape_a[a] * n_shapes_b + shape_b[b]) * n_sets + agree
            total += terms_a[start_a[plan] + rank_a[a]] + terms_b[start_b[plan] + rank_b[b]]
            for f in range(factor_start[plan], factor_start[plan + 1]):
                cell = table_start[f]
                for v in range(variable_start[f], variable_start[f + 1]):
                    if of_a[v]:
                        cell += stride[v] * codes_a[a, column[v]]
                    else:
                        cell += stride[v] * codes_b[b, column[v]]
                total += tables[cell]
        if total > LARGEST:
            total = LARGEST
        elif not total >= -LARGEST:  # minus infinity less minus infinity is impossible too
            total = -LARGEST
        result[i] = total


@njit(nogil=True, cache=True)
def expectation(
    pattern: NDArray[np.int32],
    offset: NDArray[np.float64],
    count: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    log_other: NDArray[np.float64],
    matches: NDArray[np.float64],
) -> float:
    """Expected matches of every pattern, from classes of pairs with one pattern and one Bayes factor.

    Parameters
    ----------
    pattern, offset, count : ndarray, shape (n_classes,)
        Pattern, log Bayes factor of the values, and number of pairs of each class.
    log_odds : ndarray of float64, shape (n_patterns,)
        Posterior log odds of a pair of the pattern by Fellegi-Sunter alone.
    log_other : ndarray of float64, shape (n_patterns,)
        Log probability of being no match and having the pattern.
    matches : ndarray of float64, shape (n_patterns,)
        Overwritten.

    Returns
    -------
    float
        Log likelihood of the classes, less that of their values among non-matches, which does not change.
    """
    matches[:] = 0.0
    likelihood = 0.0
    for i in range(pattern.size):
        odds = log_odds[pattern[i]] + offset[i]
        if odds > 0:
            e = np.exp(-odds)
            g = 1.0 / (1.0 + e)
            likelihood += count[i] * (log_other[pattern[i]] + odds + np.log1p(e))
        else:
            e = np.exp(odds)
            g = e / (1.0 + e)
            likelihood += count[i] * (log_other[pattern[i]] + np.log1p(e))
        matches[pattern[i]] += count[i] * g
    return likelihood


@njit(nogil=True, cache=True)
def take(
    row_a: NDArray[np.int32],
    row_b: NDArray[np.int32],
    weight: NDArray[np.float64],
    heaviest: float,
    seed: int,
    taken: NDArray[np.int64],
    counts_as: NDArray[np.float64],
) -> int:
    """Take pairs with probability weight / heaviest, each counting as `heaviest`; heavier ones always, as themselves.

    Whether a pair is taken depends on its rows and the seed only, not on the order of the pairs. Returns how many are.
    """
    n = 0
    for i in range(row_a.size):
        w = weight[i]
        if w <= 0.0:
            continue
        if w < heaviest:
            h = np.uint64(row_a[i]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(row_b[i])
            h = (h ^ np.uint64(seed)) * np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
            h *= np.uint64(0x94D049BB133111EB)
            h ^= h >> np.uint64(32)
            if np.float64(h >> np.uint64(11)) * 2.0**-53 * heaviest >= w:
                continue
            w = heaviest
        taken[n] = i
        counts_as[n] = w
        n += 1
    return n
