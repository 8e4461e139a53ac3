"""Compiled enumeration of pairs of rows, any stretch of it at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def all_pairs(start: int, stop: int, n_b: int, row_a: NDArray[np.int32], row_b: NDArray[np.int32]) -> int:
    """Write the pairs `start` to `stop` of the whole product, B's rows varying fastest; return their number."""
    i = start // n_b
    j = start % n_b
    n = stop - start
    for k in range(n):
        row_a[k] = i
        row_b[k] = j
        j += 1
        if j == n_b:
            j = 0
            i += 1
    return n


class Blocks(NamedTuple):
    """The blocks of a rule.

    Attributes
    ----------
    ends : ndarray of int64, shape (n_blocks,)
        Number of pairs in each block and all before it.
    first_a, first_b : ndarray of int64, shape (n_blocks,)
        Where each block begins in `order_a` and `order_b`.
    size_a, size_b : ndarray of int64, shape (n_blocks,)
        Rows in each block.
    order_a, order_b : ndarray of int32, shape (n_rows,)
        Row numbers in the order of the rule's keys.
    """

    ends: NDArray[np.int64]
    first_a: NDArray[np.int64]
    first_b: NDArray[np.int64]
    size_a: NDArray[np.int64]
    size_b: NDArray[np.int64]
    order_a: NDArray[np.int32]
    order_b: NDArray[np.int32]

    @property
    def n_pairs(self) -> int:
        """Pairs of all blocks."""
        return int(self.ends[-1]) if len(self.ends) else 0


@njit(nogil=True, cache=True)
def block_pairs(
    start: int,
    stop: int,
    rule: int,
    blocks: Blocks,
    keys_a: NDArray[np.uint64],
    keys_b: NDArray[np.uint64],
    row_a: NDArray[np.int32],
    row_b: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> int:
    """Write those of a rule's pairs `start` to `stop` that satisfy no earlier rule; return their number.

    Parameters
    ----------
    start, stop : int
        A stretch of the rule's pairs, block after block, B's rows varying fastest.
    rule : int
        Which rule it is, from 0.
    blocks : Blocks
        The blocks of the rule.
    keys_a, keys_b : ndarray of uint64, shape (n_rows, n_rules)
        Blocking keys of the rows under all rules.
    row_a, row_b, mask : ndarray
        Receive the pairs and the rules they satisfy; at least `stop - start` long.
    """
    n_rules = keys_a.shape[1]
    n = 0
    block = np.searchsorted(blocks.ends, start, side="right")
    at = start
    while at < stop:
        before = blocks.ends[block - 1] if block > 0 else 0
        end = min(stop, blocks.ends[block])
        i = (at - before) // blocks.size_b[block]
        j = (at - before) % blocks.size_b[block]
        a = blocks.order_a[blocks.first_a[block] + i]
        while at < end:
            b = blocks.order_b[blocks.first_b[block] + j]
            seen = False
            for earlier in range(rule):
                if keys_a[a, earlier] != 0 and keys_a[a, earlier] == keys_b[b, earlier]:
                    seen = True
                    break
            if not seen:
                satisfied = np.uint32(1) << np.uint32(rule)
                for later in range(rule + 1, n_rules):
                    if keys_a[a, later] != 0 and keys_a[a, later] == keys_b[b, later]:
                        satisfied |= np.uint32(1) << np.uint32(later)
                row_a[n] = a
                row_b[n] = b
                mask[n] = satisfied
                n += 1
            at += 1
            j += 1
            if j == blocks.size_b[block] and at < end:
                j = 0
                i += 1
                a = blocks.order_a[blocks.first_a[block] + i]
        block += 1
    return n
