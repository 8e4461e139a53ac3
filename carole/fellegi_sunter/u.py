"""u, the distribution of levels among non-matches, from the distribution over all pairs.

Nearly all pairs are non-matches, so u is close to r, the share of each level among all pairs (Jaro 1989). The
difference is p (m - u), which matters where u is of the order of p: on a field with many values most of the
agreeing pairs are matches, and r then counts them as chance agreement. The correction removes the share of
the matches: r = p m + (1 - p) u.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def within_levels(n_levels: Sequence[int]) -> NDArray[np.bool_]:
    """Which entries of a (n_fields, max n_levels) table are levels of their field."""
    widths = np.asarray(n_levels, dtype=np.int64)
    return np.asarray(np.arange(int(widths.max()))[None, :] < widths[:, None])


def shares(counts: NDArray[np.float64], valid: NDArray[np.bool_], prior: float) -> NDArray[np.float64]:
    """Posterior mean distribution of levels under a Dirichlet prior of `prior` pseudo-pairs in all.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_fields, n_levels)
        Numbers of pairs, not negative.
    valid : ndarray of bool, shape (n_fields, n_levels)
        Which entries are levels; the others stay 0.
    prior : float
        Pseudo-pairs, spread evenly over a field's levels.

    Returns
    -------
    ndarray of float64, shape (n_fields, n_levels)
        Rows sum to 1; a row without any count and without prior is uniform.
    """
    even = valid / valid.sum(axis=1, keepdims=True)
    smoothed = np.where(valid, counts, 0.0) + prior * even
    total = smoothed.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, smoothed / np.where(total > 0, total, 1.0), even))


def corrected(
    counts: NDArray[np.float64], m: NDArray[np.float64], p: float, valid: NDArray[np.bool_], prior: float
) -> NDArray[np.float64]:
    """Distribution of levels among non-matches, (r - p m) / (1 - p), kept a distribution.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_fields, n_levels)
        Pairs by level, over all pairs or a random sample of them.
    m : ndarray of float64, shape (n_fields, n_levels)
        Distribution of levels among matches.
    p : float
        Share of matches among all pairs.
    valid : ndarray of bool, shape (n_fields, n_levels)
        Which entries are levels.
    prior : float
        Pseudo-pairs of the Dirichlet prior.

    Returns
    -------
    ndarray of float64, shape (n_fields, n_levels)

    Notes
    -----
    Where the matches exceed the pairs of a level, only the prior's share remains: with the true p and m that happens by
    chance only; otherwise it indicates that p m is too large.
    """
    total = counts.sum(axis=1, keepdims=True)
    left = np.maximum(counts - p * total * m, 0.0)
    # Rounding errors would appear as evidence: a level whose pairs are all matches has none.
    left[left < 1e-12 * total] = 0.0
    return shares(left, valid, prior)
