"""The generalised shuttle algorithm: bounds of every recoded cell, tightened until nothing moves.

Cells of recoded tables, and how they add up: what the shuttle algorithm iterates over.

A cell of a recoded table is a product of sets of levels, one set for each variable (all levels: the variable is summed
out). For each variable a *family* of sets is kept, with the ways in which one set of the family is the disjoint union
of two others; a dependency of the shuttle algorithm is such a union in one variable, with the sets of the others fixed.

Three families: every set of levels (`all`: 2^l - 1 sets, which gives the bounds of every possible recoding), runs of
neighbouring levels (`runs`: l(l+1)/2, every recoding of an ordered variable), and single levels with what is needed to
reach the published sets (`chain`: 2l - 1). The larger the family, the tighter the bounds may be.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Codes, Integers
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.release import Release

Kind = Literal["all", "runs", "chain"]

ROOM = 20_000_000  # recoded cells for which two arrays of bounds are kept in memory without an explicit request


@dataclass(frozen=True)
class Family:
    """Sets of a variable's levels, as bits, and the unions among them."""

    sets: tuple[int, ...]
    unions: tuple[tuple[int, int, int], ...]

    @cached_property
    def place(self) -> dict[int, int]:
        return {s: i for i, s in enumerate(self.sets)}


def family(levels: int, kind: Kind, published: Sequence[int] = ()) -> Family:
    """A family over `levels` levels that holds every single level, all levels together and the `published` sets."""
    full = (1 << levels) - 1
    singles = [1 << k for k in range(levels)]
    if kind == "all":
        sets = singles + [s for s in range(1, full + 1) if s.bit_count() > 1]
        unions = [(s, a, s ^ a) for s in sets for a in _proper_subsets(s) if a < s ^ a]
    elif kind == "runs":
        ends = list(combinations(range(levels), 2))
        sets = singles + [_run(i, j) for i, j in ends]
        unions = [(_run(i, j), _run(i, m), _run(m + 1, j)) for i, j in ends for m in range(i, j)]
        if set(published) - set(sets):
            return _completed(levels, sets, unions, published)
    else:
        return _completed(levels, singles, [], [*published, full])
    return _indexed(sets, unions)


def _completed(levels: int, sets: list[int], unions: list[tuple[int, int, int]], published: Sequence[int]) -> Family:
    """Add sets, each reached from single levels, and the whole reached from disjoint published sets, one at a time."""
    sets, unions = list(sets), list(unions)

    def chain(parts: Sequence[int]) -> None:
        reached = parts[0]
        for part in parts[1:]:
            union = reached | part
            if union not in sets:
                sets.append(union)
            triple = (union, min(reached, part), max(reached, part))
            if triple not in unions:
                unions.append(triple)
            reached = union

    for selected in published:
        chain([1 << k for k in range(levels) if selected >> k & 1])
    several = sorted({s for s in published if s.bit_count() > 1 and s != (1 << levels) - 1})
    if several:
        cover, rest = [], (1 << levels) - 1
        for s in several:
            if s & rest == s:
                cover.append(s)
                rest ^= s
        chain([*cover, *(1 << k for k in range(levels) if rest >> k & 1)])
    return _indexed(sets, unions)


def _indexed(sets: Sequence[int], unions: Sequence[tuple[int, ...]]) -> Family:
    place = {s: i for i, s in enumerate(sets)}
    return Family(tuple(sets), tuple((place[c], place[a], place[b]) for c, a, b in unions))


def _run(first: int, last: int) -> int:
    return (1 << last + 1) - (1 << first)


def _proper_subsets(mask: int) -> list[int]:
    found, sub = [], (mask - 1) & mask
    while sub:
        found.append(sub)
        sub = (sub - 1) & mask
    return found


