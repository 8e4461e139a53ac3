"""Two tables over the variables that both have, made comparable: the same levels in the same order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.released_counts import CountedTable, CountedVariable
from gemel.risk.attribution.alignment import aligned, in_order
from gemel.risk.attribution.differences import Ranges

ALIKE = 0.2
"""Largest difference, as a share of the larger total, of two tables whose codes are put in order by their counts."""

WORK = 50_000_000
"""Subtractions in a step of putting codes in order."""


def common(former: CountedTable, latter: CountedTable) -> tuple[str, ...]:
    """The variables that both have in equal categories, in the order of the latter."""
    known = {variable.name: variable.categories for variable in former.variables}
    return tuple(v.name for v in latter.variables if known.get(v.name) == v.categories)


def _own(table: CountedTable, names: Sequence[str]) -> list[CountedVariable]:
    return [table.variables[table.names.index(name)] for name in names]


def gaps(table: CountedTable, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which of some variables have a level for missing values in a table."""
    return np.array([variable.missing for variable in _own(table, names)])


def categories(table: CountedTable, names: Sequence[str]) -> list[int]:
    """Numbers of categories of some variables of a table."""
    return [variable.categories for variable in _own(table, names)]


def ranges(table: CountedTable, names: Sequence[str]) -> Ranges:
    """What a table shows of its margin over some variables."""
    return Ranges.of(table.counts, table.protection, table.base).over([table.names.index(name) for name in names])


def padded(shown: Ranges, own: NDArray[np.bool_], others: NDArray[np.bool_]) -> Ranges:
    """With a level for missing values, of no one, where only the other table has one."""
    width = [(0, int(other and not mine)) for mine, other in zip(own, others, strict=True)]
    return shown.changed(lambda counts: np.pad(counts, width))


def ordered(former: Ranges, latter: Ranges, levels: Sequence[int]) -> Ranges | None:
    """The former in the latter's order; None where the two are not alike enough to tell."""
    orders = aligned(former.counts.astype(np.float64), latter.counts.astype(np.float64), levels, WORK)
    if orders is None:
        return None
    found = former.changed(lambda counts: in_order(counts, orders))
    larger = max(int(former.counts.sum()), int(latter.counts.sum()))
    return found if int(np.abs(found.counts - latter.counts).sum()) <= ALIKE * larger else None
