"""Junction trees of decomposable graphs, and the legal moves between them, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from gemel.common.errors import parameter
from gemel.risk.arrays import Integers
from gemel.risk.models.graphs import MAX_VARIABLES, Graph, lowest, popcount

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


# Dynamic junction trees in compiled code: the legal moves of every search, by neutral rotations.
#
# A tree is an array of 64-bit integers with the rows `ADJACENCY` (the graph), `CLIQUE`, `PARENT` and `CHILDREN`: sets
# as bits, one column per variable. Preparing a move rotates the tree and leaves the graph alone, so a move that is
# refused afterwards costs nothing to undo.
#
# The clique labelled v is v with the neighbours it has left when it is eliminated; its parent is the first of them to
# be eliminated. The label is thus the root of the subtree of the cliques that hold it, and the labels alone form a
# spanning forest of the decomposable graph. A rotation of a clique and its parent exchanges the two in the
# elimination ordering. Where it changes no edge of the graph it is *neutral*; edges are added and deleted by neutral
# rotations that bring a clique to where one variable can simply be put in or taken out. A node of the path above v
# that is simplicial there may be eliminated first, so moving it down past its successors one at a time leaves a
# perfect ordering after every step: the neutral rotations needed always exist.
#
# References
# ----------
# .. [1] Smith, Aspects of statistical disclosure control, thesis, 2011, chapter 6; with the new clique of v after a
#    rotation holding v itself.

ADJACENCY, CLIQUE, PARENT, CHILDREN = 0, 1, 2, 3
ROWS = 4
ILLEGAL = -1


def tree_array(graph: Graph) -> Integers:
    """A dynamic junction tree of a decomposable graph, as the compiled code holds it: shape (4, n)."""
    if len(graph) > MAX_VARIABLES:
        raise parameter("graph", f"the search takes at most {MAX_VARIABLES} variables", str(len(graph)))
    graph.require_decomposable()
    tree = np.zeros((ROWS, len(graph)), dtype=np.int64)
    tree[ADJACENCY] = graph.adjacency
    tree[PARENT] = ILLEGAL
    left = (1 << len(graph)) - 1
    orphans: list[int] = []
    for v in graph.elimination_ordering:  # perfect: no edge is filled in
        tree[CLIQUE, v] = graph.adjacency[v] & left | 1 << v
        left &= ~(1 << v)
        for child in [w for w in orphans if tree[CLIQUE, w] >> v & 1]:
            tree[PARENT, child] = v
            tree[CHILDREN, v] |= 1 << child
            orphans.remove(child)
        orphans.append(v)
    return tree


def graph_of(tree: Integers, names: tuple[object, ...] = ()) -> Graph:
    return Graph(tuple(int(row) for row in tree[ADJACENCY]), tuple(names))


@njit(cache=True, nogil=True)
def rotate(tree, v):  # type: ignore[no-untyped-def]  # compiled
    """Rotate v with its parent; the rotation must be neutral."""
    w = tree[PARENT, v]
    above = tree[PARENT, w]
    if above >= 0:
        tree[CHILDREN, above] ^= (1 << v) | (1 << w)
    tree[PARENT, v] = above
    tree[PARENT, w] = v
    moved = 0
    children = tree[CHILDREN, v]
    while children:
        child = lowest(children)
        children &= children - 1
        if tree[CLIQUE, child] >> w & 1:
            moved |= 1 << child
            tree[PARENT, child] = w
    tree[CHILDREN, v] = (tree[CHILDREN, v] & ~moved) | (1 << w)
    tree[CHILDREN, w] = (tree[CHILDREN, w] & ~(1 << v)) | moved
    tree[CLIQUE, w] = tree[CLIQUE, v]
    tree[CLIQUE, v] &= ~(1 << w)


@njit(cache=True, nogil=True)
def root(tree, v):  # type: ignore[no-untyped-def]  # compiled
    while tree[PARENT, v] >= 0:
        v = tree[PARENT, v]
    return v


@njit(cache=True, nogil=True)
def is_complete(tree, nodes):  # type: ignore[no-untyped-def]  # compiled
    """Whether every two members of a set are joined in the graph."""
    left = nodes
    while left:
        x = lowest(left)
        left &= left - 1
        if left & ~tree[ADJACENCY, x]:
            return False
    return True


@njit(cache=True, nogil=True)
def reduce(tree, v, kept):  # type: ignore[no-untyped-def]  # compiled
    """Sink ancestors of v until all that are left are in `kept`; False where no neutral rotation leads there."""
    while True:
        above = 0
        x = v
        while x >= 0:
            above |= 1 << x
            x = tree[PARENT, x]
        if not above & ~kept:
            return True
        x = v
        while x >= 0 and (kept >> x & 1 or not is_complete(tree, tree[ADJACENCY, x] & above)):
            x = tree[PARENT, x]
        if x < 0:
            return False
        while True:
            y = v
            while y >= 0 and tree[PARENT, y] != x:
                y = tree[PARENT, y]
            if y < 0:
                break
            rotate(tree, y)


@njit(cache=True, nogil=True)
def prepare_addition(tree, v, w):  # type: ignore[no-untyped-def]  # compiled
    """Rotate until w can be put into v's clique. Returns the common neighbours of the two, or `ILLEGAL`."""
    if root(tree, v) != root(tree, w):
        reduce(tree, v, 1 << v)
        return 0
    common = tree[ADJACENCY, v] & tree[ADJACENCY, w]
    if common == 0:
        return ILLEGAL
    reduce(tree, w, 1 << w)
    if reduce(tree, v, common | (1 << v) | (1 << w)):
        return common
    return ILLEGAL


