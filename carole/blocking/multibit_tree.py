"""A tree over signatures that finds all signatures within some number of disagreeing bits of a given one.

Each node holds the bits that all signatures below it have in common. A query that disagrees with more of them than
allowed stops there. Nodes are split at the bit that divides a sample of their signatures most evenly. The result is
exact whatever the tree; only the time depends on it, from one walk down the tree when the allowed number is small to
all pairs when it is near half of the bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.carole.comparison.kernels import popcount
from gemel.common.progress import StageProgress

LEAF = 8
"""Maximum number of signatures in a leaf, which are compared one by one."""

LOOKED_AT = 64
"""Signatures sampled from a node to choose its splitting bit."""

_QUERIES = 256


class MultibitTree:
    """A multibit tree.

    Parameters
    ----------
    signatures : ndarray of uint64, shape (n, words)
        Distinct.

    Notes
    -----
    Built in O(n * depth * words) and n/4 nodes of two signatures each, at most twice that.
    """

    def __init__(self, signatures: NDArray[np.uint64]) -> None:
        self._signatures = np.ascontiguousarray(signatures)
        self._tree = _build(self._signatures)

    def within(
        self, queries: NDArray[np.uint64], allowed: int, maximum: int, progress: StageProgress
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """For each query the signatures with at most `allowed` disagreeing bits.

        Parameters
        ----------
        queries : ndarray of uint64, shape (n_queries, words)
        allowed : int
        maximum : int
            Stop soon after this many in all; the caller sees that there are more.
        progress : callable
            Called with the fraction of the queries done.

        Returns
        -------
        first : ndarray of int64, shape (n_queries + 1,)
        found : ndarray of int32
            Ascending positions ``found[first[i]:first[i + 1]]`` for query i.
        """
        queries = np.ascontiguousarray(queries)
        counts: list[NDArray[np.int64]] = []
        found: list[NDArray[np.int32]] = []
        total = 0
        room = np.empty(max(len(self._signatures), 1), dtype=np.int32)
        for start in range(0, len(queries), _QUERIES):
            part = queries[start : start + _QUERIES]
            count = np.zeros(len(part), dtype=np.int64)
            for i, query in enumerate(part):
                n = _search(query, allowed, self._signatures, *self._tree, room)
                count[i] = n
                found.append(np.sort(room[:n]))
            counts.append(count)
            total += int(count.sum())
            progress(min(1.0, (start + _QUERIES) / len(queries)))
            if total > maximum:
                break
        first = np.concatenate([np.zeros(1, dtype=np.int64), *counts]).cumsum()
        return first, np.concatenate([np.empty(0, dtype=np.int32), *found])


_Tree = tuple[
    NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]
]


@njit(nogil=True, cache=True)
def _build(signatures: NDArray[np.uint64]) -> _Tree:
    """Order of the signatures; each node's first and end in it and its right child (0: a leaf; the left one follows
    the node); the bits in common and their values."""
    n, words = signatures.shape
    order = np.arange(n).astype(np.int32)
    room = max(1, 2 * n)
    first = np.zeros(room, dtype=np.int64)
    end = np.zeros(room, dtype=np.int64)
    right = np.zeros(room, dtype=np.int64)
    common = np.zeros((room, words), dtype=np.uint64)
    value = np.zeros((room, words), dtype=np.uint64)
    stack = [(0, n, -1)]
    nodes = 0
    while len(stack) > 0:
        lo, hi, parent = stack.pop()
        node = nodes
        nodes += 1
        if parent >= 0:
            right[parent] = node
        first[node] = lo
        end[node] = hi
        for w in range(words):
            every = ~np.uint64(0)
            some = np.uint64(0)
            for k in range(lo, hi):
                every &= signatures[order[k], w]
                some |= signatures[order[k], w]
            common[node, w] = ~(every ^ some)
            value[node, w] = every
        if hi - lo <= LEAF:
            continue
        looked_at = min(LOOKED_AT, hi - lo)
        best = looked_at + 1
        split_word = 0
        split_bit = np.uint64(0)
        for w in range(words):
            for bit in range(64):
                ones = 0
                for k in range(lo, lo + looked_at):
                    ones += int((signatures[order[k], w] >> np.uint64(bit)) & np.uint64(1))
                if ones != 0 and ones != looked_at and abs(2 * ones - looked_at) < best:
                    best = abs(2 * ones - looked_at)
                    split_word = w
                    split_bit = np.uint64(bit)
        middle = lo
        for k in range(lo, hi):
            if (signatures[order[k], split_word] >> split_bit) & np.uint64(1) == 0:
                order[k], order[middle] = order[middle], order[k]
                middle += 1
        # The left child is taken next, and so follows its parent.
        stack.append((middle, hi, node))
        stack.append((lo, middle, -1))
    return order, first[:nodes], end[:nodes], right[:nodes], common[:nodes], value[:nodes]


@njit(nogil=True, cache=True)
def _search(
    query: NDArray[np.uint64],
    allowed: int,
    signatures: NDArray[np.uint64],
    order: NDArray[np.int32],
    first: NDArray[np.int64],
    end: NDArray[np.int64],
    right: NDArray[np.int64],
    common: NDArray[np.uint64],
    value: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> int:
    """Write the signatures within `allowed` disagreeing bits of one, in no order; return their number."""
    n = 0
    words = len(query)
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        minimum = np.uint64(0)
        for w in range(words):
            minimum += popcount((query[w] ^ value[node, w]) & common[node, w])
        if minimum > allowed:
            continue
        if right[node] > 0:
            stack.append(right[node])
            stack.append(node + 1)
            continue
        for k in range(first[node], end[node]):
            distance = np.uint64(0)
            for w in range(words):
                distance += popcount(query[w] ^ signatures[order[k], w])
            if distance <= allowed:
                out[n] = order[k]
                n += 1
    return n
