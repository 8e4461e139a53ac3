"""Whether Markov chains have converged: split R-hat, and the number of independent draws that they are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def split_r_hat(chains: NDArray[np.float64]) -> float:
    """Between and within halves of chains: 1 where all halves tell the same, more where they do not.

    Parameters
    ----------
    chains : ndarray of float64, shape (n_chains, n_steps)
        One figure of each step; at least 4 steps.

    Returns
    -------
    float
        1 for a figure that never changes; infinity if it differs between chains and never within one.

    References
    ----------
    .. [1] Gelman et al., Bayesian Data Analysis, 3rd edition, 2013, section 11.4.
    """
    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = half * float(halves.mean(axis=1).var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / (half * within)))


def effective_draws(chains: NDArray[np.float64]) -> float:
    """Independent draws that would fix the mean as well, by Geyer's initial positive sequence.

    Parameters
    ----------
    chains : ndarray of float64, shape (n_chains, n_steps)

    Returns
    -------
    float
        At most ``n_chains * n_steps``, which it is for a figure that never changes.

    Notes
    -----
    O(n_chains * n_steps * lags until the correlation is gone).

    References
    ----------
    .. [1] Geyer, Practical Markov chain Monte Carlo, Statistical Science 7, 1992. doi:10.1214/ss/1177011137
    """
    n_chains, n_steps = chains.shape
    deviation = chains - chains.mean(axis=1, keepdims=True)
    variance = float((deviation**2).mean())
    if variance == 0.0:
        return float(n_chains * n_steps)
    total = -1.0
    for lag in range(0, n_steps - 1, 2):
        pair = sum(
            float((deviation[:, : n_steps - k] * deviation[:, k:]).sum()) / (n_chains * n_steps * variance)
            for k in (lag, lag + 1)
        )
        if pair <= 0.0:
            break
        total += 2.0 * pair
    return float(n_chains * n_steps / max(total, 1.0))
