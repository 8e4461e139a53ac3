"""Feasible tables by trial and retraction, on the lattice of the shuttle algorithm.

A trial fixes a cell at a value and propagates through the dependencies that touch what moved; a contradiction retracts
it. Fixing base cells one by one until all are fixed reaches a feasible table, and going through all values all of them.
The search is compiled.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gemel.common.errors import parameter
from gemel.risk.arrays import Integers
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.shuttle import Shuttled

# Bounds are flat arrays over recoded cells; `deps` holds a dependency in each row (whole, part, other part), and
# `touching[starts[c] : starts[c + 1]]` are the dependencies that recoded cell c takes part in.


@njit(cache=True)
def propagate(low, high, deps, starts, touching, queue, queued, head, tail):  # type: ignore[no-untyped-def]
    """Work the queue of dependencies off; False at a contradiction (the queue is emptied then, too)."""
    size = len(queue)
    sound = True
    while head != tail:
        d = queue[head]
        head = head + 1 if head + 1 < size else 0
        queued[d] = False
        if not sound:
            continue
        c, a, b = deps[d, 0], deps[d, 1], deps[d, 2]
        for turn in range(6):
            if turn == 0:
                node, bound, raises = c, low[a] + low[b], True
            elif turn == 1:
                node, bound, raises = c, high[a] + high[b], False
            elif turn == 2:
                node, bound, raises = a, low[c] - high[b], True
            elif turn == 3:
                node, bound, raises = a, high[c] - low[b], False
            elif turn == 4:
                node, bound, raises = b, low[c] - high[a], True
            else:
                node, bound, raises = b, high[c] - low[a], False
            if raises and bound > low[node]:
                low[node] = bound
            elif not raises and bound < high[node]:
                high[node] = bound
            else:
                continue
            if low[node] > high[node]:
                sound = False
                break
            for k in range(starts[node], starts[node + 1]):
                other = touching[k]
                if not queued[other]:
                    queued[other] = True
                    queue[tail] = other
                    tail = tail + 1 if tail + 1 < size else 0
    return sound


@njit(cache=True)
def fix(low, high, node, minimum, maximum, deps, starts, touching, queue, queued):  # type: ignore[no-untyped-def]
    """Narrow one recoded cell to least..most and propagate."""
    if minimum > low[node]:
        low[node] = minimum
    if maximum < high[node]:
        high[node] = maximum
    if low[node] > high[node]:
        return False
    tail = 0
    for k in range(starts[node], starts[node + 1]):
        queued[touching[k]] = True
        queue[tail] = touching[k]
        tail += 1
    return propagate(low, high, deps, starts, touching, queue, queued, 0, tail)


@njit(cache=True)
def explore(low, high, base, deps, starts, touching, found, steps):  # type: ignore[no-untyped-def]
    """Depth-first search from propagated bounds; fills `found` with feasible base tables.

    Returns (tables found, steps taken, whether the search was cut short).
    """
    cells, nodes = len(base), len(low)
    lows, highs = np.empty((cells + 1, nodes), np.int64), np.empty((cells + 1, nodes), np.int64)
    queue, queued = np.empty(len(deps) + 1, np.int32), np.zeros(len(deps), np.bool_)
    branch, value = np.empty(cells + 1, np.int64), np.empty(cells + 1, np.int64)
    lows[0], highs[0] = low, high
    depth, count, taken, entering = 0, 0, 0, True
    while depth >= 0:
        if entering:
            # The undecided cell with the fewest values: contradictions show early.
            best, narrow = -1, np.int64(0)
            for i in range(cells):
                width = highs[depth, base[i]] - lows[depth, base[i]]
                if width > 0 and (best < 0 or width < narrow):
                    best, narrow = i, width
            if best < 0:
                if count == len(found):
                    return count, taken, 1
                for i in range(cells):
                    found[count, i] = lows[depth, base[i]]
                count += 1
                depth -= 1
                entering = False
                continue
            branch[depth] = base[best]
            value[depth] = lows[depth, base[best]]
        else:
            value[depth] += 1
        node = branch[depth]
        entering = False
        if value[depth] > highs[depth, node]:
            depth -= 1
            continue
        taken += 1
        if taken > steps:
            return count, taken, 1
        lows[depth + 1] = lows[depth]
        highs[depth + 1] = highs[depth]
        if fix(
            lows[depth + 1], highs[depth + 1], node, value[depth], value[depth], deps, starts, touching, queue, queued
        ):
            depth += 1
            entering = True
    return count, taken, 0


LARGEST = 200_000  # recoded cells above which a search, which copies their bounds at each depth, is refused

_ALL_FOUND = 0


class Search:
    """The state that searches share: tightened bounds, and which dependencies touch which recoded cell."""

    def __init__(self, tightened: Shuttled) -> None:
        lattice = tightened.lattice
        if lattice.size > LARGEST:
            remedy = f"use integer programming, or a lattice of at most {LARGEST} (kind 'chain')"
            raise parameter("", f"a search over {lattice.size} recoded cells would not end", remedy=remedy)
        self.low, self.high = tightened.lower.ravel().copy(), tightened.upper.ravel().copy()
        self.base = lattice.base
        self.deps = lattice.dependencies
        nodes = self.deps.ravel()
        order = np.argsort(nodes, kind="stable")
        self._touching = (order // 3).astype(np.int32)
        self._starts = np.searchsorted(nodes[order], np.arange(lattice.size + 1)).astype(np.int64)
        if (self.high[self.base] >= INFINITE).any():
            what = "some cell has no upper bound, so there is no end of feasible tables"
            raise parameter("", what, remedy="publish a total, or state the population's size")

    def above(self, floor: Integers, steps: int) -> tuple[Integers | None, bool]:
        """A feasible table with at least so many in each base cell, and whether the answer is certain."""
        low, high = self.low.copy(), self.high.copy()
        queue, queued = np.empty(len(self.deps) + 1, np.int32), np.zeros(len(self.deps), np.bool_)
        links = self.deps, self._starts, self._touching
        for i in np.flatnonzero(floor > self.low[self.base]):
            if not fix(low, high, self.base[i], floor[i], INFINITE, *links, queue, queued):
                return None, True
        found = np.empty((1, len(self.base)), dtype=np.int64)
        count, _, cut = explore(low, high, self.base, *links, found, steps)
        return (found[0] if count else None), count > 0 or cut == _ALL_FOUND
