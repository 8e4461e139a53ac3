"""Junction trees: the maximal cliques of a decomposable graph joined so that each variable's cliques hang together.

A junction tree is a spanning tree of greatest total weight over the cliques, an edge's weight being the number of
variables its two cliques share. Components are joined by empty separators, so that a forest is one tree here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gemel.common.errors import parameter
from gemel.risk.models.bits import members
from gemel.risk.models.graphs import Graph

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class JunctionTree:
    """Cliques and the tree that joins them.

    Parameters
    ----------
    cliques
        Sets of variables.
    edges
        Pairs of positions in `cliques`: one fewer than there are cliques.
    """

    cliques: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, graph: Graph) -> JunctionTree:
        """A junction tree of a decomposable graph, by Prim's algorithm on the shared variables.

        Raises
        ------
        GemelError
            If the graph is not decomposable.

        Notes
        -----
        O(c^2) for c cliques. With several trees possible, the same one is chosen each time.
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

    def check(self) -> None:
        """Raise an error unless this is a tree with the running intersection property.

        A tree over c cliques has it exactly when each variable is in one clique more than it is in separators.
        """
        if len(self.edges) != len(self.cliques) - 1 or len(list(self._reached())) != len(self.cliques):
            raise parameter("junction tree", "the cliques must be joined as one tree")
        everything = 0
        for clique in self.cliques:
            everything |= clique
        for v in members(everything):
            inside = sum(clique >> v & 1 for clique in self.cliques)
            between = sum(separator >> v & 1 for separator in self.separators)
            if inside - between != 1:
                raise parameter(
                    f"junction tree, variable {v}",
                    "the cliques that hold a variable must be connected (running intersection)",
                    f"{inside} cliques and {between} separators",
                )

    def _reached(self) -> set[int]:
        reached, frontier = {0}, [0]
        while frontier:
            for d in self.neighbours[frontier.pop()]:
                if d not in reached:
                    reached.add(d)
                    frontier.append(d)
        return reached
