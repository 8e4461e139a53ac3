r"""How crowded the table is around each occupied cell, counted without the cell itself.

How many people share a combination of key values is not seen in the combination's own count, which is 1 for every
sample unique; it shows in the records *near* it. Four numbers are taken for each cell, all from counts of the other
cells, so that they are independent of the cell's own count whatever it is:

- records that differ in exactly one key variable, and in exactly two;
- what independence of the keys would expect here;
- what the tree of the strongest pairwise dependences (Chow and Liu) would expect here.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gemel.risk.models.counts import SparseCounts, distinct_rows

PREDICTORS = ("independence", "tree", "differ in one key", "differ in two keys")

_HALF = 0.5  # added to a count before its logarithm


def neighbourhood(table: SparseCounts) -> NDArray[np.float64]:
    r"""Logarithms of the four predictors of each cell.

    Parameters
    ----------
    table
        The occupied cells and their counts f.

    Returns
    -------
    ndarray of float64, shape (n_cells, 4)
        In the order of `PREDICTORS`; counts have 1/2 added before the logarithm is taken. Records that differ in every
        key are no predictor (with the others they would give the cell's own count away): with two keys or one, that
        column is the same for all cells.

    Notes
    -----
    With :math:`c_S` the other records that agree with the cell on the variables S (the margin's count less f), the
    records that differ in exactly one variable are :math:`\sum_k c_{-k}`, and those that differ in exactly two
    :math:`\sum_{k<l} c_{-kl} - (K - 1) \sum_k c_{-k}`. One sort of the cells for each pair of variables:
    O(K^2 n log n).

    References
    ----------
    .. [1] Chow and Liu, Approximating discrete probability distributions with dependence trees, 1968.
    """
    K = len(table.levels)
    others = range(K)
    single = [_others(table, [k]) for k in others]
    one, two = np.zeros(len(table.cells)), np.zeros(len(table.cells))
    if K > 1:
        one = np.sum([_others(table, [q for q in others if q != k]) for k in others], axis=0)
    if K > 2:
        for k, m in combinations(others, 2):
            two += _others(table, [q for q in others if q not in (k, m)])
        two -= (K - 1) * one
    independence = np.sum([_log(c) for c in single], axis=0) - (K - 1) * _log(table.total - table.counts)
    return np.stack([independence, _tree(table, single), _log(one), _log(two)], axis=1)


def _tree(table: SparseCounts, single: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Logarithm of the mean by the spanning tree of greatest mutual information."""
    K, f = len(single), table.counts
    pairs = {pair: _others(table, list(pair)) for pair in combinations(range(K), 2)}
    information = {
        (k, m): float((f * np.log((c + f) * table.total / ((single[k] + f) * (single[m] + f)))).sum())
        for (k, m), c in pairs.items()
    }
    joined = list(range(K))
    mean = np.sum([_log(c) for c in single], axis=0) - (K - 1) * np.log(table.total)  # the total cancels
    for k, m in sorted(information, key=lambda pair: -information[pair]):
        if joined[k] != joined[m]:
            mean = mean + _log(pairs[k, m]) + np.log(table.total) - _log(single[k]) - _log(single[m])
            joined = [joined[k] if group == joined[m] else group for group in joined]
    return np.asarray(mean)


def _others(table: SparseCounts, kept: list[int]) -> NDArray[np.float64]:
    """Records that agree with each cell on the kept variables and are not of the cell itself."""
    _, group = distinct_rows(table.cells[:, kept], [table.levels[v] for v in kept])
    return np.bincount(group, weights=table.counts)[group] - table.counts


def _log(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(counts + _HALF)
