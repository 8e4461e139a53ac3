"""Counting packed comparison vectors with a compiled hash table, and finding pairs by their vector.

A key is a packed vector and a mask of blocking rules. The table is open, with linear probing, kept at most
half full; a slot is empty when its value is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from gemel.common.arrays import I32, I64, U32

Counts = tuple[I64, U32, I64]
"""Distinct packed vectors with their masks, and the number of pairs of each; each of shape (n,)."""


@njit(nogil=True, cache=True)
def _slot(code: np.int64, mask: np.uint32, codes: I64, masks: U32, values: I64) -> int:
    """Where a key is, or would be put."""
    hashed = np.uint64(code) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(mask) * np.uint64(0xC2B2AE3D27D4EB4F)
    hashed ^= hashed >> np.uint64(32)
    last = np.uint64(codes.size - 1)
    slot = hashed & last
    while values[slot] != 0 and (codes[slot] != code or masks[slot] != mask):
        slot = (slot + np.uint64(1)) & last
    return int(slot)


@njit(nogil=True, cache=True)
def _add(code: I64, mask: U32, value: I64, first: int, n: int, codes: I64, masks: U32, values: I64, used: I64) -> int:
    """Add values to the keys `first` to `n`; stop before a key there is no room for, and return where.

    `value` has one entry per key, or a single one that is added to all.
    """
    room = codes.size // 2
    one = value.size == 1
    for i in range(first, n):
        slot = _slot(code[i], mask[i], codes, masks, values)
        if values[slot] == 0:
            if used[0] == room:
                return i
            used[0] += 1
            codes[slot] = code[i]
            masks[slot] = mask[i]
        values[slot] += value[0] if one else value[i]
    return n


@njit(nogil=True, cache=True)
def _find(code: I64, mask: U32, n: int, codes: I64, masks: U32, values: I64, position: I32, value: I32) -> int:
    """Positions of those of the first `n` keys that are in the table, and their values less 1; their number."""
    found = 0
    for i in range(n):
        slot = _slot(code[i], mask[i], codes, masks, values)
        if values[slot] != 0:
            position[found] = i
            value[found] = values[slot] - 1
            found += 1
    return found


class PatternCounter:
    """A hash table from (packed vector, mask) to a positive integer.

    `maximum`: keys it may hold; `add` returns False when there are more.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._used = np.zeros(1, dtype=np.int64)
        # The smallest power of two that holds them half full, or less: the table grows.
        self._allocate(min(1 << 12, 1 << max(4, (2 * maximum).bit_length())))

    def add(self, code: I64, mask: U32, value: I64, n: int) -> bool:
        """Add to the values of the first `n` keys.

        `value`: one per key, or a single one for all; positive. Returns False if the table would have to hold
        more than `maximum` keys; it is then unchanged by the rest.
        """
        done = _add(code, mask, value, 0, n, self._codes, self._masks, self._values, self._used)
        while done < n:
            if self._used[0] >= self._maximum:
                return False
            self._grow()
            done = _add(code, mask, value, done, n, self._codes, self._masks, self._values, self._used)
        return bool(self._used[0] <= self._maximum)

    def find(self, code: I64, mask: U32, n: int, position: I32, value: I32) -> int:
        """Write the positions of those of the first `n` keys that are here, and their values less 1."""
        return _find(code, mask, n, self._codes, self._masks, self._values, position, value)

    def items(self) -> Counts:
        """Codes, masks and values, in no particular order."""
        full = self._values > 0
        return self._codes[full], self._masks[full], self._values[full]

    def _allocate(self, capacity: int) -> None:
        self._codes = np.zeros(capacity, dtype=np.int64)
        self._masks = np.zeros(capacity, dtype=np.uint32)
        self._values = np.zeros(capacity, dtype=np.int64)
        self._used[0] = 0

    def _grow(self) -> None:
        code, mask, value = self.items()
        self._allocate(2 * len(self._codes))
        _add(code, mask, value, 0, len(code), self._codes, self._masks, self._values, self._used)


def summed(parts: Sequence[Counts]) -> Counts:
    """Sum of several counts, sorted by code and mask: the same whichever thread counted what."""
    code, mask, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((mask, code))
    code, mask, value = code[order], mask[order], value[order]
    first = np.ones(len(code), dtype=np.bool_)
    first[1:] = (code[1:] != code[:-1]) | (mask[1:] != mask[:-1])
    starts = np.flatnonzero(first)
    total = np.add.reduceat(value, starts) if len(starts) else value
    return code[starts], mask[starts], total


class Tally:
    """A sum of many counts that holds few of them: each is merged with one that has about as many parts."""

    def __init__(self) -> None:
        self._held: list[tuple[int, Counts]] = []

    def add(self, counts: Counts) -> None:
        parts = 1
        while self._held and self._held[-1][0] == parts:
            counts = summed([self._held.pop()[1], counts])
            parts *= 2
        self._held.append((parts, counts))

    def total(self) -> Counts:
        """The sum, sorted by code and mask."""
        none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int64)
        return summed([none, *(counts for _, counts in self._held)])
