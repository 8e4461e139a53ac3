"""Walks of legal moves over decomposable graphs, without scores: by rotations of a tree, and by search of the graph."""

from __future__ import annotations

from numba import njit

from gemel.risk.models.junction_trees import ADJACENCY, ILLEGAL, apply, is_complete, prepare, separated


@njit(cache=True, nogil=True)
def wander(tree, first, second):  # type: ignore[no-untyped-def]  # compiled
    """Change each edge (first[i], second[i]) in turn where that is legal; the number changed."""
    changed = 0
    for i in range(len(first)):
        if prepare(tree, first[i], second[i]) != ILLEGAL:
            apply(tree, first[i], second[i])
            changed += 1
    return changed


@njit(cache=True, nogil=True)
def wander_by_search(tree, first, second):  # type: ignore[no-untyped-def]  # compiled
    """As `wander`, by searching the graph instead of rotating a tree (the rest of the tree goes stale): to
    compare speed."""
    changed = 0
    adjacency = tree[ADJACENCY]
    for i in range(len(first)):
        v, w = first[i], second[i]
        joined = adjacency[v] >> w & 1
        legal = is_complete(tree, adjacency[v] & adjacency[w]) if joined else separated(adjacency, v, w)
        if legal:
            adjacency[v] ^= 1 << w
            adjacency[w] ^= 1 << v
            changed += 1
    return changed
