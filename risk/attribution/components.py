"""The closed form for decomposable releases, and by irreducible components where a release is partly so.

The variables of a release form a graph: two are joined when a table has both. Where a set S of variables within one
published table separates the graph, the release falls into parts that meet in S alone; parts that cannot be cut further
are the irreducible components. A component that one published table covers is bounded by that table; another one by
whatever method bounds a small release. The parts are put together again by

    upper = min over components of their upper bounds
    lower = max(0, sum over components of their lower bounds - sum over separators of their upper bounds).

Tight when the components' bounds are tight and every separator's counts are known exactly: then any feasible tables of
the components fit together. With protected separators it is valid but may be loose.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from gemel.risk.arrays import Integers
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.release import Published, Release

if TYPE_CHECKING:
    import networkx as nx

Box = tuple[Integers, Integers]

_Parts = list[tuple[frozenset[str], frozenset[str]]]
"""The variables of each component, and those of its separator."""


@dataclass(frozen=True)
class Component:
    variables: tuple[str, ...]
    separator: tuple[str, ...]
    table: str | None


def interaction_graph(release: Release) -> nx.Graph:
    """The graph whose nodes are the variables, joined when a published table has both."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(v.name for v in release.variables)
    for table in release.tables:
        graph.add_edges_from(combinations(table.names, 2))
    return graph


def components(release: Release) -> tuple[Component, ...]:
    """Cut a release along separators that lie within a published table.

    The components come in an order in which each one meets those before it in its separator, within one of them.
    """
    import networkx as nx

    graph = interaction_graph(release)
    order = [v.name for v in release.variables]
    published = [frozenset(t.names) for t in release.tables]

    def cut(nodes: frozenset[str]) -> _Parts:
        for table in sorted(published, key=lambda s: (len(s), sorted(s))):
            within = table & nodes
            rest = nodes - within
            for part in sorted(nx.connected_components(graph.subgraph(rest)), key=sorted):
                border = {n for m in part for n in graph.neighbors(m) if n in within}
                if nodes - part - border:
                    side = frozenset(part | border)
                    return _joined(cut(nodes - frozenset(part)), cut(side), frozenset(border))
        return [(nodes, frozenset())]

    found = []
    for nodes, separator in cut(frozenset(order)):
        covers = (t for t in release.tables if _whole(release, t, nodes))
        cover = min(covers, key=lambda t: (not t.exact, len(t.names)), default=None)
        own, border = (tuple(n for n in order if n in some) for some in (nodes, separator))
        found.append(Component(own, border, None if cover is None else cover.name))
    return tuple(found)


def _joined(first: _Parts, second: _Parts, border: frozenset[str]) -> _Parts:
    """Append the second list, re-rooted at a component that holds the border, whose separator the border becomes."""
    import networkx as nx

    root = next(i for i, (nodes, _) in enumerate(second) if border <= nodes)
    tree = nx.Graph()
    tree.add_nodes_from(range(len(second)))
    for i, (_, separator) in enumerate(second):
        if i:
            parent = next(j for j in range(i) if separator <= second[j][0])
            tree.add_edge(i, parent, separator=separator)
    result = [*first, (second[root][0], border)]
    for parent, child in nx.bfs_edges(tree, root):
        result.append((second[child][0], tree.edges[parent, child]["separator"]))
    return result


def _whole(release: Release, table: Published, names: Collection[str]) -> bool:
    """Whether a table counts the whole population, level by level, over some variables or more."""
    return (
        set(names) <= set(table.names) and table.simple and not table.sample and all(map(release.covered, table.axes))
    )


def restricted(release: Release, names: Sequence[str]) -> Release:
    """The published tables within some variables, as a release over those variables."""
    selected = set(names)
    variables = tuple(v for v in release.variables if v.name in selected)
    tables = tuple(t for t in release.tables if set(t.names) <= selected)
    return Release(variables, tables, None, f"{release.name} within {', '.join(names) or 'the total'}")


def covered_box(release: Release, component: Component) -> Box:
    """Bounds of a component's cells from the one published table that covers it."""
    table = release.table(component.table or "")
    low, high = table.box
    for axis, published in enumerate(table.axes):
        order = np.argsort([m[0] for m in published.members])  # published levels may come in another order
        low, high = np.take(low, order, axis=axis), np.take(high, order, axis=axis)
    names = list(table.names)
    for name in table.names:
        if name not in component.variables:
            axis = names.index(name)
            low, high = low.sum(axis=axis), np.minimum(high.sum(axis=axis), INFINITE)
            names.remove(name)
    order_ = [names.index(n) for n in component.variables]
    return np.transpose(low, order_), np.transpose(high, order_)


def separator_upper(
    release: Release, separator: Sequence[str], sides: Sequence[tuple[Component, Box]]
) -> tuple[Integers, bool]:
    """Upper bounds of a separator's counts, and whether they are known exactly.

    The least of: the sum of the upper bounds in each component that holds it, and in each published table that does.
    """
    shape = tuple(v.size for v in release.variables if v.name in separator)
    lower = np.zeros(shape, dtype=np.int64)
    upper = np.full(shape, INFINITE, dtype=np.int64)
    for component, (low, high) in sides:
        if set(separator) <= set(component.variables):
            axes = tuple(i for i, n in enumerate(component.variables) if n not in separator)
            lower = np.maximum(lower, low.sum(axis=axes))
            upper = np.minimum(upper, high.sum(axis=axes))
    for table in release.tables:
        if _whole(release, table, separator):
            low, high = covered_box(release, Component(tuple(separator), (), table.name))
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    return upper, bool((lower == upper).all())


def combine(release: Release, parts: Sequence[tuple[Component, Box]]) -> tuple[Integers, Integers, bool]:
    """Put bounds of the components together.

    Returns `lower`, `upper` (int64, shape of the base table); `exact_separators` (bool): whether the closed form loses
    nothing.
    """
    names = [v.name for v in release.variables]
    lower = np.zeros(release.shape, dtype=np.int64)
    upper = np.full(release.shape, INFINITE, dtype=np.int64)
    exact = True
    for number, (component, (low, high)) in enumerate(parts):
        upper = np.minimum(upper, _spread(high, component.variables, names))
        lower = lower + _spread(low, component.variables, names)
        if number:
            between, known = separator_upper(release, component.separator, parts)
            lower = lower - _spread(between, component.separator, names)
            exact = exact and known
    return np.maximum(lower, 0), upper, exact


def _spread(values: Integers, own: Sequence[str], names: Sequence[str]) -> Integers:
    """Give an array over some variables an axis of length 1 for each of the others."""
    shape = iter(values.shape)
    return values.reshape([next(shape) if n in own else 1 for n in names])
