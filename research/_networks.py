"""A Bayesian network as a decomposable model, graphs made decomposable by eliminating nodes, data against a model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.models.bayesian_networks import BayesianNetwork
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel, calibrated
from gemel.risk.models.graphs import Edge, Graph, members
from gemel.risk.models.queries import divergence_terms


def decomposable_model(network: BayesianNetwork, graph: Graph | None = None) -> FittedModel:
    """The same distribution as a decomposable model, of a triangulation of the moral graph (minimal by default)."""
    if graph is None:
        parents = {name: [network.names[p] for p in network.parents[v]] for v, name in enumerate(network.names)}
        graph = triangulated(moralise(parents))
    potentials = [Factor.from_table((*network.parents[v], v), table) for v, table in enumerate(network.tables)]
    return calibrated(graph, network.levels, potentials)


def divergence_from_data(data: SparseCounts, model: FittedModel) -> float:
    """Jensen-Shannon divergence of data's relative frequencies from a model, in bits, by the occupied cells alone.

    Outside them the middle is half the model: each unit of the model's probability there contributes exactly 1/2.
    """
    q = np.exp(model.log_probability(data.cells))
    return float(np.clip(divergence_terms(data.counts / data.total, q).sum() + (1 - q.sum()) / 2, 0, 1))


def moralise(parents: Mapping[Hashable, Sequence[Hashable]]) -> Graph:
    """The Markov graph of a Bayesian network: parents of a common child married, directions dropped."""
    edges = (edge for child, its_parents in parents.items() for edge in combinations((*its_parents, child), 2))
    return Graph.from_edges(tuple(parents), edges)


def elimination_game(graph: Graph, ordering: Sequence[int]) -> tuple[Edge, ...]:
    """The fill-in edges that eliminating the nodes in this order adds.

    To eliminate a node is to join its remaining neighbours with one another and to take it out. Graph and fill-in
    together are decomposable, and `ordering` is perfect for them. O(n^2) set operations.
    """
    if sorted(ordering) != list(range(len(graph))):
        raise parameter(
            "ordering",
            "an elimination ordering names each node once",
            f"{len(ordering)} entries for {len(graph)} nodes",
        )
    adjacency = list(graph.adjacency)
    fill: list[Edge] = []
    left = (1 << len(graph)) - 1
    for v in ordering:
        left &= ~(1 << v)
        _join(adjacency, adjacency[v] & left, fill)
    return tuple(sorted(fill))


def _join(adjacency: list[int], nodes: int, fill: list[Edge]) -> None:
    for x in members(nodes):
        for y in members(nodes & ~adjacency[x] & ~((2 << x) - 1)):
            adjacency[x] |= 1 << y
            adjacency[y] |= 1 << x
            fill.append((x, y))


def minimum_fill_ordering(graph: Graph) -> tuple[int, ...]:
    """Eliminate, each time, a node whose elimination adds fewest edges: a good triangulation, not always a
    minimal one."""
    adjacency = list(graph.adjacency)
    left = (1 << len(graph)) - 1
    ordering = []
    while left:
        v = min(members(left), key=lambda v: (_missing(adjacency, adjacency[v] & left), v))
        ordering.append(v)
        left &= ~(1 << v)
        _join(adjacency, adjacency[v] & left, [])
    return tuple(ordering)


def _missing(adjacency: Sequence[int], nodes: int) -> int:
    return sum((nodes & ~adjacency[x] & ~(1 << x)).bit_count() for x in members(nodes)) // 2


def minimal_triangulation(graph: Graph, fill: Sequence[Edge] | None = None) -> tuple[Edge, ...]:
    """A minimal subset of a triangulation's fill-in that is still a triangulation.

    A triangulation is minimal exactly when none of its edges can be deleted on its own [1]_, so edges are taken away
    one by one as long as a legal deletion is found. O(f^2) checks for f fill-in edges.

    References
    ----------
    .. [1] Rose, Tarjan and Lueker, SIAM J. Comput. 5, 1976. doi:10.1137/0205021
    """
    if fill is None:
        fill = elimination_game(graph, minimum_fill_ordering(graph))
    filled = triangulated(graph, fill)
    filled.require_decomposable("fill")
    kept = list(fill)
    while redundant := next((edge for edge in kept if filled.can_delete(*edge)), None):
        kept.remove(redundant)
        filled = filled.toggled(*redundant)
    return tuple(sorted(kept))


def triangulated(graph: Graph, fill: Sequence[Edge] | None = None) -> Graph:
    """The graph with its fill-in; without one, with a minimal triangulation that starts from minimum fill."""
    if fill is None:
        fill = minimal_triangulation(graph)
    return Graph.from_edges(graph.names, [(graph.names[v], graph.names[w]) for v, w in (*graph.edges, *fill)])
