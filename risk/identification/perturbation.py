"""How key variables come to be wrong: misclassification matrices, and the perturbations that cause them.

``theta[j, k]`` is the probability that someone whose true level is k is observed at level j; its columns sum to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tryst.common.errors import ErrorCode, TrystError


def check_matrix(matrix: ArrayLike, levels: int, where: str) -> NDArray[np.float64]:
    """A misclassification matrix, or an error that says what is wrong with it."""
    theta = np.asarray(matrix, dtype=np.float64)
    if theta.shape != (levels, levels):
        raise TrystError(
            ErrorCode.PARAMETER,
            f"a misclassification matrix must have {levels} rows and columns, one for each level",
            where=where,
            got=f"shape {theta.shape}",
        )
    sums = theta.sum(axis=0)
    if not np.isfinite(theta).all() or (theta < 0).any() or np.abs(sums - 1.0).max() > 1e-9:
        raise TrystError(
            ErrorCode.PARAMETER,
            "columns of a misclassification matrix must be distributions: theta[observed, true]",
            where=where,
            got=f"column sums from {sums.min():.6g} to {sums.max():.6g} and minimum {theta.min():.3g}",
            remedy="transpose it if its rows are the distributions",
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
    `observed_matrix` of simulated swaps shows by how much.

    References
    ----------
    .. [1] Shlomo, Assessing disclosure risk under misclassification for microdata, 2009, section 3.1.
    """
    n = np.asarray(counts, dtype=np.float64)
    if n.ndim != 1 or len(n) < 2 or (n < 0).any() or (n > 0).sum() < 2:
        raise TrystError(ErrorCode.PARAMETER, "at least two levels must have records", where="counts")
    _check_rate(rate)
    theta = rate * n[:, None] / (n.sum() - n)[None, :]
    np.fill_diagonal(theta, 1.0 - rate)
    return np.asarray(theta)


def random_swap(values: NDArray[np.int32], rate: float, rng: np.random.Generator) -> NDArray[np.int32]:
    """Swap levels between pairs of records: half of a share of each level's records, each with one of the other half.

    Parameters
    ----------
    values : ndarray of int32, shape (n_records,)
        Level numbers.
    rate
        Share of each level's records that are drawn; half of them are flagged. Each flagged record swaps its level
        with a record drawn but not flagged, of another level, that has not swapped; where none is left it keeps it.
    rng
        Source of randomness.

    Returns
    -------
    ndarray of int32, shape (n_records,)

    Notes
    -----
    The procedure of Shlomo 2009, section 3.1. How many records have each level does not change.
    """
    _check_rate(rate)
    flagged, partners = [], []
    for level in np.unique(values):
        own = rng.permutation(np.flatnonzero(values == level))[: round(rate * float((values == level).sum()))]
        half = len(own) // 2
        flagged.append(own[:half])
        partners.append(own[half:])
    swapped = values.copy()
    pool = rng.permutation(np.concatenate(partners)).tolist()
    for record in rng.permutation(np.concatenate(flagged)).tolist():
        at = next((i for i in range(len(pool) - 1, -1, -1) if values[pool[i]] != values[record]), None)
        if at is None:
            continue
        partner = pool[at]
        pool[at] = pool[-1]  # the pool is in random order, and stays so
        pool.pop()
        swapped[record], swapped[partner] = values[partner], values[record]
    return swapped


def pram(values: NDArray[np.int32], theta: ArrayLike, rng: np.random.Generator) -> NDArray[np.int32]:
    """Post-randomisation: each record's level drawn anew from the column of its true one."""
    matrix = np.asarray(theta, dtype=np.float64)
    check_matrix(matrix, len(matrix), "theta")
    cumulative = np.cumsum(matrix, axis=0)
    drawn = (rng.random(len(values))[None, :] >= cumulative[:, values]).sum(axis=0)
    return np.asarray(np.minimum(drawn, len(matrix) - 1), dtype=np.int32)


def observed_matrix(true: NDArray[np.int32], observed: NDArray[np.int32], levels: int) -> NDArray[np.float64]:
    """The share of the records of each true level that are observed at each level; levels without records stay put."""
    table = np.zeros((levels, levels))
    np.add.at(table, (observed, true), 1.0)
    sums = table.sum(axis=0)
    return np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), np.eye(levels))


def _check_rate(rate: float) -> None:
    if not 0.0 <= rate <= 1.0:
        raise TrystError(ErrorCode.PARAMETER, "a share lies from 0 to 1", where="rate", got=f"{rate:g}")
