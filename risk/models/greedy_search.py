"""Greedy search: the best single-edge move again and again, until none improves the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.models.chain_kernels import score_moves
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.result import SearchResult, key_of, make_result, n_pairs
from gemel.risk.models.scores import HyperDirichlet
from gemel.risk.models.tree_kernels import ADJACENCY, ROWS


def move_changes(scores: HyperDirichlet, graph: Graph) -> NDArray[np.float64]:
    """The change of score of every single-edge move from a decomposable graph; NaN where it is illegal.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        In the order of `risk.models.result.pair_number`.
    """
    tree = np.zeros((ROWS, len(graph)), dtype=np.int64)
    tree[ADJACENCY] = graph.adjacency
    changes = np.zeros(n_pairs(len(graph)))
    done = 0
    while True:
        done = score_moves(scores.data, scores.work, tree, changes, done)
        if done == len(changes):
            return changes
        scores.make_room()


def climb(scores: HyperDirichlet, graph: Graph, max_moves: int) -> tuple[Graph, list[float]]:
    """The local maximum uphill from a graph, and the scores on the way."""
    trace = [scores.graph(graph)]
    for _ in range(max_moves):
        changes = np.nan_to_num(move_changes(scores, graph), nan=-np.inf)
        pair = int(np.argmax(changes))
        if changes[pair] <= 1e-10:  # below the rounding of a score: no improvement
            break
        v = next(v for v in range(len(graph)) if n_pairs(v + 1) > pair)
        graph = graph.toggled(v, pair - n_pairs(v))
        trace.append(trace[-1] + float(changes[pair]))
    return graph, trace


def greedy(scores: HyperDirichlet, start: Graph | None = None, max_moves: int = 10_000) -> SearchResult:
    """One model, by steepest ascent from `start` (by default the graph without edges), adding and deleting
    single edges.

    Notes
    -----
    O(n^2) scores a step, nearly all from the cache after the first; at most about n^2 / 2 steps in practice.
    """
    if start is None:
        start = empty_graph(scores.counts.names)
    start.require_decomposable("start")
    if len(start) != len(scores):
        raise parameter("start", "the start must have the data's variables", f"{len(start)} nodes")
    graph, trace = climb(scores, start, max_moves)
    steps = len(trace) - 1
    return make_result(
        "greedy",
        "one model",
        scores.counts.names,
        key_of(graph)[None],
        np.ones(1),
        np.array([scores.graph(graph)]),
        visited=steps + 1,
        proposed=steps,
        accepted=steps,
        trace=np.array([trace]),
        tables_counted=scores.tables_counted,
    )
