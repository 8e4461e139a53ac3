"""Bounds of every base cell: the entry point of all methods. A result names its method and what it proves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gemel.common.errors import GemelError, parameter
from gemel.common.progress import Progress, StageProgress
from gemel.risk.arrays import Integers, Mask
from gemel.risk.attribution.components import Component, combine, components, covered_box, restricted, separator_upper
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.programming import LARGEST as LARGEST_PROGRAMME
from gemel.risk.attribution.programming import (
    Undecided,
    conflict,
    contradiction,
    feasible_table,
    programme_bounds,
    system,
)
from gemel.risk.attribution.release import Axis, Published, Release
from gemel.risk.attribution.search import LARGEST, Search
from gemel.risk.attribution.shuttle import Contradiction, Kind, lattice, shuttle

Method = Literal["auto", "programming", "shuttle", "extended", "closed"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of the base table's cells.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape of the base table
        Valid for every population that satisfies the release; `laws.INFINITE` where there is no upper bound.
    lower_tight, upper_tight : ndarray of bool, same shape
        Whether a feasible table is proven to attain the bound.
    method
        How they were found, in words.
    """

    lower: Integers
    upper: Integers
    lower_tight: Mask
    upper_tight: Mask
    method: str
    seconds: float

    @property
    def tight(self) -> bool:
        """Whether every bound is proven attained."""
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
    progress: Progress | None = None,
) -> Bounds:
    """Bound every cell of the base table from everything that was released.

    Parameters
    ----------
    method
        ``closed``: by components, each covered by a published table. ``shuttle``: generalised shuttle algorithm.
        ``extended``: the same with search, tight. ``programming``: integer programming, tight. ``auto``: by
        irreducible components where their separators are known exactly, each covered one in closed form and the others
        by shuttle and then integer programming for what the shuttle left unproven.
    seconds
        Time allowed; bounds stay valid when it runs out, and are reported as not tight where unproven.
    kind
        The family of recodings for the shuttle algorithm.
    progress
        Called with a stage and the share of it that is done.

    Raises
    ------
    GemelError
        If no population satisfies the release: it names the tables in conflict. Or if ``closed`` is requested and the
        release is not decomposable.
    """
    begun = time.monotonic()
    if method == "closed":
        parts = components(release)
        missing = [c for c in parts if c.table is None]
        if missing:
            raise parameter(
                release.name,
                "the release is not decomposable: no published table covers " + " x ".join(missing[0].variables),
                remedy="use method 'auto', which bounds that component by other means",
            )
        lower, upper, proven, how = _closed(release, parts)
        return _answer(release, lower, upper, proven, proven, how, begun)
    try:
        if method == "programming":
            found = programme_bounds(
                system(release),
                witnesses=_witness(release, seconds),
                seconds=seconds,
                progress=_stage(progress, "integer programming"),
            )
            lower, upper, low_tight, high_tight = found.lower, found.upper, found.lower_tight, found.upper_tight
            how = f"integer programming ({found.programmes} programmes)"
        elif method == "shuttle":
            tightened = shuttle(release, lattice(release, kind), seconds=seconds, progress=_sweeps(progress))
            lower, upper = tightened.base()
            known = lower == upper  # a range of one value is tight, provided there is a table at all
            low_tight = high_tight = known
            how = f"generalised shuttle ({tightened.sweeps} sweeps, {tightened.lattice.size} recoded cells)"
        elif method == "extended":
            lower, upper, low_tight, high_tight, how = _extended(release, kind, seconds, progress)
        else:
            return _auto(release, seconds, kind, progress, begun)
    except Contradiction as error:
        names = conflict(release)
        raise contradiction(release, names or [t.name for t in release.tables]) from error
    return _answer(release, lower, upper, low_tight, high_tight, how, begun)


def _closed(release: Release, parts: Sequence[Component]) -> tuple[Integers, Integers, bool, str]:
    boxes = [(c, covered_box(release, c)) for c in parts]
    lower, upper, exact = combine(release, boxes)
    if (lower > upper).any() or not _consistent(release):
        raise contradiction(release, conflict(release) or [t.name for t in release.tables])
    proven = exact and all(release.table(c.table or "").exact for c in parts)
    return lower, upper, proven, f"closed form ({len(parts)} components)"


def _consistent(release: Release) -> bool:
    """Whether exact tables agree on the margins they share (they are then satisfiable together, if decomposable)."""
    exact = [t for t in release.tables if t.exact and t.simple and not t.sample]
    for i, first in enumerate(exact):
        for second in exact[i + 1 :]:
            shared = [n for n in first.names if n in second.names]
            a, b = (_margin(release, t, shared) for t in (first, second))
            if a.shape == b.shape and not np.array_equal(a, b):
                return False
    return True


def _margin(release: Release, table: Published, names: Sequence[str]) -> Integers:
    ordered = tuple(v.name for v in release.variables if v.name in names)
    return covered_box(release, Component(ordered, (), table.name))[0]


