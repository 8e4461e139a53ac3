"""A path of decomposable models from independence to as many interactions as a file can carry.

Edges are added one by one, always the one that the marginal likelihood likes best, and on past its maximum: the model
most likely for the table as a whole still has too few interactions for its rarest cells, which is what tau is about.
Cliques grow along the path, so that three-way and higher terms come in where the data have them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.greedy_search import climb, move_changes
from gemel.risk.models.result import n_pairs
from gemel.risk.models.scores import HyperDirichlet

_TIE = 1e-9  # edges whose gain differs by less are taken in their order


@dataclass(frozen=True)
class Step:
    """A model of the path.

    Parameters
    ----------
    graph
        The model.
    added
        The names of the edge that it has and the model before it lacks; None for the first.
    log_score
        Log marginal likelihood.
    """

    graph: Graph
    added: tuple[str, str] | None
    log_score: float


def decomposable_path(table: SparseCounts, precision: float = 1.0) -> list[Step]:
    """The path from independence to the saturated model.

    Notes
    -----
    1 + K (K - 1)/2 models for K variables, each found by the scores of all legal additions, nearly all remembered.
    """
    scores = HyperDirichlet(table, precision)
    graph = empty_graph(table.names)
    steps = [Step(graph, None, scores.graph(graph))]
    while True:
        changes = move_changes(scores, graph)
        legal = [
            (float(changes[n_pairs(v) + w]), v, w)
            for v in range(len(graph))
            for w in range(v)
            if not graph.has_edge(v, w) and np.isfinite(changes[n_pairs(v) + w])
        ]
        if not legal:
            return steps
        top = max(change for change, _, _ in legal)
        change, v, w = next(move for move in legal if move[0] >= top - _TIE)
        graph = graph.toggled(v, w)
        added = str(graph.names[w]), str(graph.names[v])
        steps.append(Step(graph, added, steps[-1].log_score + change))


def likeliest(table: SparseCounts, precision: float = 1.0) -> Graph:
    """The model at the local maximum of the marginal likelihood, edges added and deleted from independence."""
    scores = HyperDirichlet(table, precision)
    return climb(scores, empty_graph(table.names), 10_000)[0]


def cliques_of(graph: Graph) -> list[tuple[str, ...]]:
    """The model's terms, by names."""
    return [tuple(str(graph.names[v]) for v in range(len(graph)) if clique >> v & 1) for clique in graph.cliques]
