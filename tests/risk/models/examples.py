"""Graphs, data and checks that several tests of decomposable models use."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks._dynamic_trees import CHILDREN, CLIQUE, PARENT, graph_of, root
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph, members
from tests.risk.models.definition import to_networkx


def can_toggle(graph: Graph, v: int, w: int) -> bool:
    """Whether changing this one edge is a legal move."""
    return graph.can_delete(v, w) if graph.has_edge(v, w) else graph.can_add(v, w)


def random_decomposable(n: int, rng: np.random.Generator, moves: int = 60) -> Graph:
    """Where a walk of legal moves led."""
    graph = Graph.from_edges(n, ())
    for _ in range(moves):
        v, w = (int(x) for x in rng.choice(n, 2, replace=False))
        if can_toggle(graph, v, w):
            graph = graph.toggled(v, w)
    return graph


def random_counts(levels: tuple[int, ...], records: int, rng: np.random.Generator) -> SparseCounts:
    """Records in which each variable leans on the one before it."""
    columns = [rng.integers(0, levels[0], records)]
    for n in levels[1:]:
        columns.append(np.where(rng.random(records) < 0.4, columns[-1] % n, rng.integers(0, n, records)))
    return SparseCounts.from_records(np.stack(columns, axis=1), levels)


def counts_of_table(table: ArrayLike, names: Sequence[Hashable] | None = None) -> SparseCounts:
    """The occupied cells of a full table, one axis per variable."""
    dense = np.asarray(table, dtype=np.float64)
    cells = np.argwhere(dense > 0).astype(np.int32)
    return SparseCounts(tuple(names or range(dense.ndim)), dense.shape, cells, dense[tuple(cells.T)])


def all_cells(levels: tuple[int, ...]) -> NDArray[np.int64]:
    """Every cell of a table, in order."""
    return np.argwhere(np.ones(levels))


def check_tree(tree: NDArray[np.int64]) -> None:
    """A compiled tree has both properties of a dynamic junction tree, and the chordal graph of its cliques."""
    graph = graph_of(tree)
    cliques, parents, children = (tree[row].tolist() for row in (CLIQUE, PARENT, CHILDREN))
    edges = set()
    for v, (clique, parent) in enumerate(zip(cliques, parents, strict=True)):
        rest = clique & ~(1 << v)
        edges |= {(min(v, w), max(v, w)) for w in members(rest)}
        assert clique >> v & 1, "a clique must hold its own label"
        assert (parent < 0) == (rest == 0), "a clique is a root exactly when it holds its label only"
        assert parent < 0 or rest >> parent & 1, "a clique must hold its parent's label"
        assert parent < 0 or not rest & ~cliques[parent], "a parent must hold a clique's rest (running intersection)"
        assert list(members(children[v])) == [w for w, above in enumerate(parents) if above == v]
        assert all((root(tree, v) == root(tree, w)) == bool(graph.component(v) >> w & 1) for w in range(v))
    assert tuple(sorted(edges)) == graph.edges
    assert nx.is_chordal(to_networkx(graph))
