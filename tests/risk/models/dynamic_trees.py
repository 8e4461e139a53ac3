"""Dynamic junction trees: rooted trees of cliques, one per variable, that change by rotations.

The clique labelled v is v with the neighbours it has left when it is eliminated; its parent is the first of them to be
eliminated. The label is thus the root of the subtree of the cliques that hold it, and the labels alone form a
spanning forest of the decomposable graph. A rotation of a clique and its parent exchanges the two in the
elimination ordering. Where it changes no edge of the graph it is *neutral*; edges are added and deleted by neutral
rotations that bring a clique to where one variable can simply be put in or taken out.

This is the plain form, which can also rotate when the graph changes with it. `gemel.risk.models.junction_trees` is the
same for neutral rotations in compiled code, tested against this one.

Smith, Aspects of statistical disclosure control (thesis, 2011), chapter 6, with the new clique of v after a
rotation holding v itself. Why the neutral rotations needed always exist: a node of the path above v that is
simplicial there may be eliminated first, so moving it down past its successors one at a time leaves a perfect
ordering after every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.graphs import Graph, elimination_game, members, triangulated

NONE = -1


class DynamicJunctionTree:
    """A dynamic junction tree (or forest) over the nodes of a graph.

    Parameters
    ----------
    graph
        The graph that was triangulated: its edges stay whatever is rotated. When it is decomposable and the ordering
        perfect, every rotation that changes the graph is one that adds edges.
    ordering
        An elimination ordering of its nodes.

    Attributes
    ----------
    clique : list of int
        For each label its clique, as a set.
    parent : list of int
        For each label that of the parent clique, or `NONE` for a root.
    """

    def __init__(self, graph: Graph, ordering: Sequence[int]) -> None:
        self.base = graph
        filled = triangulated(graph, elimination_game(graph, ordering))
        self.clique = [0] * len(graph)
        self.parent = [NONE] * len(graph)
        left = (1 << len(graph)) - 1
        pool: list[int] = []
        for v in ordering:
            self.clique[v] = filled.adjacency[v] & left | 1 << v
            left &= ~(1 << v)
            for other in [w for w in pool if self.clique[w] >> v & 1]:
                self.parent[other] = v
                pool.remove(other)
            pool.append(v)

    @classmethod
    def of(cls, graph: Graph) -> DynamicJunctionTree:
        """A tree of a decomposable graph."""
        graph.require_decomposable()
        return cls(graph, graph.elimination_ordering)

    def __len__(self) -> int:
        return len(self.clique)

    @property
    def graph(self) -> Graph:
        """The decomposable graph this tree stands for: the union of its cliques."""
        adjacency = [0] * len(self)
        for v, clique in enumerate(self.clique):
            for w in members(clique & ~(1 << v)):
                adjacency[v] |= 1 << w
                adjacency[w] |= 1 << v
        return Graph(tuple(adjacency), self.base.names)

    def children(self, v: int) -> list[int]:
        """The labels of the cliques whose parent is labelled v."""
        return [w for w in range(len(self)) if self.parent[w] == v]

    def path(self, v: int) -> list[int]:
        """v and its ancestors, upwards."""
        found = [v]
        while self.parent[found[-1]] != NONE:
            found.append(self.parent[found[-1]])
        return found

    def root(self, v: int) -> int:
        """The root of v's tree: two nodes are connected in the graph exactly when they have the same one."""
        return self.path(v)[-1]

    def check(self) -> None:
        """Raise an error unless both properties hold: running intersection, and labels that span the graph."""
        for v, clique in enumerate(self.clique):
            parent = self.parent[v]
            rest = clique & ~(1 << v)
            if not clique >> v & 1:
                self._fail(v, "a clique must hold its own label")
            if (parent == NONE) != (rest == 0):
                self._fail(v, "a clique is a root exactly when it holds its label only")
            if parent != NONE and not rest >> parent & 1:
                self._fail(v, "a clique must hold its parent's label (dynamic junction tree property)")
            if parent != NONE and rest & ~self.clique[parent]:
                self._fail(v, "a parent must hold all of a clique but its label (running intersection)")
            self._check_path(v)

    def _check_path(self, v: int) -> None:
        steps, above = 0, v
        while self.parent[above] != NONE:
            above, steps = self.parent[above], steps + 1
            if steps >= len(self):
                self._fail(v, "parents must not form a cycle")

    def _fail(self, v: int, what: str) -> None:
        raise GemelError(ErrorCode.PARAMETER, what, where=f"dynamic junction tree, clique {self.base.names[v]}")

    def is_neutral(self, v: int) -> bool:
        """Whether rotating v with its parent leaves the graph as it is."""
        w = self.parent[v]
        if w == NONE or self.clique[v] & ~(1 << v) != self.clique[w]:
            return False
        return self.clique[v] & ~(1 << v | 1 << w) & ~self._joined_without(v, w) == 0

    def _joined_without(self, v: int, w: int) -> int:
        """The nodes of v's clique joined to w before either is eliminated: by an edge, or by an earlier elimination."""
        joined = self.base.adjacency[w]
        for child in self.children(w):
            if child != v:
                joined |= self.clique[child]
        for child in self.children(v):
            if self.clique[child] >> w & 1:
                joined |= self.clique[child]
        return joined

    def rotate(self, v: int) -> None:
        """Exchange v and its parent in the elimination ordering: the parent w becomes v's child."""
        w = self.parent[v]
        if w == NONE:
            self._fail(v, "a root has no parent to be rotated with")
        candidates = self.clique[v] & ~(1 << v | 1 << w)
        both = candidates & self._joined_without(v, w)
        only_v = candidates & ~both
        only_w = self.clique[w] & ~self.clique[v]
        for child in self.children(v):
            if self.clique[child] >> w & 1:
                self.parent[child] = w
        self.parent[v], self.parent[w] = self.parent[w], v
        self.clique[w] = only_w | both | 1 << v | 1 << w
        self.clique[v] = only_v | only_w | both | 1 << v

    def reduce(self, v: int, kept: int) -> bool:
        """Sink ancestors of v until all that are left are in `kept`; False where no neutral rotation leads there."""
        while True:
            path = self.path(v)
            above = sum(1 << x for x in path)
            if not above & ~kept:
                return True
            graph = self.graph
            simplicial = (x for x in path if not kept >> x & 1 and graph.is_complete(graph.adjacency[x] & above))
            x = next(simplicial, None)
            if x is None:
                return False
            while x in (path := self.path(v)):
                self.rotate(path[path.index(x) - 1])

    def make_root(self, v: int) -> None:
        """Make v the root of its tree by neutral rotations (the base must be the graph itself)."""
        self.reduce(v, 1 << v)

    def prepare_addition(self, v: int, w: int) -> bool:
        """Rotate until w can be put into v's clique; False if the edge cannot be added."""
        graph = self.graph
        if v == w or graph.has_edge(v, w):
            return False
        if self.root(v) != self.root(w):
            self.make_root(v)
            return True
        common = graph.adjacency[v] & graph.adjacency[w]
        if not common:
            return False
        self.make_root(w)
        return self.reduce(v, common | 1 << v | 1 << w)

    def add_edge(self, v: int, w: int) -> bool:
        """Add an edge if that leaves the graph decomposable; whether it was added."""
        if not self.prepare_addition(v, w):
            return False
        if self.parent[v] == NONE:
            self.parent[v] = w
        self.clique[v] |= 1 << w
        self.base = self.graph
        return True

    def prepare_deletion(self, v: int, w: int) -> int:
        """Rotate until one of the two can be taken out of the other's clique; that other's label, or `NONE`."""
        if v == w or not self.graph.has_edge(v, w):
            return NONE
        if not self.clique[v] >> w & 1:
            v, w = w, v
        while True:
            larger = [u for u in self.children(v) if self.clique[u] & ~(1 << u) == self.clique[v]]
            if len(larger) > 1:
                return NONE
            if not larger:
                break
            self.rotate(larger[0])
        return NONE if any(self.clique[u] >> w & 1 for u in self.children(v)) else v

    def delete_edge(self, v: int, w: int) -> bool:
        """Delete an edge if that leaves the graph decomposable; whether it was deleted."""
        holder = self.prepare_deletion(v, w)
        if holder == NONE:
            return False
        v, w = (v, w) if holder == v else (w, v)
        self.clique[v] &= ~(1 << w)
        if self.clique[v] == 1 << v:
            self.parent[v] = NONE
        elif self.parent[v] == w:
            self.parent[v] = next(a for a in self.path(w)[1:] if self.clique[v] >> a & 1)
        self.base = self.graph
        return True
