"""Greedy search for one model, and from it Occam's window of all that come near."""

from __future__ import annotations

import heapq
import math

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Floats
from gemel.risk.models.chain_kernels import score_moves
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.result import SearchResult, key_of, make_result, n_pairs
from gemel.risk.models.scores import HyperDirichlet


def move_changes(scores: HyperDirichlet, graph: Graph) -> Floats:
    """The change of score of every single-edge move from a decomposable graph; NaN where it is illegal.

    Returns float64, shape (n_pairs,): in the order of `risk.models.result.pair_numbers`.
    """
    adjacency = np.array(graph.adjacency, dtype=np.int64)
    changes = np.zeros(n_pairs(len(graph)))
    done = 0
    while True:
        done = score_moves(scores.data, scores.work, adjacency, changes, done)
        if done == len(changes):
            return changes
        scores.make_room()


def climb(scores: HyperDirichlet, graph: Graph) -> tuple[Graph, list[float]]:
    """The local maximum uphill from a graph, and the scores on the way."""
    trace = [scores.graph(graph)]
    while True:
        changes = np.nan_to_num(move_changes(scores, graph), nan=-np.inf)
        pair = int(np.argmax(changes))
        if changes[pair] <= 1e-10:  # below the rounding of a score: no improvement
            return graph, trace
        v = next(v for v in range(len(graph)) if n_pairs(v + 1) > pair)
        graph = graph.toggled(v, pair - n_pairs(v))
        trace.append(trace[-1] + float(changes[pair]))


def greedy(scores: HyperDirichlet, start: Graph | None = None) -> SearchResult:
    """One model, by steepest ascent from `start` (by default the graph without edges), adding and deleting
    single edges.

    O(n^2) scores a step, nearly all from the cache after the first; at most about n^2 / 2 steps in practice.
    """
    if start is None:
        start = empty_graph(scores.counts.names)
    start.require_decomposable("start")
    if len(start) != len(scores):
        raise parameter("start", "the start must have the data's variables", f"{len(start)} nodes")
    graph, trace = climb(scores, start)
    steps = len(trace) - 1
    return make_result(
        "greedy",
        scores.counts.names,
        key_of(graph)[None],
        np.array([scores.graph(graph)]),
        visited=steps + 1,
        proposed=steps,
        accepted=steps,
        trace=np.array([trace]),
    )


# A fixed number of models stands for the whole posterior without a Markov chain, so nothing needs to mix. Models are
# expanded best first; those down to a wider window are expanded too, to bridge a valley between two good models.


def occam_window(
    scores: HyperDirichlet,
    *,
    ratio: float = 20.0,
    bridge: float = 20.0,
    start: Graph | None = None,
    model_limit: int = 50_000,
) -> SearchResult:
    """The models whose posterior probability is at least that of the best divided by `ratio`.

    `ratio`: how much less probable than the best a model may be; `bridge`: models down to `ratio * bridge` below the
    best are expanded in search of better ones, but not returned; `start`: where to begin; by default the end of a
    greedy search; `model_limit`: most models expanded; an error if the window is larger.

    References
    ----------
    .. [1] Madigan and Raftery, JASA 89, 1994. doi:10.1080/01621459.1994.10476894
    """
    if ratio < 1 or bridge < 1:
        raise parameter("ratio, bridge", "must be at least 1", f"{ratio}, {bridge}")
    start = greedy(scores).graph(0) if start is None else start
    start.require_decomposable("start")
    pairs = [(v, w) for v in range(len(scores)) for w in range(v)]
    best = scores.graph(start)
    known: dict[Graph, float] = {start: best}
    queue: list[tuple[float, int, Graph]] = [(-best, 0, start)]
    width = math.log(ratio) + math.log(bridge)
    expanded = 0
    while queue:
        score, _, graph = heapq.heappop(queue)
        if -score < best - width:
            break
        expanded += 1
        if expanded > model_limit:
            raise GemelError(
                ErrorCode.MEMORY,
                "the window holds more models than the limit",
                where="model_limit",
                got=f"more than {model_limit}",
                remedy="lower ratio or bridge, or sample with mc3",
            )
        changes = move_changes(scores, graph)
        for pair in np.flatnonzero(changes >= best - width + score):
            neighbour = graph.toggled(*pairs[pair])
            if neighbour not in known:
                known[neighbour] = -score + float(changes[pair])
                best = max(best, known[neighbour])
                heapq.heappush(queue, (-known[neighbour], len(known), neighbour))
    kept = {graph: score for graph, score in known.items() if score >= best - math.log(ratio)}
    return make_result(
        "Occam's window",
        scores.counts.names,
        np.array([key_of(graph) for graph in kept]),
        np.array([scores.graph(graph) for graph in kept]),
        visited=len(known),
        proposed=expanded * n_pairs(len(scores)),
    )
