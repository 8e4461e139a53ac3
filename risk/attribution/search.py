"""The extended shuttle algorithm: tight bounds and feasible tables, by trial and retraction.

A trial fixes a cell at a value and propagates through the dependencies that touch what moved; a contradiction retracts
it. Fixing base cells one by one until all are fixed reaches a feasible table, and going through all values all of them.
The search is compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.search_kernels import explore, fix
from gemel.risk.attribution.shuttle import Contradiction, Shuttled

LARGEST = 200_000
"""Recoded cells above which a search, which copies their bounds at each depth, is refused."""

_ALL_FOUND = 0


class Search:
    """The state that searches share: tightened bounds, and which dependencies touch which recoded cell."""

    def __init__(self, tightened: Shuttled) -> None:
        lattice = tightened.lattice
        if lattice.size > LARGEST:
            raise GemelError(
                ErrorCode.PARAMETER,
                f"a search over {lattice.size} recoded cells would not end",
                remedy=f"use integer programming, or a lattice of at most {LARGEST} (kind 'chain')",
            )
        self.lattice = lattice
        self.low, self.high = tightened.lower.ravel().copy(), tightened.upper.ravel().copy()
        self.base = lattice.base
        self.deps = lattice.dependencies
        nodes = self.deps.ravel()
        order = np.argsort(nodes, kind="stable")
        self._touching = (order // 3).astype(np.int32)
        self._starts = np.searchsorted(nodes[order], np.arange(lattice.size + 1)).astype(np.int64)
        if (self.high[self.base] >= INFINITE).any():
            raise GemelError(
                ErrorCode.PARAMETER,
                "some cell has no upper bound, so there is no end of feasible tables",
                remedy="publish a total, or state the population's size",
            )

    def _trial(self, node: int, value: int, steps: int) -> tuple[NDArray[np.int64] | None, bool]:
        """A feasible table with a recoded cell at a value, and whether the answer is certain."""
        low, high = self.low.copy(), self.high.copy()
        queue, queued = np.empty(len(self.deps) + 1, np.int32), np.zeros(len(self.deps), np.bool_)
        if not fix(low, high, node, value, value, self.deps, self._starts, self._touching, queue, queued):
            return None, True
        found = np.empty((1, len(self.base)), dtype=np.int64)
        count, _, cut = explore(low, high, self.base, self.deps, self._starts, self._touching, found, steps)
        return (found[0] if count else None), count > 0 or cut == _ALL_FOUND

    def above(self, floor: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64] | None, bool]:
        """A feasible table with at least so many in each base cell, and whether the answer is certain."""
        low, high = self.low.copy(), self.high.copy()
        queue, queued = np.empty(len(self.deps) + 1, np.int32), np.zeros(len(self.deps), np.bool_)
        for i in np.flatnonzero(floor > low[self.base]):
            if not fix(
                low, high, self.base[i], floor[i], INFINITE, self.deps, self._starts, self._touching, queue, queued
            ):
                return None, True
        found = np.empty((1, len(self.base)), dtype=np.int64)
        count, _, cut = explore(low, high, self.base, self.deps, self._starts, self._touching, found, steps)
        return (found[0] if count else None), count > 0 or cut == _ALL_FOUND

    def tighten(self, node: int, seen: NDArray[np.int64] | None = None, steps: int = 1_000_000) -> tuple[bool, bool]:
        """Make the bounds of a recoded cell tight; whether lower and upper are proven so.

        `seen`, shape (2, n_cells), holds the least and largest value of each base cell in tables found so far, and is
        kept up to date. What is learnt about one cell is propagated to all others.
        """
        proven = [False, False]
        place = np.flatnonzero(self.base == node)
        for side in (0, 1):
            while True:
                value = int(self.low[node] if side == 0 else self.high[node])
                if seen is not None and len(place) and seen[side, place[0]] == value:
                    proven[side] = True
                    break
                table, certain = self._trial(node, value, steps)
                if table is not None:
                    if seen is not None:
                        np.minimum(seen[0], table, out=seen[0])
                        np.maximum(seen[1], table, out=seen[1])
                    proven[side] = True
                    break
                if not certain:
                    break
                self._narrow(node, value + 1 if side == 0 else -1, INFINITE if side == 0 else value - 1)
        return proven[0], proven[1]

    def _narrow(self, node: int, minimum: int, maximum: int) -> None:
        queue, queued = np.empty(len(self.deps) + 1, np.int32), np.zeros(len(self.deps), np.bool_)
        if not fix(self.low, self.high, node, minimum, maximum, self.deps, self._starts, self._touching, queue, queued):
            raise Contradiction("release")
