"""The generalised shuttle algorithm: bounds of every recoded cell, tightened until nothing moves.

For a whole C that is the disjoint union of A and B: C lies between the sums of their bounds, and each part between the
whole's bounds less the other's. A sweep applies this to every dependency. Bounds only ever tighten and are valid at any
moment (an anytime algorithm); at the fixed point they are tight for exact decomposable releases, and not always else:
`search` makes them so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.attribution.lattice import Lattice, lattice
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.release import Release


class Contradiction(GemelError):
    """A lower bound above its upper bound: no table satisfies the release."""

    def __init__(self, where: str) -> None:
        super().__init__(ErrorCode.PARAMETER, "no population satisfies the published tables together", where=where)

    def __reduce__(self) -> tuple[object, ...]:
        return (Contradiction, (self.where,))


@dataclass(frozen=True, eq=False)
class Shuttled:
    """Bounds of all recoded cells.

    Parameters
    ----------
    lattice
        What the axes of the bounds are.
    lower, upper : ndarray of int64, shape ``lattice.shape``
        Valid bounds; `laws.INFINITE` where there is none.
    sweeps
        How many were made.
    exhausted
        Whether the last one changed nothing (False when time ran out).
    """

    lattice: Lattice
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    sweeps: int
    exhausted: bool

    def base(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Bounds of the base table's cells, flat."""
        return self.lower.ravel()[self.lattice.base], self.upper.ravel()[self.lattice.base]


def shuttle(
    release: Release,
    over: Lattice | None = None,
    *,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Shuttled:
    """Run the shuttle algorithm.

    Parameters
    ----------
    release
        Exact, protected and sampled tables.
    over
        The recoded cells to iterate over; by default the largest family that has room.
    seconds
        Stop after so long, but not before the first sweep; the bounds are valid then, too.
    progress
        Called with the number of the sweep and how many bounds it tightened.

    Raises
    ------
    Contradiction
        If some lower bound passes its upper bound. (Some contradictions are only found by `programming`.)

    Notes
    -----
    O(dependencies) a sweep, by whole-array steps: variable by variable and union by union.

    References
    ----------
    .. [1] Dobra and Fienberg, Bounding entries in multi-way contingency tables, 2001.
    .. [2] Smith, Aspects of statistical disclosure control, 2011, chapter 2.
    """
    cells = over if over is not None else lattice(release)
    lower, upper = cells.start(release)
    ends = None if seconds is None else time.monotonic() + seconds
    sweeps, changed = 0, 1
    while changed and (not sweeps or ends is None or time.monotonic() < ends):
        changed = 0
        for axis, sets in enumerate(cells.families):
            low, high = np.moveaxis(lower, axis, 0), np.moveaxis(upper, axis, 0)
            for whole, a, b in sets.unions:
                changed += _tighten(low, high, whole, a, b)
        sweeps += 1
        if (lower > upper).any():
            raise Contradiction(release.name)
        if progress is not None:
            progress(sweeps, changed)
    return Shuttled(cells, lower, upper, sweeps, changed == 0)


def _tighten(low: NDArray[np.int64], high: NDArray[np.int64], c: int, a: int, b: int) -> int:
    """One union along the first axis, in place; how many bounds moved."""
    moved = 0
    endless = high[c] >= INFINITE  # nothing follows for the parts of a whole without end
    for place, bound in ((c, low[a] + low[b]), (a, low[c] - high[b]), (b, low[c] - high[a])):
        better = bound > low[place]
        count = int(np.count_nonzero(better))
        if count:
            low[place] = np.where(better, bound, low[place])
            moved += count
    for place, bound in (
        (c, high[a] + high[b]),
        (a, np.where(endless, INFINITE, high[c] - low[b])),
        (b, np.where(endless, INFINITE, high[c] - low[a])),
    ):
        better = bound < high[place]
        count = int(np.count_nonzero(better))
        if count:
            high[place] = np.where(better, bound, high[place])
            moved += count
    return moved
