"""Dynamic junction trees, compiled: legal moves between decomposable graphs by neutral rotations (T11 chapter 6).

A tree is an array of 64-bit integers with the rows `ADJACENCY` (the graph), `CLIQUE`, `PARENT` and `CHILDREN`: sets
as bits, one column per variable. Preparing a move rotates the tree and leaves the graph alone, so a move that is
refused afterwards costs nothing to undo.

The clique labelled v is v with the neighbours it has left when it is eliminated; its parent is the first of them to
be eliminated. The label is thus the root of the subtree of the cliques that hold it, and the labels alone form a
spanning forest of the decomposable graph. A rotation of a clique and its parent exchanges the two in the
elimination ordering. Where it changes no edge of the graph it is *neutral*; edges are added and deleted by neutral
rotations that bring a clique to where one variable can simply be put in or taken out. A node of the path above v
that is simplicial there may be eliminated first, so moving it down past its successors one at a time leaves a
perfect ordering after every step: the neutral rotations needed always exist.

As in the thesis, but that the new clique of v after a rotation holds v itself. Searches of models search the graph
bit by bit instead, which decides alike.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gemel.carole.comparison.kernels import popcount
from gemel.risk.arrays import Integers
from gemel.risk.models.chain_kernels import ILLEGAL
from gemel.risk.models.graphs import Graph, lowest
from gemel.risk.models.junction_trees import is_complete

ADJACENCY, CLIQUE, PARENT, CHILDREN = 0, 1, 2, 3
ROWS = 4


def tree_array(graph: Graph) -> Integers:
    """A dynamic junction tree of a decomposable graph, as the compiled code holds it: shape (4, n)."""
    graph.require_decomposable()
    tree = np.zeros((ROWS, len(graph)), dtype=np.int64)
    tree[ADJACENCY] = graph.adjacency
    tree[PARENT] = -1
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
        while x >= 0 and (kept >> x & 1 or not is_complete(tree[ADJACENCY], tree[ADJACENCY, x] & above)):
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
def wander(tree, first, second):  # type: ignore[no-untyped-def]  # compiled
    """Change each edge (first[i], second[i]) in turn where that is legal; the number changed."""
    changed = 0
    for i in range(len(first)):
        if prepare(tree, first[i], second[i]) != ILLEGAL:
            apply(tree, first[i], second[i])
            changed += 1
    return changed
