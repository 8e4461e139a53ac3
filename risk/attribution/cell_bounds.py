"""Bounds of every base cell: the entry point of all methods. A result names its method and what it proves."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from gemel.common.errors import GemelError, parameter
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Integers, Mask
from gemel.risk.attribution.components import Component, combine, components, covered_box, restricted, separator_upper
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.programming import (
    LARGEST,
    Undecided,
    contradiction,
    feasible_table,
    programme_bounds,
    system,
)
from gemel.risk.attribution.release import Axis, Published, Release
from gemel.risk.attribution.shuttle import Contradiction, Kind, lattice, shuttle

Method = Literal["auto", "programming", "shuttle", "closed"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of the base table's cells.

    `lower`, `upper` (int64, shape of the base table): valid for every population that satisfies the release;
    `laws.INFINITE` where there is no upper bound; `lower_tight`, `upper_tight` (bool, same shape): whether a feasible
    table is proven to attain the bound; `method`: how they were found, in words.
    """

    lower: Integers
    upper: Integers
    lower_tight: Mask
    upper_tight: Mask
    method: str
    seconds: float

    @property
    def tight(self) -> bool:
        return bool(self.lower_tight.all() and self.upper_tight.all())

    @property
    def recovered(self) -> Mask:
        """Cells whose count an intruder knows exactly."""
        return np.asarray(self.lower == self.upper)

    @property
    def zeros(self) -> Mask:
        """Cells that an intruder knows to be empty."""
        return np.asarray(self.upper == 0)


def bounds(
    release: Release,
    method: Method = "auto",
    *,
    seconds: float | None = None,
    kind: Kind | None = None,
    progress: Progress = silent,
) -> Bounds:
    """Bound every cell of the base table from everything that was released.

    `method`: ``closed``: by components, each covered by a published table. ``shuttle``: generalised shuttle algorithm.
    ``programming``: integer programming, tight. ``auto``: by irreducible components where their separators are known
    exactly, each covered one in closed form and the others by shuttle and then integer programming for what the shuttle
    left unproven. `seconds`: time allowed; bounds stay valid when it runs out, and are reported as not tight where
    unproven.

    Refused: a release that no population satisfies, with the tables in conflict; ``closed`` of one that is not
    decomposable.
    """
    run = _Run(release, seconds, kind, progress)
    methods = {"closed": run.closed, "programming": run.programming, "shuttle": run.shuttle, "auto": run.auto}
    try:
        return methods[method]()
    except Contradiction as error:
        raise contradiction(release) from error


