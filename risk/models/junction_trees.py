"""Junction trees of decomposable graphs, and which moves between such graphs are legal, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from numba import njit

from gemel.risk.models.graphs import Graph, lowest

# A junction tree is a spanning tree of greatest total weight over the cliques, an edge's weight being the number of
# variables its two cliques share. Components are joined by empty separators, so that a forest is one tree here.


@dataclass(frozen=True)
class JunctionTree:
    """Cliques and the tree that joins them; `edges` are pairs of positions in `cliques`, one fewer than these."""

    cliques: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, graph: Graph) -> JunctionTree:
        """A junction tree of a decomposable graph, by Prim's algorithm on the shared variables: O(c^2) for c cliques.

        With several trees possible, the same one is chosen each time.
        """
        cliques = graph.cliques
        outside = set(range(1, len(cliques)))
        nearest = dict.fromkeys(outside, 0)
        edges = []
        while outside:
            c = max(outside, key=lambda c: ((cliques[c] & cliques[nearest[c]]).bit_count(), -c))
            edges.append((nearest[c], c))
            outside.remove(c)
            for d in outside:
                if (cliques[d] & cliques[c]).bit_count() > (cliques[d] & cliques[nearest[d]]).bit_count():
                    nearest[d] = c
        return cls(cliques, tuple(edges))

    @property
    def separators(self) -> tuple[int, ...]:
        """What the two cliques of each edge share, in the order of the edges; an empty set between components."""
        return tuple(self.cliques[a] & self.cliques[b] for a, b in self.edges)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The cliques joined to each clique."""
        joined: list[list[int]] = [[] for _ in self.cliques]
        for a, b in self.edges:
            joined[a].append(b)
            joined[b].append(a)
        return tuple(tuple(others) for others in joined)

    def walk(self, root: int = 0) -> Iterator[tuple[int, int]]:
        """Pairs (clique, its parent), parents before children, from a chosen root whose parent is -1."""
        stack = [(root, -1)]
        while stack:
            c, parent = stack.pop()
            yield c, parent
            stack.extend((d, c) for d in self.neighbours[c] if d != parent)


# Both search the graph itself. The thesis's way, neutral rotations of a dynamic junction tree, makes the same moves
# and is no faster up to the variables of a machine word: `python -m benchmarks models` has it and compares the two.


@njit(cache=True, nogil=True)
def is_complete(adjacency, nodes):  # type: ignore[no-untyped-def]  # compiled
    """Whether every two members of a set are joined in the graph."""
    left = nodes
    while left:
        x = lowest(left)
        left &= left - 1
        if left & ~adjacency[x]:
            return False
    return True


@njit(cache=True, nogil=True)
def separated(adjacency, v, w):  # type: ignore[no-untyped-def]  # compiled
    """Whether the common neighbours of v and w cut every path between them, by a search of the graph itself."""
    common = adjacency[v] & adjacency[w]
    closed = common | (1 << v)
    frontier = adjacency[v] & ~common
    while frontier:
        if frontier >> w & 1:
            return False
        x = lowest(frontier)
        closed |= 1 << x
        frontier = (frontier | adjacency[x]) & ~closed
    return True