@dataclass(frozen=True, eq=False)
class Lattice:
    """All recoded cells of a base table: a family for each variable.

    `shape`: number of sets of each variable; a recoded cell is an index into an array of that shape.
    """

    levels: tuple[int, ...]
    families: tuple[Family, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(f.sets) for f in self.families)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def place(self, members: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The recoded cell that is a product of sets of levels."""
        return tuple(f.place[_mask(m)] for f, m in zip(self.families, members, strict=True))

    @cached_property
    def base(self) -> Integers:
        """Flat numbers of the base cells among the recoded cells, in the order of the base table."""
        if not self.levels:
            return np.zeros(1, dtype=np.int64)
        grid = np.meshgrid(*[np.arange(n) for n in self.levels], indexing="ij")
        return np.ravel_multi_index(tuple(grid), self.shape).ravel().astype(np.int64)

    @cached_property
    def dependencies(self) -> Codes:
        """Every dependency as flat numbers (whole, part, other part), shape (n, 3). For small lattices only."""
        numbers = np.arange(self.size, dtype=np.int32).reshape(self.shape)
        found = []
        for axis, sets in enumerate(self.families):
            for union in sets.unions:
                found.append(np.stack([np.take(numbers, k, axis=axis).ravel() for k in union], axis=1))
        return np.concatenate(found) if found else np.empty((0, 3), dtype=np.int32)

    def start(self, release: Release) -> tuple[Integers, Integers]:
        """Trivial bounds of every recoded cell: what is published of it, else 0 and no upper bound."""
        lower = np.zeros(self.shape, dtype=np.int64)
        upper = np.full(self.shape, INFINITE, dtype=np.int64)
        for table in release.tables:
            low, high = table.box
            for index in np.ndindex(table.counts.shape):
                cell = self.place(release.members(table, index))
                lower[cell] = max(lower[cell], low[index])
                upper[cell] = min(upper[cell], high[index])
        return lower, upper


def lattice(release: Release, kind: Kind | None = None, room: int = ROOM) -> Lattice:
    """The lattice of a release: of the kind requested, or of the largest kind that has room."""
    published: list[set[int]] = [set() for _ in release.variables]
    names = [v.name for v in release.variables]
    for table in release.tables:
        for axis in table.axes:
            published[names.index(axis.variable)] |= {_mask(m) for m in axis.members}
    kinds: tuple[Kind, ...] = ("all", "runs", "chain") if kind is None else (kind,)
    for tried in kinds:
        if tried == "all" and math.prod(2.0**v.size - 1 for v in release.variables) > room:
            continue  # before the family itself is made, which has 3^levels unions
        families = tuple(family(v.size, tried, sorted(p)) for v, p in zip(release.variables, published, strict=True))
        found = Lattice(release.shape, families)
        if found.size <= room:
            return found
    what = f"the recoded cells of {release.cells} base cells do not fit into {room}"
    raise parameter(release.name, what, remedy="use integer programming, or release tables over fewer variables")


def _mask(members: Sequence[int]) -> int:
    mask = 0
    for k in members:
        mask |= 1 << k
    return mask


# For a whole C that is the disjoint union of A and B: C lies between the sums of their bounds, and each part between
# the whole's bounds less the other's. A sweep applies this to every dependency. Bounds only ever tighten and are
# valid at any moment (an anytime algorithm); at the fixed point they are tight for exact decomposable releases, and
# not always else: `search` makes them so.


class Contradiction(GemelError):
    """A lower bound above its upper bound: no table satisfies the release."""

    def __init__(self, where: str) -> None:
        super().__init__(ErrorCode.PARAMETER, "no population satisfies the published tables together", where=where)

    def __reduce__(self) -> tuple[object, ...]:
        return (Contradiction, (self.where,))


@dataclass(frozen=True, eq=False)
class Shuttled:
    """Bounds of all recoded cells.

    `lower`, `upper` (int64, shape ``lattice.shape``): valid bounds; `laws.INFINITE` where there is none.
    """

    lattice: Lattice
    lower: Integers
    upper: Integers
    sweeps: int

    @property
    def described(self) -> str:
        """How they were found, in words."""
        return f"generalised shuttle ({self.sweeps} sweeps, {self.lattice.size} recoded cells)"

    def base(self) -> tuple[Integers, Integers]:
        return self.lower.ravel()[self.lattice.base], self.upper.ravel()[self.lattice.base]


def shuttle(
    release: Release, over: Lattice | None = None, *, seconds: float | None = None, progress: Progress = silent
) -> Shuttled:
    """Run the shuttle algorithm.

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
        progress(f"shuttle, sweep {sweeps}, {changed} bounds tightened", 0.0)
    return Shuttled(cells, lower, upper, sweeps)


def _tighten(low: Integers, high: Integers, c: int, a: int, b: int) -> int:
    """One union along the first axis, in place; how many bounds moved."""
    moved = 0
    endless = high[c] >= INFINITE  # nothing follows for the parts of a whole without end
    raised = ((c, low[a] + low[b]), (a, low[c] - high[b]), (b, low[c] - high[a]))
    for place, bound in raised:
        moved += int(np.count_nonzero(bound > low[place]))
        low[place] = np.maximum(low[place], bound)
    lowered = (
        (c, high[a] + high[b]),
        (a, np.where(endless, INFINITE, high[c] - low[b])),
        (b, np.where(endless, INFINITE, high[c] - low[a])),
    )
    for place, bound in lowered:
        moved += int(np.count_nonzero(bound < high[place]))
        high[place] = np.minimum(high[place], bound)
    return moved
