"""Link probabilities of all candidate pairs: of a record's only pair at once, of records that compete by messages.

In files with good fields most kept pairs are the only ones of both their records. Nothing excludes such a pair: its
odds are its weight, and its probability follows with a division, while messages would be passed along it in each sweep
and take ten times the memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.candidate_graph import candidate_graph
from gemel.carole.fellegi_sunter.messages import Beliefs, Messages, Settled
from gemel.carole.fellegi_sunter.propagation import MAX_SWEEPS, Propagation, likelihood_ratios, prior_odds
from gemel.carole.fellegi_sunter.ranges import equal_ranges, in_ranges


class CandidateMarginals:
    """The `Marginals` of candidate pairs of which those with a record in common exclude each other.

    Parameters
    ----------
    a, b : ndarray of int, shape (n_pairs,)
        Rows of the two files; no pair twice. All likelihood ratios are 1 until they are weighed.
    threads : int
        The result is the same on any number.

    Notes
    -----
    12 bytes for a pair that nothing excludes; for any other the graph's and `Propagation`'s.
    """

    def __init__(self, a: NDArray[np.integer], b: NDArray[np.integer], threads: int = 1) -> None:
        self.n_pairs, self._threads = len(a), threads
        alone = uncontested(a, b)
        competing = np.flatnonzero(~alone)
        self._alone = np.flatnonzero(alone).astype(np.int32)
        self._parts = equal_ranges(len(self._alone))
        graph = candidate_graph(a[competing], b[competing])
        self.graph = graph._replace(order=competing[graph.order].astype(np.int32))
        self._messages = Propagation(self.graph, np.zeros(len(a)), threads=threads)
        self._ratio, self._scale = np.ones(len(self._alone)), 1.0

    def weigh(self, log_ratio: NDArray[np.float64]) -> None:
        """Set the likelihood ratios: natural logarithms, shape (n_pairs,)."""
        self._ratio = likelihood_ratios(log_ratio, self._alone, self._threads)
        self._messages.weigh(log_ratio)

    def run(self, log_prior_odds: float, max_sweeps: int = MAX_SWEEPS) -> Settled:
        """Give every link these prior odds, and pass messages until they converge, or after so many sweeps."""
        settled = self._messages.run(log_prior_odds, max_sweeps)
        self._scale = prior_odds(log_prior_odds)
        links = sum(in_ranges(self._parts, self._threads, lambda part: float(self._of_alone(part).sum())))
        return Settled(
            settled.expected_links + links, settled.rounds, settled.unsettled, settled.worked_out + len(self._alone)
        )

    def beliefs(self) -> Beliefs:
        """Marginals after `run`."""
        probability = np.empty(self.n_pairs)

        def write(part: slice) -> float:
            probability[self._alone[part]] = self._of_alone(part)
            return float(np.log1p(self._ratio[part] * self._scale).sum())

        of_competing = self._messages.beliefs(probability).log_weight_sum
        return Beliefs(probability, of_competing + sum(in_ranges(self._parts, self._threads, write)))

    def messages(self) -> Messages:
        """Weights and messages of the pairs that compete, in the order of `graph`, after `run`."""
        return self._messages.messages()

    def _of_alone(self, part: slice) -> NDArray[np.float64]:
        odds = self._ratio[part] * self._scale
        return odds / (1.0 + odds)


@njit(nogil=True, cache=True)
def uncontested(a: NDArray[np.integer], b: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each pair is the only one of both its records. One byte a record and pair."""
    n_a, n_b = 0, 0
    for k in range(len(a)):
        n_a, n_b = max(n_a, a[k] + 1), max(n_b, b[k] + 1)
    pairs_a, pairs_b = np.zeros(n_a, dtype=np.uint8), np.zeros(n_b, dtype=np.uint8)
    for k in range(len(a)):
        pairs_a[a[k]] = min(pairs_a[a[k]] + 1, 2)
        pairs_b[b[k]] = min(pairs_b[b[k]] + 1, 2)
    alone = np.empty(len(a), dtype=np.bool_)
    for k in range(len(a)):
        alone[k] = pairs_a[a[k]] == 1 and pairs_b[b[k]] == 1
    return alone
