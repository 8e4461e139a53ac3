"""Aggregation graphs: which categories of a variable make up which others.

The children of a category are mutually exclusive and aggregate exactly to it; what has no children is a leaf, and the
leaves are mutually exclusive and exhaustive. A categorisation is a set of categories from exactly one of which each
leaf can be reached. The thesis also requires that the categories without parents be a categorisation. Its own graphs
are not so (in that of Age, 0-18 and 16-21 both lack a parent and share 16-18), and nothing rests on it: it is not
required here.

A graph changes only so that what was true of it stays true: a leaf can be divided into new categories, categories can
be put together to a new one, and names can change. Every categorisation stays valid and means what it meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import networkx as nx

from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter
from gemel.common.language.message_words import nearest
from gemel.risk.keyvars.partitions import Partition, partition_of

MAX_NAME = 200
SHOWN = 8
"""So many names of a list are shown in a message."""


def is_name(text: str) -> bool:
    """Whether a form, variable, category or group may be called so."""
    return bool(text.strip()) and text == text.strip() and text.isprintable()


def unknown(what: str, name: str, names: Iterable[str], where: str = "") -> GemelError:
    """The error of a name that is none of the known ones, with the one that may be meant."""
    return GemelError(ErrorCode.NOT_FOUND, what, where=where, got=repr(name), remedy=nearest(name, names))


def placed(error: GemelError, where: str) -> GemelError:
    """The error, with the place where it was found before its own."""
    inside = f"{where}, {error.where}" if error.where else where
    if isinstance(error, GemelErrors):
        return GemelErrors(error.code, list(error.errors), where=inside)
    return GemelError(error.code, error.what, where=inside, got=error.got, remedy=error.remedy)


@dataclass(frozen=True)
class AggregationGraph:
    """The categories of a variable, each with its children; a leaf has none.

    Examples
    --------
    >>> graph = AggregationGraph({"England": (), "Scotland": (), "elsewhere": ()})
    >>> graph = graph.aggregate("Britain", ["England", "Scotland"])
    >>> graph.partition(["Britain", "elsewhere"])
    (0, 0, 1)
    """

    children: Mapping[str, tuple[str, ...]]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return tuple(name for name, parts in self.children.items() if not parts)

    @cached_property
    def reach(self) -> dict[str, int]:
        """For each category the leaves it is made of, leaf i as bit i."""
        places = {leaf: 1 << i for i, leaf in enumerate(self.leaves)}
        found: dict[str, int] = {}
        for name in reversed(list(nx.topological_sort(self._directed()))):
            mask = places.get(name, 0)
            for part in self.children[name]:
                mask |= found[part]
            found[name] = mask
        return found

    def leaves_of(self, category: str) -> tuple[str, ...]:
        """The leaves that a category is made of."""
        return self._named(self.reach[category])

    def partition(self, categories: Sequence[str], *, strict: bool = True) -> Partition:
        """A categorisation as a partition of the leaves."""
        errors = list(self.issues_of(categories))
        grave = [error for error in errors if error.code is ErrorCode.NOT_FOUND]
        if grave or (strict and errors):
            raise GemelErrors(ErrorCode.PARAMETER, errors)
        places = {leaf: i for i, leaf in enumerate(self.leaves)}
        return partition_of(([places[leaf] for leaf in self.leaves_of(c)] for c in categories), len(places))

    def categories_of(self, leaves: Iterable[str]) -> tuple[str, ...]:
        """The fewest categories, largest first, that make up a set of leaves; one where it has a name."""
        left = sum(self.reach[leaf] for leaf in set(leaves))
        found = []
        for name in sorted(self.children, key=lambda name: -self.reach[name].bit_count()):
            if left and self.reach[name] & left == self.reach[name]:
                found.append(name)
                left &= ~self.reach[name]
        return tuple(found)

    def issues_of(self, categories: Sequence[str]) -> Iterator[GemelError]:
        """What keeps a set of categories from being a categorisation."""
        known = []
        for name in dict.fromkeys(categories):
            if name not in self.children:
                yield unknown("the variable has no such category", name, self.children)
                continue
            known.append(name)
            if list(categories).count(name) > 1:
                yield parameter("", "a category is named twice", repr(name))
        for a, b in combinations(known, 2):
            if common := self.reach[a] & self.reach[b]:
                yield parameter(
                    "", f"the categories {a!r} and {b!r} overlap", f"both contain {listed(self._named(common))}"
                )
        lacking = (1 << len(self.leaves)) - 1
        for name in known:
            lacking &= ~self.reach[name]
        if lacking and len(known) == len(set(categories)):
            what, got = "the categories are not exhaustive", f"none contains {listed(self._named(lacking))}"
            yield parameter("", what, got, "name a category for what is left, such as everything else")

    def issues(self) -> Iterator[GemelError]:
        """What keeps the graph from being an aggregation graph, with the category concerned in `where`."""
        for name in self.children:
            if not is_name(name) or len(name) > MAX_NAME:
                what = f"a name has 1 to {MAX_NAME} printable characters and no blank at its ends"
                yield parameter(repr(name[:40]), what)
        strange = [(name, part) for name, parts in self.children.items() for part in parts if part not in self.children]
        for name, part in strange:
            yield unknown("a part that is no category of the variable", part, self.children, name)
        if strange:
            return
        try:
            cycle = [name for name, _ in nx.find_cycle(self._directed())]
        except nx.NetworkXNoCycle:
            yield from self._unsound()
        else:
            yield parameter(cycle[0], "a category is part of itself", " > ".join([*cycle, cycle[0]]))

    def _unsound(self) -> Iterator[GemelError]:
        for name, parts in self.children.items():
            if len(parts) == 1:
                what = "a category of one part is that part under another name"
                yield parameter(name, what, repr(parts[0]), "keep one of the two names")
            for a, b in combinations(parts, 2):
                if common := self.reach[a] & self.reach[b]:
                    got = f"both contain {listed(self._named(common))}"
                    yield parameter(name, f"its parts {a!r} and {b!r} overlap", got)
        first: dict[int, str] = {}
        for name, mask in self.reach.items():
            other = first.setdefault(mask, name)
            if other != name and len(self.children[name]) != 1 and len(self.children[other]) != 1:
                remedy = "keep one of the two names"
                yield parameter(name, f"the category is made of the same as {other!r}", remedy=remedy)

    def add_leaves(self, names: Sequence[str]) -> AggregationGraph:
        """The first leaves of an empty graph."""
        if self.children:
            what = "the leaves are exhaustive, so nothing can be added beside them"
            raise parameter("", what, listed(names), "divide the category that contains them")
        self._new(names)
        return _sound(dict.fromkeys(names, ()))

    def divide(self, category: str, parts: Sequence[str]) -> AggregationGraph:
        """A leaf divided into new categories, which become leaves."""
        self._known([category])
        if self.children[category]:
            what = "the category has parts, which aggregate to it exactly"
            raise parameter(category, what, listed(self.children[category]), "divide one of them")
        self._new(parts, where=category)
        made: dict[str, tuple[str, ...]] = {}
        for name, old in self.children.items():
            made |= {name: tuple(parts), **dict.fromkeys(parts, ())} if name == category else {name: old}
        return _sound(made)

    def aggregate(self, name: str, parts: Sequence[str]) -> AggregationGraph:
        """A new category, put together of others."""
        self._known(parts)
        self._new([name])
        return _sound({**self.children, name: tuple(parts)})

    def rename(self, old: str, new: str) -> AggregationGraph:
        """The graph with another name for a category, its place kept."""
        self._known([old])
        self._new([new])

        def named(name: str) -> str:
            return new if name == old else name

        return _sound({named(name): tuple(map(named, parts)) for name, parts in self.children.items()})

    def remove(self, category: str, used_by: Sequence[str] = ()) -> AggregationGraph:
        """The graph without a category that nothing needs.

        The thesis allows no deletion at all. To take back a category put together of others, of which no other is
        made and which no categorisation has, changes no partition.
        """
        self._known([category])
        parents = [name for name, parts in self.children.items() if category in parts]
        reasons = [
            *([f"it is used by {listed(used_by)}"] if used_by else []),
            *([f"it is a part of {listed(parents)}"] if parents else []),
            *([] if self.children[category] else ["it is a leaf"]),
        ]
        if reasons:
            remedy = "rename it, or leave it: an unused category does no harm"
            raise parameter(category, "the category cannot be deleted", reasons[0], remedy)
        return _sound({name: parts for name, parts in self.children.items() if name != category})

    def _directed(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(self.children)
        graph.add_edges_from((name, part) for name, parts in self.children.items() for part in parts)
        return graph

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(leaf for i, leaf in enumerate(self.leaves) if mask >> i & 1)

    def _known(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.children:
                raise unknown("the variable has no such category", name, self.children)

    def _new(self, names: Sequence[str], where: str = "") -> None:
        for i, name in enumerate(names):
            if name in self.children or name in names[:i]:
                what = "the name is used twice" if name in names[:i] else "the name is taken by another category"
                remedy = "a category has one name, and a name one meaning"
                raise GemelError(ErrorCode.EXISTS, what, where=where, got=repr(name), remedy=remedy)


def listed(names: Sequence[str]) -> str:
    """Names for a message, cut where there are many."""
    shown = ", ".join(map(repr, names[:SHOWN]))
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def _sound(children: Mapping[str, tuple[str, ...]]) -> AggregationGraph:
    graph = AggregationGraph(children)
    errors = list(graph.issues())
    if errors:
        raise errors[0] if len(errors) == 1 else GemelErrors(ErrorCode.PARAMETER, errors)
    return graph