def _extended(
    release: Release, kind: Kind | None, seconds: float | None, progress: Progress | None
) -> tuple[Integers, Integers, Mask, Mask, str]:
    ends = None if seconds is None else time.monotonic() + seconds
    cells = lattice(release, kind, LARGEST)
    tightened = shuttle(release, cells, seconds=seconds, progress=_sweeps(progress))
    search = Search(tightened)
    n = len(search.base)
    seen = np.stack([np.full(n, INFINITE, dtype=np.int64), np.full(n, -1, dtype=np.int64)])
    for i, node in enumerate(search.base):
        if ends is not None and time.monotonic() > ends:
            break
        search.tighten(int(node), seen)
        if progress is not None:
            progress("extended shuttle", (i + 1) / n)
    lower, upper = search.low[search.base], search.high[search.base]
    how = f"extended shuttle ({cells.size} recoded cells)"
    return lower, upper, seen[0] == lower, seen[1] == upper, how


def _auto(
    release: Release, seconds: float | None, kind: Kind | None, progress: Progress | None, begun: float
) -> Bounds:
    """By components where that loses nothing, else as one; each by closed form, or shuttle and programming."""
    parts = components(release)
    if len(parts) == 1 or not all(t.simple for t in release.tables) or not _consistent(release):
        return _whole(release, seconds, kind, progress, begun)
    covered = [(c, covered_box(release, c)) for c in parts if c.table is not None]
    between: dict[tuple[str, ...], Integers] = {}
    for c in parts[1:]:
        counts, known = separator_upper(release, c.separator, covered)
        if not known:
            return _whole(release, seconds, kind, progress, begun)
        between[c.separator] = counts
    boxes: list[tuple[Component, tuple[Integers, Integers]]] = []
    tight, how = True, []
    for c in parts:
        if c.table is not None and release.table(c.table).exact:
            boxes.append((c, covered_box(release, c)))
            how.append("closed form")
            continue
        # What is known of its separators may come from a table on their other side.
        margins = [
            _separator(release, names, counts) for names, counts in between.items() if set(names) <= {*c.variables}
        ]
        within = restricted(release, c.variables).with_tables(*margins)
        if feasible_table(system(within)) is None:
            raise contradiction(release, conflict(release))
        part = _whole(within, seconds, kind, progress, begun)
        tight = tight and part.tight
        boxes.append((c, (part.lower, part.upper)))
        how.append(f"{' x '.join(c.variables)} by {part.method}")
    lower, upper, _ = combine(release, boxes)
    if not (lower <= upper).all():
        raise contradiction(release, conflict(release))
    if set(how) == {"closed form"}:
        words = f"closed form ({len(parts)} components)"
    else:
        words = f"{len(parts)} irreducible components: " + "; ".join(dict.fromkeys(how))
    return _answer(release, lower, upper, tight, tight, words, begun)


def _separator(release: Release, names: Sequence[str], counts: Integers) -> Published:
    variables = [v for v in release.variables if v.name in names]
    return Published(f"margin over {', '.join(names) or 'nothing'}", tuple(Axis.full(v) for v in variables), counts)


def _witness(release: Release, seconds: float | None) -> Integers | None:
    """A feasible table, or None when time ran out: the bounds are still valid, and no more is claimed."""
    try:
        table = feasible_table(system(release), seconds)
    except Undecided:
        return None
    if table is None:
        raise contradiction(release, conflict(release))
    return table[None, :]


def _whole(
    release: Release, seconds: float | None, kind: Kind | None, progress: Progress | None, begun: float
) -> Bounds:
    share = None if seconds is None else seconds / 4
    witnesses = _witness(release, share)
    room = 2_000_000 if seconds is None or seconds < 60 else 20_000_000
    outer, how = None, []
    try:
        cells = lattice(release, kind, room)
    except GemelError:
        cells = None
    if cells is not None:
        tightened = shuttle(release, cells, seconds=share, progress=_sweeps(progress))
        outer = tightened.base()
        how.append(f"generalised shuttle ({tightened.sweeps} sweeps, {cells.size} recoded cells)")
    left = None if seconds is None else max(seconds - (time.monotonic() - begun), 0.0)
    found = programme_bounds(
        system(release),
        outer=outer,
        witnesses=witnesses,
        seconds=left,
        progress=_stage(progress, "integer programming"),
    )
    relaxed = seconds is not None and release.cells > LARGEST_PROGRAMME
    how.append(f"{'linear' if relaxed else 'integer'} programming ({found.programmes} programmes)")
    return _answer(release, found.lower, found.upper, found.lower_tight, found.upper_tight, " and ".join(how), begun)


def _answer(
    release: Release,
    lower: Integers,
    upper: Integers,
    low_tight: Mask | bool,
    high_tight: Mask | bool,
    method: str,
    begun: float,
) -> Bounds:
    shape = release.shape
    return Bounds(
        np.asarray(lower).reshape(shape),
        np.minimum(np.asarray(upper).reshape(shape), INFINITE),
        np.broadcast_to(np.reshape(low_tight, shape if np.ndim(low_tight) else ()), shape),
        np.broadcast_to(np.reshape(high_tight, shape if np.ndim(high_tight) else ()), shape),
        method,
        time.monotonic() - begun,
    )


def _sweeps(progress: Progress | None) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda sweep, changed: progress(f"shuttle, sweep {sweep}, {changed} bounds tightened", 0.0)


def _stage(progress: Progress | None, stage: str) -> StageProgress | None:
    return None if progress is None else lambda share: progress(stage, share)
