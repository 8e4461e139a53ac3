"""Intervals of the digests of blocks, by which the rows of a rule are cut into sets of bounded size.

A block is in one interval, so that rows of two intervals are never compared: a set can be signed, sent, checked and
compared with the other file's by itself, in memory that does not grow with the file. Digests are keyed and uniform, so
that intervals of equal length have about equally many blocks, and where the cuts lie tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

INTERVAL_ROWS = 1 << 16
"""Rows that a set has at most, on average: at 256 bits some 20 MB for ten fields."""


class Interval(NamedTuple):
    """An interval of the 64-bit digests of blocks: those whose first bits are a number.

    Examples
    --------
    >>> Interval(1, 4).holds(np.array([2**62, 2**63], dtype=np.uint64)).tolist()
    [True, False]
    """

    number: int = 0
    of: int = 1
    """Which one, from 0, of so many of equal length, a power of two."""

    def holds(self, digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return np.asarray(interval_of(digests, self.of) == self.number)


WHOLE = Interval()
"""All digests."""


def interval_of(digests: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """The number of the interval, of so many, that each digest is in."""
    if count == 1:
        return np.zeros(len(digests), dtype=np.int64)
    return (digests >> np.uint64(65 - count.bit_length())).astype(np.int64)


def intervals(n_rows: int) -> int:
    """The number of intervals for a rule with so many rows: as few as keep to `INTERVAL_ROWS`."""
    return 1 << max(0, -(-n_rows // INTERVAL_ROWS) - 1).bit_length()


def in_intervals(
    rows: NDArray[np.int64], digests: NDArray[np.uint64], count: int | None = None
) -> Iterator[tuple[Interval, NDArray[np.int64]]]:
    """The rows of each interval, in their order, by the digests of their blocks; both arrays of shape (n_rows,).
    `count` is the number of intervals; None: that of a rule with these rows."""
    count = intervals(len(rows)) if count is None else count
    number = interval_of(digests, count)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=count))
    for place, end in enumerate(ends):
        begin = ends[place - 1] if place else 0
        yield Interval(place, count), rows[order[begin:end]]
