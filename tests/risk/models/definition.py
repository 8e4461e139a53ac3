"""Tables, graphs and scores plainly: what the sparse and compiled forms are compared with, and forms for networkx."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import Edge, Graph, members
from gemel.risk.models.incomplete import IncompleteCounts
from gemel.risk.models.junction_trees import JunctionTree
from research._networks import triangulated


def to_table(counts: SparseCounts) -> NDArray[np.float64]:
    """The full table."""
    table = np.zeros(counts.levels)
    table[tuple(counts.cells.T)] = counts.counts
    return table


def to_networkx(graph: Graph) -> nx.Graph[Any]:
    """The same graph for networkx, over the names."""
    made: nx.Graph[Any] = nx.Graph()
    made.add_nodes_from(graph.names)
    made.add_edges_from((graph.names[v], graph.names[w]) for v, w in graph.edges)
    return made


def names_of(graph: Graph, nodes: int) -> frozenset[Hashable]:
    """The names of a set of nodes."""
    return frozenset(graph.names[v] for v in members(nodes))


def tree_to_networkx(tree: JunctionTree, graph: Graph) -> nx.Graph[Any]:
    """A junction tree for networkx: nodes are frozen sets of names."""
    made: nx.Graph[Any] = nx.Graph()
    made.add_nodes_from(names_of(graph, clique) for clique in tree.cliques)
    made.add_edges_from((names_of(graph, tree.cliques[a]), names_of(graph, tree.cliques[b])) for a, b in tree.edges)
    return made


def log_marginal_likelihood(counts: SparseCounts, variables: int, precision: float = 1.0) -> float:
    """T11's equation 13 for the table over a set of columns (bits), each cell with precision / (its declared cells)."""
    if not variables:
        return 0.0
    table = counts.marginal([counts.names[v] for v in members(variables)])
    prior = precision / math.prod(table.levels)
    occupied = gammaln(prior + table.counts) - gammaln(prior)
    return float(gammaln(precision) - gammaln(precision + table.total) + occupied.sum())


def expected_counts(model: FittedModel, data: IncompleteCounts) -> tuple[list[NDArray[np.float64]], float]:
    """Each clique's table of expected counts given what is known of the records, and the log likelihood of that.

    Record by record, from the model's answer to a question about each clique.
    """
    tables = [np.zeros(factor.levels) for factor in model.cliques]
    log_likelihood = 0.0
    for record, weight in zip(data.records, data.weights, strict=True):
        known = {model.names[v]: int(x) for v, x in enumerate(record) if x >= 0}
        log_likelihood += weight * math.log(model.probability(known))
        for table, factor in zip(tables, model.cliques, strict=True):
            names = [model.names[v] for v in factor.variables]
            unknown = [name for name in names if name not in known]
            table[tuple(known.get(name, slice(None)) for name in names)] += weight * model.marginal(unknown, known)
    return tables, log_likelihood


def is_minimal(graph: Graph, fill: Sequence[Edge]) -> bool:
    """Whether `fill` triangulates the graph and no proper subset of it does."""
    filled = triangulated(graph, fill)
    return filled.is_decomposable and not any(filled.can_delete(*edge) for edge in fill)
