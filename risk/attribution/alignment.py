"""The levels of one table put in the order of another's, where the names of the levels are not known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]

_ROUNDS = 10


def aligned(former: Numbers, latter: Numbers, levels: Sequence[int], work: int) -> list[NDArray[np.int64]] | None:
    """The order of a table's levels in which it is most like another one.

    The releases of two projects have codes under different keys: which level of one is which of the other is found by
    the counts, as whoever has both tables with their labels knows it. Levels are matched by their counts, axis by axis,
    until nothing improves. Of equal levels any order is as good.

    Parameters
    ----------
    former, latter : ndarray of float64
        Of one shape: counts, or expected ones.
    levels
        Of each axis, how many leading levels may be put in another order; the rest (missing values) stay.
    work
        Most subtractions of a step.

    Returns
    -------
    list of ndarray of int64 or None
        For each axis the level of `former` that takes each place (`in_order` applies it); None where a step would need
        more than `work`.

    Notes
    -----
    Not always the best order: where two tables differ in many cells, a better one may exist. Nor always the right one:
    where the change itself makes two levels trade their counts, the order found hides it. O(levels * cells) for each
    axis and round.
    """
    if any(n * former.size > work for n in levels):
        return None
    orders = [np.arange(size) for size in former.shape]
    found = former
    best = math.inf
    for turn in range(_ROUNDS):
        for axis, n in enumerate(levels):
            order = _matched(found, latter, axis, n, profiles=turn == 0)
            orders[axis] = orders[axis][order]
            found = np.take(found, order, axis=axis)
        now = float(np.abs(found - latter).sum())
        if turn and now >= best:
            break
        best = now
    return orders


def in_order(table: Counts, orders: Sequence[NDArray[np.int64]]) -> Counts:
    """A table with its levels in the order that `aligned` has found."""
    return table[np.ix_(*orders)]


def _matched(former: Numbers, latter: Numbers, axis: int, n: int, *, profiles: bool) -> NDArray[np.int64]:
    """One axis put into the order that leaves least; by `profiles` the order of the other axes does not matter."""
    slices = [
        np.moveaxis(table, axis, 0)[:n].reshape(n, math.prod(table.shape) // max(table.shape[axis], 1))
        for table in (former, latter)
    ]
    if profiles:
        slices = [np.sort(part, axis=1) for part in slices]
    cost = np.stack([np.abs(slices[1] - row).sum(axis=1) for row in slices[0]]) if n else np.zeros((0, 0))
    rows, places = linear_sum_assignment(cost)
    order = np.arange(former.shape[axis])
    order[places] = rows
    return order
