"""Many partitions joined with one, compiled. What it means is `partitions.join`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.risk.keyvars.partitions import Partition, Precision


def joined(rows: Sequence[Precision], with_: Partition) -> list[Precision]:
    """Each of `rows` harmonised with `with_`; arbitrary precision gives `with_`.

    Notes
    -----
    O(rows * k) for k leaves.
    """
    given = np.array([with_ if row is None else row for row in rows], dtype=np.int32)
    return [tuple(row) for row in _joins(given, np.array(with_, dtype=np.int32)).tolist()]


@njit(cache=True, nogil=True)
def _joins(rows: NDArray[np.int32], with_: NDArray[np.int32]) -> NDArray[np.int32]:
    n, k = rows.shape
    found = np.empty((n, k), dtype=np.int32)
    parent = np.empty(k, dtype=np.int32)
    first = np.empty(k, dtype=np.int32)
    number = np.empty(k, dtype=np.int32)
    for i in range(n):
        for leaf in range(k):
            parent[leaf] = leaf
            first[leaf] = -1
            number[leaf] = -1
        for leaf in range(k):
            mine, theirs = rows[i, leaf], with_[leaf]
            if first[mine] < 0:
                first[mine] = theirs
                continue
            a = first[mine]
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            b = theirs
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
        blocks = 0
        for leaf in range(k):
            a = with_[leaf]
            while parent[a] != a:
                a = parent[a]
            if number[a] < 0:
                number[a] = blocks
                blocks += 1
            found[i, leaf] = number[a]
    return found
