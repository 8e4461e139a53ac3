"""Markov chain Monte Carlo model composition (MC3), by several chains that mix.

Single-edge moves alone stay for long times where replacing one edge by another needs a bad model in between.
Two remedies are built in: moves that change two edges at one node at once, and tempering: chains at higher
temperatures whose graphs the cold chain may take over. Both leave the target as it is: the uniform prior over
graphs times the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.models import chain_kernels as kernels
from gemel.risk.models.chains import Chain
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.result import SearchResult, inclusion_counts, inclusion_matrix, make_result, split_r_hat
from gemel.risk.models.scores import HyperDirichlet

TRACE = 2000


def mc3(
    scores: HyperDirichlet,
    rng: np.random.Generator,
    *,
    moves: int = 250_000,
    chains: int = 4,
    burn_in: int | None = None,
    thin: int = 1,
    double_share: float = 0.3,
    temperatures: int = 1,
    hottest: float = 10.0,
    start: Graph | None = None,
    model_limit: int = 1 << 20,
) -> SearchResult:
    """Sample decomposable models from their posterior.

    Parameters
    ----------
    moves
        Metropolis-Hastings steps of each chain after burn-in; an illegal proposal is a step.
    chains
        Independent chains. The first begins at `start`, the others where a walk without data led from there.
    burn_in
        Steps before sampling; by default a tenth of `moves`.
    thin
        Every `thin`-th step is a sample.
    double_share
        Share of the moves that change two edges at one node; 0 for the thesis's single-edge moves.
    temperatures, hottest
        Rungs of each chain's ladder, and the temperature of the hottest; 1 for no tempering. Each rung makes
        `moves` steps.
    start
        A decomposable graph; by default the one without edges.
    model_limit
        Bounds the memory of the record of models.

    Returns
    -------
    SearchResult
        Weights are visit frequencies over all chains.
    """
    burn_in = moves // 10 if burn_in is None else burn_in
    check_at_least(1, moves=moves, chains=chains, thin=thin, temperatures=temperatures, hottest=hottest)
    check_at_least(0, burn_in=burn_in)
    if moves < thin:
        raise parameter("thin", "must not exceed the number of moves", str(thin))
    start = empty_graph(scores.counts.names) if start is None else start
    betas = hottest ** -np.linspace(0.0, 1.0, temperatures) if temperatures > 1 else np.ones(1)
    trace_every = max(1, moves // thin // TRACE)
    ran: list[Chain] = []
    for number in range(chains):
        chain = Chain(
            scores,
            start,
            rng,
            betas=betas.tolist(),
            double_share=double_share,
            trace_length=moves // thin // trace_every,
            model_limit=model_limit,
        )
        if number:
            chain.disperse(2 * len(scores))
        chain.run(burn_in, recording=False)
        chain.ladder.tally[:] = 0
        chain.run(moves, thin=thin, trace_every=trace_every)
        ran.append(chain)
    shortest = min(len(chain.trace) for chain in ran)
    return pooled([[chain] for chain in ran], np.array([chain.trace[:shortest] for chain in ran]))


def check_at_least(minimum: int, **settings: float) -> None:
    """Raise an error that names the first setting below a minimum."""
    for name, value in settings.items():
        if value < minimum:
            raise parameter(name, f"must be at least {minimum}", str(value))


def pooled(
    groups: Sequence[Sequence[Chain]], trace: Floats, log_scores: Callable[[Integers], Floats] | None = None
) -> SearchResult:
    """One result of independent chains, each of one part or, at several precisions, of a part for each.

    `trace` (float64, shape (n_chains, n_traced)).
    """
    chains = [chain for group in groups for chain in group]
    names = chains[0].scores.counts.names
    n = len(names)
    keys, visits, scored = (np.concatenate(parts) for parts in zip(*(chain.visited() for chain in chains), strict=True))
    keys, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    visits = np.bincount(inverse.ravel(), weights=visits)
    samples = np.array([_samples(group) for group in groups], dtype=np.float64)
    by_group = [_inclusion(group, n) for group in groups]
    tally: Integers = np.sum([chain.ladder.tally for chain in chains], axis=0)
    tried, swapped = tally[:-1, kernels.SWAPS], tally[:-1, kernels.SWAPPED]
    return make_result(
        "MC3",
        names,
        keys,
        scored[first] if log_scores is None else log_scores(keys),
        visits / visits.sum(),
        visited=len(keys),
        edge_inclusion=inclusion_matrix(np.average(by_group, axis=0, weights=samples), n),
        unrecorded=sum(int(chain.record.state[kernels.UNRECORDED]) for chain in chains) / float(samples.sum()),
        **kernels.moves_made(tally[0]),
        swap_rate=tuple((swapped / np.maximum(tried, 1)).tolist()),
        trace=trace,
        r_hat=split_r_hat(trace),
        edge_spread=float(np.ptp(by_group, axis=0).max()) if len(groups) > 1 else float("nan"),
    )


def _samples(chains: Sequence[Chain]) -> int:
    return sum(int(chain.record.state[kernels.SAMPLES]) for chain in chains)


def _inclusion(chains: Sequence[Chain], n: int) -> Floats:
    """Share of the chains' samples with each pair joined, those at unrecorded models too."""
    joined = np.zeros(n * (n - 1) // 2)
    for chain in chains:
        keys, visits, _ = chain.visited()
        joined += inclusion_counts(keys, visits.astype(np.float64), n) + chain.record.lost_edges
    return np.asarray(joined / _samples(chains))
