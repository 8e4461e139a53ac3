"""Undirected graphs as rows of bits, and subsets of variables as bits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from numba import types
from numba.extending import intrinsic

from gemel.common.errors import parameter

# A set of variables is a non-negative integer whose bit v is set where variable v is a member. Python's integers
# have no limit; the compiled search holds a set in a signed 64-bit word and so takes at most `MAX_VARIABLES`.

MAX_VARIABLES = 62


@intrinsic
def _lowest(_context: Any, _word: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        undefined_at_zero = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], undefined_at_zero)

    return types.int64(types.int64), generate


# Intrinsics are declared with the compiler's context and called without it.
lowest: Any = _lowest  # the smallest member of a set that is not empty (compiled)


def members(mask: int) -> Iterator[int]:
    """The members of a set, smallest first."""
    while mask:
        lowest_bit = mask & -mask
        yield lowest_bit.bit_length() - 1
        mask ^= lowest_bit


def mask_of(variables: Iterable[int]) -> int:
    mask = 0
    for v in variables:
        mask |= 1 << v
    return mask


# A graph is decomposable (chordal, triangulated) when no cycle of four or more nodes lacks a chord; equivalently, when
# its nodes can be eliminated one by one, each with neighbours that are already joined to one another (a perfect
# elimination ordering). This module is the plain definition; `junction_trees` decides moves between such graphs fast.

Edge = tuple[int, int]


@dataclass(frozen=True)
class Graph:
    """An undirected graph without loops.

    `adjacency`: for each node the set of its neighbours, as bits; `names`: one a node, by default its number.
    """

    adjacency: tuple[int, ...]
    names: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.adjacency)
        if not self.names:
            object.__setattr__(self, "names", tuple(range(n)))
        if len(self.names) != n or len(set(self.names)) != n:
            raise parameter("names", "a graph needs one name for each node, all different")
        for v, neighbours in enumerate(self.adjacency):
            if (
                neighbours >> n
                or neighbours >> v & 1
                or any(not self.adjacency[w] >> v & 1 for w in members(neighbours))
            ):
                raise parameter(f"node {v}", "adjacency must be symmetric, without loops and within the nodes")

    @classmethod
    def from_edges(cls, nodes: int | Sequence[Hashable], edges: Iterable[tuple[Hashable, Hashable]]) -> Graph:
        """The graph with these nodes (a number of them, or their names) and these edges (pairs of names)."""
        names: tuple[Hashable, ...] = tuple(range(nodes)) if isinstance(nodes, int) else tuple(nodes)
        place = {name: v for v, name in enumerate(names)}
        adjacency = [0] * len(names)
        for a, b in edges:
            if a not in place or b not in place:
                unknown = a if a not in place else b
                raise parameter("edges", "an edge names an unknown variable", repr(unknown))
            v, w = place[a], place[b]
            adjacency[v] |= 1 << w
            adjacency[w] |= 1 << v
        return cls(tuple(adjacency), names)

    def __len__(self) -> int:
        return len(self.adjacency)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Pairs (v, w) with v < w, in order."""
        return tuple((v, w) for v in range(len(self)) for w in members(self.adjacency[v] >> v << v))

    def has_edge(self, v: int, w: int) -> bool:
        return bool(self.adjacency[v] >> w & 1)

    def toggled(self, v: int, w: int) -> Graph:
        """The graph with edge (v, w) added if it was absent, deleted if it was there."""
        adjacency = list(self.adjacency)
        adjacency[v] ^= 1 << w
        adjacency[w] ^= 1 << v
        return Graph(tuple(adjacency), self.names)

    def is_complete(self, nodes: int) -> bool:
        """Whether every two members of the set `nodes` are joined."""
        return all((self.adjacency[v] | 1 << v) & nodes == nodes for v in members(nodes))

    def component(self, v: int, without: int = 0) -> int:
        """The nodes that v reaches by paths that avoid the set `without`."""
        reached, frontier = 1 << v, 1 << v
        while frontier:
            x = (frontier & -frontier).bit_length() - 1
            frontier = (frontier | self.adjacency[x] & ~reached & ~without) & ~(1 << x)
            reached |= 1 << x
        return reached

    @cached_property
    def elimination_ordering(self) -> tuple[int, ...]:
        """The reverse of a maximum cardinality search: perfect if and only if the graph is decomposable [1]_.

        References
        ----------
        .. [1] Tarjan and Yannakakis, SIAM J. Comput. 13, 1984. doi:10.1137/0213035
        """
        visited, order = 0, []
        for _ in range(len(self)):
            v = max(
                (v for v in range(len(self)) if not visited >> v & 1),
                key=lambda v: (self.adjacency[v] & visited).bit_count(),
            )
            order.append(v)
            visited |= 1 << v
        return tuple(reversed(order))

    @cached_property
    def is_decomposable(self) -> bool:
        """Whether every cycle of four or more nodes has a chord: elimination joins no two more nodes."""
        left = (1 << len(self)) - 1
        for v in self.elimination_ordering:
            left &= ~(1 << v)
            if not self.is_complete(self.adjacency[v] & left):
                return False
        return True

    def require_decomposable(self, where: str = "graph") -> None:
        if not self.is_decomposable:
            raise parameter(
                where,
                "the graph must be decomposable",
                f"{len(self.edges)} edges with a cycle of four or more nodes that lacks a chord",
                "triangulate it first",
            )

    @cached_property
    def cliques(self) -> tuple[int, ...]:
        """The maximal cliques of a decomposable graph, as sets, in order of elimination."""
        self.require_decomposable()
        found: list[int] = []
        left = (1 << len(self)) - 1
        for v in self.elimination_ordering:
            clique = self.adjacency[v] & left | 1 << v
            if not any(clique & other == clique for other in found):
                found.append(clique)
            left &= ~(1 << v)
        return tuple(found)

    def can_add(self, v: int, w: int) -> bool:
        """Whether adding the absent edge (v, w) keeps a decomposable graph decomposable.

        It does when the common neighbours cut every path from v to w: then the two are in adjacent cliques, or
        in different components.
        """
        common = self.adjacency[v] & self.adjacency[w]
        return v != w and not self.has_edge(v, w) and not self.component(v, common) >> w & 1

    def can_delete(self, v: int, w: int) -> bool:
        """Whether deleting the edge (v, w) keeps a decomposable graph decomposable: it is in one maximal
        clique only."""
        return self.has_edge(v, w) and self.is_complete(self.adjacency[v] & self.adjacency[w])


def empty_graph(nodes: int | Sequence[Hashable]) -> Graph:
    return Graph.from_edges(nodes, ())


def complete_graph(nodes: int | Sequence[Hashable]) -> Graph:
    return Graph.from_edges(nodes, combinations(range(nodes) if isinstance(nodes, int) else nodes, 2))
