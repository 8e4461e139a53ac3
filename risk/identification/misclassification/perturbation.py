"""How key variables come to be wrong: misclassification matrices, and that of swapping.

``theta[j, k]`` is the probability that someone whose true level is k is observed at level j; its columns sum to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter


def check_matrix(matrix: ArrayLike, levels: int, where: str) -> NDArray[np.float64]:
    """A misclassification matrix, or an error that states what is wrong with it."""
    theta = np.asarray(matrix, dtype=np.float64)
    if theta.shape != (levels, levels):
        raise parameter(
            where,
            f"a misclassification matrix must have {levels} rows and columns, one for each level",
            f"shape {theta.shape}",
        )
    sums = theta.sum(axis=0)
    if not np.isfinite(theta).all() or (theta < 0).any() or np.abs(sums - 1.0).max() > 1e-9:
        raise parameter(
            where,
            "columns of a misclassification matrix must be distributions: theta[observed, true]",
            f"column sums from {sums.min():.6g} to {sums.max():.6g} and minimum {theta.min():.3g}",
            "transpose it if its rows are the distributions",
        )
    return theta


def swapping_matrix(counts: ArrayLike, rate: float) -> NDArray[np.float64]:
    r"""Misclassification by swapping a share of the records with others of another level.

    Parameters
    ----------
    counts : array of shape (n_levels,)
        Records at each level.
    rate
        Share of the records that are swapped.

    Returns
    -------
    ndarray of float64, shape (n_levels, n_levels)

    Notes
    -----
    :math:`\theta_{jj} = 1 - rate` and :math:`\theta_{jk} = rate \cdot n_j / \sum_{l \ne k} n_l`; the paper prints the
    index transposed, and columns that do not sum to 1. It is an approximation: partners are taken from those not yet
    swapped, and where one level holds most of the records it finds too few partners and is swapped less.

    References
    ----------
    .. [1] Shlomo, Assessing disclosure risk under misclassification for microdata, 2009, section 3.1.
    """
    n = np.asarray(counts, dtype=np.float64)
    if n.ndim != 1 or len(n) < 2 or (n < 0).any() or (n > 0).sum() < 2:
        raise parameter("counts", "at least two levels must have records")
    if not 0.0 <= rate <= 1.0:
        raise parameter("rate", "a share lies from 0 to 1", f"{rate:g}")
    theta = rate * n[:, None] / (n.sum() - n)[None, :]
    np.fill_diagonal(theta, 1.0 - rate)
    return np.asarray(theta)
