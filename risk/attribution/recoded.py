"""Tight bounds of one cell of any recoded or marginal table."""

from __future__ import annotations

from collections.abc import Sequence

from gemel.risk.attribution.constraints import system
from gemel.risk.attribution.programming import programme_bounds, require_feasible
from gemel.risk.attribution.release import Release, block_cells
from gemel.risk.attribution.tables import axis_of


def recoded_bounds(
    release: Release, members: dict[str, Sequence[int]], *, seconds: float | None = None
) -> tuple[int, int, bool]:
    """Tight bounds of one cell of any recoded or marginal table.

    Parameters
    ----------
    release
        The release.
    members
        Level numbers for each variable that is not summed out.
    seconds
        Time allowed.
    """
    covered: list[Sequence[int]] = [tuple(range(v.size)) for v in release.variables]
    for name, levels in members.items():
        covered[axis_of(release.variables, name)] = tuple(levels)
    table = require_feasible(release)
    block = block_cells(release.shape, covered)
    found = programme_bounds(system(release), [block], witnesses=table[None, :], seconds=seconds)
    return int(found.lower[0]), int(found.upper[0]), bool(found.lower_tight[0] and found.upper_tight[0])
