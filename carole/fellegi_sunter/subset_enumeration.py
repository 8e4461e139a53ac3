r"""Exact probabilities of links among few records, by dynamic programming over the subsets of the smaller side.

Records of the larger side are taken one after another; what matters of those before is which records of the smaller
side they have taken. With F the summed weights of all ways to come to a subset and B of all ways to go on from it,

.. math:: P(i, j) = \sum_{S \not\ni j} F_i(S)\, w_{ij}\, B_{i+1}(S \cup j) / Z.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

MAX_SUBSET_SIDE = 12
"""Records of the smaller side: 4,096 subsets."""


@njit(nogil=True, cache=True, error_model="numpy")
def _enumerated(
    first: NDArray[np.int64],
    bit: NDArray[np.int64],
    weight: NDArray[np.float64],
    free: NDArray[np.float64],
    n_bits: int,
    probability: NDArray[np.float64],
) -> float:
    """Write the probability of each link of a small graph, NaN if the weights are out of range; return their log sum.

    Parameters
    ----------
    first : ndarray of int64, shape (n_larger + 1,)
        Edges of each record of the larger side: consecutive.
    bit : ndarray of int64, shape (n_edges,)
        Record of the smaller side of each edge, 0 to `n_bits` - 1.
    weight : ndarray of float64, shape (n_edges,)
        Of each link, beside 1 for a record of the larger side without one.
    free : ndarray of float64, shape (n_bits,)
        Weight of a record of the smaller side without a link.
    n_bits : int
        At most `MAX_SUBSET_SIDE`.
    probability : ndarray of float64, shape (n_edges,)
        Written.

    Notes
    -----
    O(n_edges * 2 ** n_bits) time, O(n_larger * 2 ** n_bits) memory.
    """
    n = len(first) - 1
    size = 1 << n_bits
    ways = np.zeros((n + 1, size))
    ways[0, 0] = 1.0
    none = np.empty(n)
    log_sum = 0.0
    for i in range(n):
        # The largest weight of a record's choices is made 1, so that the likely matchings stay in range.
        top = 1.0
        for e in range(first[i], first[i + 1]):
            top = max(top, weight[e])
        none[i] = 1.0 / top
        largest = 0.0
        for s in range(size):
            before = ways[i, s]
            if before == 0.0:
                continue
            ways[i + 1, s] += before * none[i]
            for e in range(first[i], first[i + 1]):
                if not (s >> bit[e]) & 1:
                    ways[i + 1, s | (1 << bit[e])] += before * (weight[e] * none[i])
        for s in range(size):
            largest = max(largest, ways[i + 1, s])
        ways[i + 1] /= largest
        log_sum += np.log(largest) + np.log(top)
    after = np.ones(size)
    for s in range(size):
        for j in range(n_bits):
            if not (s >> j) & 1:
                after[s] *= free[j]
    total = (ways[n] * after).sum()
    if not (total > 0.0 and total < np.inf):
        probability[:] = np.nan
        return np.nan
    log_sum += np.log(total)
    for i in range(n - 1, -1, -1):
        before = np.zeros(size)
        linked = 0.0
        for s in range(size):
            before[s] = after[s] * none[i]
        unlinked = (ways[i] * before).sum()
        for e in range(first[i], first[i + 1]):
            here = 0.0
            for s in range(size):
                if not (s >> bit[e]) & 1:
                    x = weight[e] * none[i] * after[s | (1 << bit[e])]
                    before[s] += x
                    here += ways[i, s] * x
            probability[e] = here
            linked += here
        for e in range(first[i], first[i + 1]):
            probability[e] /= linked + unlinked
        after = before / before.max()
    return float(log_sum)


@njit(nogil=True, cache=True)
def enumerate_links(
    group_first: NDArray[np.int64],
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    weight: NDArray[np.float64],
    pull: NDArray[np.float64],
    n_rows: int,
    n_columns: int,
    probability: NDArray[np.float64],
) -> int:
    """Exact probabilities of links in small groups of records, each by itself.

    Parameters
    ----------
    group_first : ndarray of int64, shape (n_groups + 1,)
        Edges of each group: consecutive.
    row, column : ndarray of int32, shape (n_edges,)
        Records of A and of B, below `n_rows` and `n_columns`. No group may have more than `MAX_SUBSET_SIDE` of both.
    weight : ndarray of float64, shape (n_edges,)
        Of each link, beside 1 for a record without one.
    pull : ndarray of float64, shape (n_columns,)
        About the probability that a record of B has no link: a scale that keeps sums in range, any positive number.
    n_rows, n_columns : int
    probability : ndarray of float64, shape (n_edges,)
        Written: NaN in a group whose weights are out of the range of floats.

    Notes
    -----
    O(n_edges * 2 ** smaller side) for each group.
    """
    local_row, local_column = np.empty(n_rows, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    failed = 0
    for g in range(len(group_first) - 1):
        begin, end = group_first[g], group_first[g + 1]
        for e in range(begin, end):
            local_row[row[e]] = -1
            local_column[column[e]] = -1
        rows, columns = 0, 0
        scale = np.empty(end - begin)
        for e in range(begin, end):
            if local_row[row[e]] < 0:
                local_row[row[e]] = rows
                rows += 1
            if local_column[column[e]] < 0:
                scale[columns] = pull[column[e]]
                local_column[column[e]] = columns
                columns += 1
        by_row = columns <= rows
        larger, smaller = max(rows, columns), min(rows, columns)
        first = np.zeros(larger + 1, dtype=np.int64)
        for e in range(begin, end):
            first[1 + (local_row[row[e]] if by_row else local_column[column[e]])] += 1
        first = np.cumsum(first)
        place, bit, scaled = first.copy(), np.empty(end - begin, dtype=np.int64), np.empty(end - begin)
        source = np.empty(end - begin, dtype=np.int64)
        for e in range(begin, end):
            i = local_row[row[e]] if by_row else local_column[column[e]]
            k = place[i]
            place[i] += 1
            bit[k] = local_column[column[e]] if by_row else local_row[row[e]]
            scaled[k] = weight[e] * pull[column[e]] if by_row else weight[e]
            source[k] = e
        found = np.empty(end - begin)
        free = scale[:smaller] if by_row else np.ones(smaller)
        if np.isnan(_enumerated(first, bit, scaled, free, smaller, found)):
            failed += 1
        for k in range(end - begin):
            probability[source[k]] = found[k]
    return failed