@njit(cache=True, nogil=True)
def prepare_deletion(tree, v, w):  # type: ignore[no-untyped-def]  # compiled
    """Make the clique of v (or of w) that holds both maximal. Returns the rest of it, or `ILLEGAL`."""
    if not tree[CLIQUE, v] >> w & 1:
        v, w = w, v
    growing = True
    while growing:
        size = popcount(tree[CLIQUE, v])
        larger = -1
        children = tree[CHILDREN, v]
        while children:
            child = lowest(children)
            children &= children - 1
            if popcount(tree[CLIQUE, child]) == size + 1:
                if larger >= 0:
                    return ILLEGAL
                larger = child
        growing = larger >= 0
        if growing:
            rotate(tree, larger)
    children = tree[CHILDREN, v]
    while children:
        child = lowest(children)
        children &= children - 1
        if tree[CLIQUE, child] >> w & 1:
            return ILLEGAL
    return tree[CLIQUE, v] & ~((1 << v) | (1 << w))


@njit(cache=True, nogil=True)
def prepare(tree, v, w):  # type: ignore[no-untyped-def]  # compiled
    """Make the tree ready for changing edge (v, w). Returns the rest of the clique concerned, or `ILLEGAL`.

    The change of the score is, for the rest S, that of the clique S + v + w times S over S + v times S + w: added,
    or, for a deletion, taken away.
    """
    if tree[ADJACENCY, v] >> w & 1:
        return prepare_deletion(tree, v, w)
    return prepare_addition(tree, v, w)


@njit(cache=True, nogil=True)
def apply(tree, v, w):  # type: ignore[no-untyped-def]  # compiled
    """Change edge (v, w) of a tree just prepared for it."""
    if tree[ADJACENCY, v] >> w & 1:
        if not tree[CLIQUE, v] >> w & 1:
            v, w = w, v
        tree[CLIQUE, v] &= ~(1 << w)
        parent = tree[PARENT, v]
        if tree[CLIQUE, v] == 1 << v:
            tree[CHILDREN, parent] ^= 1 << v
            tree[PARENT, v] = -1
        elif parent == w:
            higher = tree[PARENT, w]
            while not tree[CLIQUE, v] >> higher & 1:
                higher = tree[PARENT, higher]
            tree[CHILDREN, parent] ^= 1 << v
            tree[CHILDREN, higher] |= 1 << v
            tree[PARENT, v] = higher
    else:
        if tree[PARENT, v] < 0:
            tree[PARENT, v] = w
            tree[CHILDREN, w] |= 1 << v
        tree[CLIQUE, v] |= 1 << w
    tree[ADJACENCY, v] ^= 1 << w
    tree[ADJACENCY, w] ^= 1 << v


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
