"""Hierarchies of a key's values: the levels of detail at which it can be published, each made of the one before.

Level 0 is the values as they are, and the last level is one group for all, which leaves the key out. A label means one
thing on all levels, so that a hierarchy is a tree of labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers

ALL = "*"
"""The one group of the last level."""

_FEW = 10  # values of an integer key up to which it is not put into intervals unasked
_RARE = 0.01  # share of the records below which a category is pooled unasked


@dataclass(frozen=True)
class Hierarchy:
    """The levels of one key: ``levels[l][i]`` is the label of value i at level l; ``levels[0]`` are the values."""

    name: str
    levels: tuple[tuple[str, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        for number, (fine, coarse) in enumerate(pairwise(self.levels)):
            parent: dict[str, str] = {}
            for own, above in zip(fine, coarse, strict=True):
                if parent.setdefault(own, above) != above:
                    what = f"a group of level {number} is in two groups of level {number + 1}"
                    remedy = "each level must be made of whole groups of the one before"
                    raise parameter(f"hierarchy of {self.name}", what, remedy=remedy)

    @classmethod
    def of_levels(cls, name: str, levels: Sequence[Sequence[str]]) -> Hierarchy:
        """Levels with what repeats the one before left out, and one group for all at the end."""
        kept = [tuple(levels[0])]
        for level in levels[1:]:
            if len(set(level)) < len(set(kept[-1])):
                kept.append(tuple(level))
        if len(set(kept[-1])) > 1:
            kept.append((ALL,) * len(kept[0]))
        return cls(name, tuple(kept))

    @property
    def height(self) -> int:
        """The last level, at which the key is left out."""
        return len(self.levels) - 1

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The groups of each level, in the order of their first values."""
        return tuple(tuple(dict.fromkeys(level)) for level in self.levels)

    @cached_property
    def groups(self) -> tuple[Codes, ...]:
        """For each level the group number of each value, int32 of shape (n_values,)."""
        found = []
        for level, labels in zip(self.levels, self.labels, strict=True):
            number = {label: i for i, label in enumerate(labels)}
            found.append(np.array([number[label] for label in level], dtype=np.int32))
        return tuple(found)

    def numbers(self, level: int) -> Floats | None:
        """What stands for each group in calculations: the middle of its values; None for a key that is no number."""
        whole = whole_numbers(self.levels[0])
        if whole is None:
            return None
        own = self.groups[level]
        low, high = np.full(own.max() + 1, np.inf), np.full(own.max() + 1, -np.inf)
        np.minimum.at(low, own, whole)
        np.maximum.at(high, own, whole)
        return (low + high) / 2.0


def whole_numbers(values: Sequence[str]) -> Floats | None:
    """Values as numbers where all of them are whole numbers."""
    try:
        return np.array([int(v) for v in values], dtype=np.float64)
    except ValueError:
        return None


def hierarchy_of_rows(name: str, rows: Sequence[Sequence[str]], values: Sequence[str], source: str) -> Hierarchy:
    """A hierarchy from a table: a value in each row, then its group at each level."""
    import networkx as nx

    where = f"{source} (hierarchy of {name})"
    width = len(rows[0]) if rows else 0
    if width < 2:
        raise _wrong("a hierarchy needs rows of a value and the groups it is in", where, f"{len(rows)} rows")
    graph = nx.DiGraph()
    place: dict[str, int] = {}
    for line, row in enumerate(rows, start=2):
        if len(row) != width:
            raise _wrong("every row must have as many levels", f"{where}, line {line}", f"{len(row)} of {width}")
        if not all(cell.strip() for cell in row):
            raise _wrong("a group has no name", f"{where}, line {line}", "an empty cell")
        if row[0] in place:
            raise _wrong("a value is in two rows", f"{where}, line {line}", f"it is also in line {place[row[0]]}")
        place[row[0]] = line
        for own, above in pairwise(row):
            if own != above:
                if graph.has_node(own) and any(other != above for other in graph.successors(own)):
                    raise _wrong("a value or group is in two groups", f"{where}, line {line}", "a second group for it")
                graph.add_edge(own, above)
    if not nx.is_directed_acyclic_graph(graph):
        circle = f"{len(nx.find_cycle(graph))} groups in a circle"
        remedy = "give every group a name of its own, and let each level be coarser than the one before"
        raise _wrong("groups contain each other in a cycle", where, circle, remedy)
    lacking = [v for v in values if v not in place]
    if lacking:
        what, got = "values of the file are in no row", f"{len(lacking)} of {len(values)} values without a row"
        raise _wrong(what, where, got, "add a row for each value that the column has; a missing value needs none")
    return Hierarchy.of_levels(name, [[rows[place[v] - 2][level] for v in values] for level in range(width)])


