"""Ladders of coarsenings in codes: which code is in which group, known from the specification without any label.

The codes of a variable are ordered by its groups (`common.signatures.category_tree`), and each level of a ladder has
fewer of them than the one below. So in one coding the number of a table's categories tells how coarse it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.released_counts import CountedTable, CountedVariable
from gemel.common.signatures.category_tree import code_groups
from gemel.common.specification import Specification
from gemel.common.specification.model.protection import partitions, step_name


@dataclass(frozen=True, eq=False)
class Ladder:
    """The coarsenings of one variable, from level 0, where it is as it is: the names of the steps, that of level 1
    first; and the group of each code, for each level at which the variable is there."""

    variable: str
    names: tuple[str, ...]
    groups: tuple[NDArray[np.int32], ...] = field(repr=False)

    @property
    def top(self) -> int:
        return len(self.names)

    def dropped(self, level: int) -> bool:
        """Whether nothing is left of the variable."""
        return level == len(self.groups)

    def categories(self, level: int) -> int:
        """Values that are distinguished; 0 where it is dropped."""
        return 0 if self.dropped(level) else int(self.groups[level].max()) + 1

    def level_of(self, categories: int) -> int | None:
        """The level at which there are so many categories; None if there is none."""
        return next((level for level in range(len(self.groups)) if self.categories(level) == categories), None)

    def level_named(self, name: str) -> int:
        """The level that a step leads to; 0 for a name that it does not have."""
        return self.names.index(name) + 1 if name in self.names else 0

    def between(self, fine: int, coarse: int) -> NDArray[np.int32]:
        """The group at a coarser level of each code of a finer one."""
        found = np.zeros(self.categories(fine), dtype=np.int32)
        found[self.groups[fine]] = self.groups[coarse]
        return found


Levels = tuple[int, ...]
"""How coarse each variable with a ladder is, in the order of the ladders."""


def ladders_of(spec: Specification) -> tuple[Ladder, ...]:
    """The ladders that a specification allows, in the order of its variables."""
    found = []
    for variable in spec.variables:
        steps = spec.coarsenings(variable.name)
        if not steps:
            continue
        n = len(variable.categories)
        groups = (np.arange(n, dtype=np.int32), *code_groups(partitions(steps, variable.categories), n))
        found.append(Ladder(variable.name, tuple(map(step_name, steps)), groups))
    return tuple(found)


def alike(former: CountedTable, latter: CountedTable, ladders: Sequence[Ladder]) -> tuple[CountedTable, CountedTable]:
    """Two tables in one coding, each coarsened in what the other has coarser: what whoever has both can compare.

    A rounded table stays marked as rounded once: its groups' counts are then known better than sums of rounded ones
    are, so that what the two tell together is not understated.
    """
    by_name = {ladder.variable: ladder for ladder in ladders}
    own = {variable.name: variable.categories for variable in latter.variables}
    for variable in former.variables:
        ladder, other = by_name.get(variable.name), own.get(variable.name)
        if ladder is None or other is None or other == variable.categories:
            continue
        levels = ladder.level_of(variable.categories), ladder.level_of(other)
        if levels[0] is None or levels[1] is None:
            continue
        if levels[0] < levels[1]:
            former = _coarsened(former, variable.name, ladder.between(levels[0], levels[1]))
        else:
            latter = _coarsened(latter, variable.name, ladder.between(levels[1], levels[0]))
    return former, latter


def _coarsened(table: CountedTable, name: str, groups: NDArray[np.int32]) -> CountedTable:
    """The table with the categories of one variable joined; missing values stay a level of their own."""
    axis = table.names.index(name)
    variable = table.variables[axis]
    number = int(groups.max()) + 1
    joined = CountedVariable(name, number, variable.missing)
    of_level = np.append(groups, number)[: variable.levels]
    moved = np.moveaxis(table.counts, axis, 0)
    counts = np.zeros((joined.levels, *moved.shape[1:]), dtype=np.int64)
    np.add.at(counts, of_level, moved)
    variables = (*table.variables[:axis], joined, *table.variables[axis + 1 :])
    return replace(table, variables=variables, counts=np.ascontiguousarray(np.moveaxis(counts, 0, axis)))


def as_levels(ladders: Sequence[Ladder], changes: Sequence[Mapping[str, Any]]) -> Levels:
    """The levels that the changes of a document lead to; 0 for what is not named, or is no longer what it was."""
    named = {change["variable"]: change for change in changes}
    found = []
    for ladder in ladders:
        change = named.get(ladder.variable)
        level = 0 if change is None else ladder.level_named(change["coarsening"])
        found.append(level if change is not None and ladder.categories(level) == change["categories"] else 0)
    return tuple(found)