@dataclass(frozen=True)
class _Run:
    release: Release
    seconds: float | None
    kind: Kind | None
    progress: Progress
    begun: float = field(default_factory=time.monotonic)

    def closed(self) -> Bounds:
        parts = components(self.release)
        missing = [c for c in parts if c.table is None]
        if missing:
            raise parameter(
                self.release.name,
                "the release is not decomposable: no published table covers " + " x ".join(missing[0].variables),
                remedy="use method 'auto', which bounds that component by other means",
            )
        lower, upper, exact = combine(self.release, [(c, covered_box(self.release, c)) for c in parts])
        if (lower > upper).any() or not _consistent(self.release):
            raise contradiction(self.release)
        proven = exact and all(self.release.table(c.table or "").exact for c in parts)
        return self._bounds(lower, upper, proven, proven, f"closed form ({len(parts)} components)")

    def programming(self) -> Bounds:
        found = programme_bounds(
            system(self.release),
            witnesses=self._witness(self.seconds),
            seconds=self.seconds,
            progress=partial(self.progress, "integer programming"),
        )
        how = f"integer programming ({found.programmes} programmes)"
        return self._bounds(found.lower, found.upper, found.lower_tight, found.upper_tight, how)

    def shuttle(self) -> Bounds:
        """A range of one value is tight, provided there is a table at all."""
        tightened = shuttle(
            self.release, lattice(self.release, self.kind), seconds=self.seconds, progress=self.progress
        )
        lower, upper = tightened.base()
        return self._bounds(lower, upper, lower == upper, lower == upper, tightened.described)

    def auto(self) -> Bounds:
        """By components where that loses nothing, else as one; each by closed form, or shuttle and programming."""
        release = self.release
        parts = components(release)
        if len(parts) == 1 or not all(t.simple for t in release.tables) or not _consistent(release):
            return self.whole()
        covered = [(c, covered_box(release, c)) for c in parts if c.table is not None]
        between: dict[tuple[str, ...], Integers] = {}
        for c in parts[1:]:
            between[c.separator], known = separator_upper(release, c.separator, covered)
            if not known:
                return self.whole()
        boxes: list[tuple[Component, tuple[Integers, Integers]]] = []
        tight, how = True, []
        for c in parts:
            if c.table is not None and release.table(c.table).exact:
                boxes.append((c, covered_box(release, c)))
                how.append("closed form")
                continue
            # What is known of its separators may come from a table on their other side.
            margins = [
                Published(
                    f"margin over {', '.join(names) or 'nothing'}",
                    tuple(Axis.full(v) for v in release.variables if v.name in names),
                    counts,
                )
                for names, counts in between.items()
                if set(names) <= {*c.variables}
            ]
            within = restricted(release, c.variables).with_tables(*margins)
            if feasible_table(system(within)) is None:
                raise contradiction(release)
            part = replace(self, release=within).whole()
            tight = tight and part.tight
            boxes.append((c, (part.lower, part.upper)))
            how.append(f"{' x '.join(c.variables)} by {part.method}")
        lower, upper, _ = combine(release, boxes)
        if not (lower <= upper).all():
            raise contradiction(release)
        words = f"{len(parts)} irreducible components: " + "; ".join(dict.fromkeys(how))
        if set(how) == {"closed form"}:
            words = f"closed form ({len(parts)} components)"
        return self._bounds(lower, upper, tight, tight, words)

    def whole(self) -> Bounds:
        """Shuttle where its cells have room, then programming for what it left unproven."""
        release, seconds = self.release, self.seconds
        share = None if seconds is None else seconds / 4
        witnesses = self._witness(share)
        outer, how = None, []
        try:
            cells = lattice(release, self.kind, 2_000_000 if seconds is None or seconds < 60 else 20_000_000)
        except GemelError:
            cells = None
        if cells is not None:
            tightened = shuttle(release, cells, seconds=share, progress=self.progress)
            outer = tightened.base()
            how.append(tightened.described)
        found = programme_bounds(
            system(release),
            outer=outer,
            witnesses=witnesses,
            seconds=None if seconds is None else max(seconds - (time.monotonic() - self.begun), 0.0),
            progress=partial(self.progress, "integer programming"),
        )
        relaxed = seconds is not None and release.cells > LARGEST
        how.append(f"{'linear' if relaxed else 'integer'} programming ({found.programmes} programmes)")
        return self._bounds(found.lower, found.upper, found.lower_tight, found.upper_tight, " and ".join(how))

    def _witness(self, seconds: float | None) -> Integers | None:
        """A feasible table, or None when time ran out: the bounds are still valid, and no more is claimed."""
        try:
            table = feasible_table(system(self.release), seconds)
        except Undecided:
            return None
        if table is None:
            raise contradiction(self.release)
        return table[None, :]

    def _bounds(
        self, lower: Integers, upper: Integers, low_tight: Mask | bool, high_tight: Mask | bool, method: str
    ) -> Bounds:
        shape = self.release.shape
        low_tight, high_tight = (
            np.broadcast_to(np.reshape(x, shape if np.ndim(x) else ()), shape) for x in (low_tight, high_tight)
        )
        upper = np.minimum(upper.reshape(shape), INFINITE)
        return Bounds(lower.reshape(shape), upper, low_tight, high_tight, method, time.monotonic() - self.begun)


def _consistent(release: Release) -> bool:
    exact = [t for t in release.tables if t.exact and t.simple and not t.sample]
    for i, first in enumerate(exact):
        for second in exact[i + 1 :]:
            shared = [n for n in first.names if n in second.names]
            ordered = tuple(v.name for v in release.variables if v.name in shared)
            a, b = (covered_box(release, Component(ordered, (), t.name))[0] for t in (first, second))
            if a.shape == b.shape and not np.array_equal(a, b):
                return False
    return True
