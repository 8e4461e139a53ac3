"""One chain of graphs (or a ladder of them at several temperatures) with its record of models: what the searches drive.

Random numbers are drawn here from the caller's generator, batch by batch, and the compiled walk stops
where its cache of scores or its record of models must be given more room; so memory grows with what was seen
and has limits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.models import chain_kernels as kernels
from gemel.risk.models.graphs import Graph
from gemel.risk.models.result import n_pairs, pair_numbers, words_for
from gemel.risk.models.scores import HyperDirichlet

DRAWN_AT_ONCE = 1 << 16


class Chain:
    """Metropolis-Hastings over decomposable graphs.

    `scores` may be shared by chains that run one after another; `betas`: inverse temperatures, the first of them that
    of the chain that is sampled; `double_share`: share of the moves that change two edges at one node; `trace_length`:
    most values of the score's trace; `model_limit`: most models recorded; rounded up to a power of two, half of which
    are used.
    """

    def __init__(
        self,
        scores: HyperDirichlet,
        start: Graph,
        rng: np.random.Generator,
        *,
        betas: Sequence[float] = (1.0,),
        double_share: float = 0.0,
        trace_length: int = 0,
        model_limit: int = 1 << 20,
    ) -> None:
        n = len(scores)
        if len(start) != n:
            raise parameter("start", "the start must have the data's variables", f"{len(start)} nodes")
        start.require_decomposable("start")
        if n < 2:
            raise parameter("counts", "a search needs at least two variables", str(n))
        if not 0 <= double_share < 1:
            raise parameter(
                "double_share",
                "the share of double moves must be 0 or more and less than 1",
                str(double_share),
                "double moves alone never change whether the number of edges is odd",
            )
        self.scores, self.rng = scores, rng
        self.double_share = double_share if n > 2 else 0.0
        self.model_limit = model_limit
        rungs = len(betas)
        self.ladder = kernels.Ladder(
            np.tile(np.array(start.adjacency, dtype=np.int64), (rungs, 1)),
            np.full(rungs, scores.graph(start)),
            np.array(betas, dtype=np.float64),
            np.zeros((rungs, 5), dtype=np.int64),
        )
        words, pairs, places = words_for(n), n_pairs(n), 1 << 10
        self.record = kernels.Record(
            np.zeros(words, dtype=np.int64),
            np.zeros((places, words), dtype=np.int64),
            np.zeros(places, dtype=np.int64),
            np.zeros(places),
            np.random.default_rng(pairs).integers(0, 2**62, size=pairs, dtype=np.int64),
            pair_numbers(n),
            np.zeros(7, dtype=np.int64),
            np.zeros(pairs, dtype=np.int64),
            np.zeros(trace_length),
            np.array(start.adjacency, dtype=np.int64),
            self.ladder.scores[:1].copy(),
        )
        kernels.renew(self.record, self.ladder.graphs[0])

    @property
    def graph(self) -> Graph:
        return Graph(tuple(int(row) for row in self.ladder.graphs[0]), self.scores.counts.names)

    @property
    def best(self) -> Graph:
        """The graph of greatest score that the cold chain was at."""
        return Graph(tuple(int(row) for row in self.record.best), self.scores.counts.names)

    def run(
        self,
        moves: int,
        *,
        recording: bool = True,
        thin: int = 1,
        trace_every: int = 1,
        growth: float = 1.0,
        stretch: int = 64,
    ) -> None:
        """Make a number of moves with each rung."""
        rungs = len(self.ladder.betas)
        turns = max(1, DRAWN_AT_ONCE // (stretch * rungs))
        while moves:
            # Whole turns of the rungs; what is left over is one shorter turn, so that each rung makes `moves` moves.
            own = min(moves // stretch, turns) * stretch or moves
            draws, done, reason = self._draw(own * rungs, stretch), 0, -1
            while reason != kernels.DONE:
                done, reason = kernels.walk(
                    self.scores.data, self.scores.work, self.ladder, draws, self.record, done, min(own, stretch),
                    thin, trace_every, recording, growth,
                )  # fmt: skip
                if reason == kernels.CACHE_FULL:
                    self.scores.make_room()
                elif reason == kernels.MODELS_FULL:
                    self._more_models()
            moves -= own

    def _draw(self, size: int, stretch: int) -> kernels.Draws:
        n, rng = len(self.scores), self.rng
        first = rng.integers(0, n, size)
        second = (first + rng.integers(1, n, size)) % n
        third = np.full(size, -1, dtype=np.int64)
        if self.double_share > 0:
            # The third node is uniform among those that are neither of the first two.
            double = rng.random(size) < self.double_share
            drawn = rng.integers(0, n - 2, size)
            low, high = np.minimum(first, second), np.maximum(first, second)
            drawn += drawn >= low
            drawn += drawn >= high
            third[double] = drawn[double]
        swaps = -rng.standard_exponential(max(1, size // stretch + 1))
        return kernels.Draws(first, second, third, -rng.standard_exponential(size), swaps)

    def _more_models(self) -> None:
        places = 2 * len(self.record.visits)
        if places > self.model_limit:
            self.record.state[kernels.CLOSED] = 1
            return
        larger = self.record._replace(
            keys=np.zeros((places, self.record.keys.shape[1]), dtype=np.int64),
            visits=np.zeros(places, dtype=np.int64),
            scores=np.zeros(places),
        )
        kernels.refill(self.record, larger)
        self.record = larger

    def disperse(self, moves: int) -> None:
        """Wander without regard to the data for a number of moves, so that chains start apart."""
        betas = self.ladder.betas.copy()
        self.ladder.betas[:] = 0.0
        self.run(moves, recording=False)
        self.ladder.betas[:] = betas
        self.ladder.tally[:] = 0
        self.record.best[:] = self.ladder.graphs[0]
        self.record.best_score[0] = self.ladder.scores[0]

    def visited(self) -> tuple[Integers, Integers, Floats]:
        """Keys, visits and log scores of the models recorded."""
        used = self.record.visits > 0
        return self.record.keys[used], self.record.visits[used], self.record.scores[used]

    @property
    def trace(self) -> Floats:
        return self.record.trace[: self.record.state[kernels.TRACED]]
