"""Simulated annealing: one good model, by a chain whose temperature falls (T11 equation 14).

The cost is minus the log marginal likelihood, so a move from i to j costs minus the log Bayes factor of j over i.
"""

from __future__ import annotations

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.models import chain_kernels as kernels
from gemel.risk.models.chains import Chain
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.greedy_search import climb
from gemel.risk.models.result import SearchResult, key_of, make_result
from gemel.risk.models.scores import HyperDirichlet

TRACE = 2000


def anneal(
    scores: HyperDirichlet,
    rng: np.random.Generator,
    *,
    moves: int = 100_000,
    runs: int = 1,
    hottest: float = 20.0,
    coldest: float = 0.1,
    double_share: float = 0.3,
    start: Graph | None = None,
) -> SearchResult:
    """Search for the model of greatest marginal likelihood.

    Parameters
    ----------
    moves
        Steps of each run: the temperature falls by the same factor at each, from `hottest` to `coldest`.
    runs
        Independent runs; each ends with a climb to the local maximum above the best model it was at.
    hottest, coldest
        Temperatures, in natural-log units of the likelihood.
    double_share
        Share of the moves that change two edges at one node.
    start
        Where each run begins; by default the graph without edges.

    Returns
    -------
    SearchResult
        The different models that the runs ended with, weighted by their posterior probabilities among themselves.
    """
    if moves < 1 or runs < 1:
        raise parameter("moves, runs", "must be at least 1", f"{moves}, {runs}")
    if not hottest >= coldest > 0:
        raise parameter("hottest, coldest", "temperatures must be positive and must fall", f"{hottest}, {coldest}")
    start = empty_graph(scores.counts.names) if start is None else start
    growth = (hottest / coldest) ** (1 / moves)
    every = max(1, moves // TRACE)
    ends: dict[Graph, float] = {}
    traces, tally = [], np.zeros(5, dtype=np.int64)
    for _ in range(runs):
        chain = Chain(
            scores,
            start,
            rng,
            betas=(1 / hottest,),
            double_share=double_share,
            trace_length=moves // every,
            model_limit=1024,
        )
        chain.run(moves, trace_every=every, growth=growth)
        end, _ = climb(scores, chain.best)
        ends[end] = scores.graph(end)
        traces.append(chain.trace)
        tally += chain.ladder.tally[0]
    return make_result(
        "simulated annealing",
        scores.counts.names,
        np.array([key_of(graph) for graph in ends]),
        np.array(list(ends.values())),
        visited=len(ends),
        **kernels.moves_made(tally),
        trace=np.array(traces),
    )