def number_hierarchy(
    name: str, values: Sequence[str], widths: Sequence[int] = (), *, bottom: int | None = None, top: int | None = None
) -> Hierarchy:
    """Levels of an integer key: its ends coded, then intervals of each width in turn."""
    numbers = whole_numbers(values)
    where = f"intervals of {name}"
    if numbers is None:
        what = "intervals and coded ends need whole numbers"
        raise parameter(where, what, remedy="give a hierarchy file for this key")
    if any(w < 2 for w in widths) or any(b % a or b == a for a, b in pairwise(widths)):
        what = "widths are above 1, and each a multiple of the one before"
        raise parameter(where, what, ", ".join(str(w) for w in widths))
    if bottom is not None and top is not None and bottom >= top:
        raise parameter(where, "the bottom must lie below the top", f"{bottom}, {top}")
    low, high = -np.inf if bottom is None else bottom, np.inf if top is None else top

    def label(v: int, width: int) -> str:
        if v <= low:
            return f"{bottom} or less"
        if v >= high:
            return f"{top} or more"
        first, last = v // width * width, v // width * width + width - 1
        first, last = int(max(first, low + 1)), int(min(last, high - 1))
        return str(v) if width == 1 else f"{first} to {last}"

    own = [int(v) for v in numbers]
    return Hierarchy.of_levels(name, [list(values), *([label(v, w) for v in own] for w in (1, *widths))])


def quantile_hierarchy(name: str, values: Sequence[str], counts: Integers, groups: Sequence[int]) -> Hierarchy:
    """Levels of an integer key: intervals that hold about as many records each; `counts` are those with each value."""
    numbers = whole_numbers(values)
    if numbers is None or any(a % b or a == b for a, b in pairwise(groups)) or min(groups) < 2:
        what = "quantiles need whole numbers, and numbers of groups above 1 that divide the ones before"
        raise parameter(f"quantiles of {name}", what, ", ".join(str(g) for g in groups))
    middle = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    levels = [list(values)]
    for n in groups:
        which = np.minimum((middle * n).astype(int), n - 1)
        spans = {g: (int(numbers[which == g].min()), int(numbers[which == g].max())) for g in set(which.tolist())}
        levels.append([_span(*spans[g]) for g in which.tolist()])
    return Hierarchy.of_levels(name, levels)


def hierarchy_of_groups(name: str, values: Sequence[str], groups: Sequence[int]) -> Hierarchy:
    """One level from a recoding that was found (`identification.matching.recoding`): the group number of each value."""
    members: dict[int, list[str]] = {}
    for value, group in zip(values, groups, strict=True):
        members.setdefault(group, []).append(value)
    return Hierarchy.of_levels(name, [list(values), [" | ".join(members[g]) for g in groups]])


def default_hierarchy(name: str, values: Sequence[str], counts: Integers) -> Hierarchy:
    """Levels for a key without any given.

    Integers of more than ten values: intervals of 5, 10, 20. Other keys of more than two values: categories of fewer
    than one record in a hundred are pooled. Then the key is left out.
    """
    numbers = whole_numbers(values)
    if numbers is not None and len(values) > _FEW:
        return number_hierarchy(name, values, (5, 10, 20))
    rare = counts < _RARE * counts.sum()
    if len(values) > 2 and rare.sum() > 1:
        pooled = ["other" if r else v for v, r in zip(values, rare.tolist(), strict=True)]
        return Hierarchy.of_levels(name, [values, pooled])
    return Hierarchy.of_levels(name, [values])


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _wrong(what: str, where: str, got: str, remedy: str = "") -> GemelError:
    return GemelError(ErrorCode.SOURCE, what, where=where, got=got, remedy=remedy)
