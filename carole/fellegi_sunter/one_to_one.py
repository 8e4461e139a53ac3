"""Posterior link probabilities where a record has at most one match.

The pairwise model scores each pair separately, at prior odds p / (1 - p). In a one-to-one linkage pairs compete: a
weak pair whose records have no other candidate is likely a match where nearly every record has one, and a strong one
is not if a stronger one takes its record. Here a whole matching has probability proportional to Sadinle's prior
(`prior`) and the likelihood ratios of its links (`at_implied_number`); marginals are belief propagation's
(`propagation`), and where records compete in a cycle, which it misjudges, those of enumeration or of a Markov chain
(`cores`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gemel.carole.fellegi_sunter.candidate_graph import (
    Beliefs,
    Settled,
    candidate_graph,
    equal_ranges,
    in_ranges,
)
from gemel.carole.fellegi_sunter.cores import without_cycles
from gemel.carole.fellegi_sunter.prior import MANY_PAIRS, TOLERANCE, BetaBipartite, LinkProbabilities, at_implied_number
from gemel.carole.fellegi_sunter.propagation import MAX_SWEEPS, Propagation, likelihood_ratios, prior_odds
from gemel.common.arrays import F64, Flags, Ints
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import GemelError, parameter
from gemel.common.progress import StageProgress, silent

# Link probabilities of all candidate pairs: of a record's only pair at once, of records that compete by messages.
#
# In files with good fields most kept pairs are the only ones of both their records. Nothing excludes such a pair: its
# odds are its weight, and its probability follows with a division, while messages would be passed along it in each
# sweep and take ten times the memory.


MAX_CORRECTIONS = 2
"""How often the number of links is put right after groups of records that compete in a cycle are."""


class Competition:
    """Candidate pairs of which those with a record in common exclude each other, and their `Marginals`.

    `a`, `b` (int, shape (n_pairs,)): rows of the two files; no pair twice. Pairs that are not listed cannot be linked.
    All likelihood ratios are 1 until they are weighed. Weighed again, as in each round of estimation, the probabilities
    are found from where they were.

    12 bytes for a pair that nothing excludes; for any other the graph's and `Propagation`'s. O(n_pairs) a sweep, and of
    these no more than `prior.MAX_TERMS_PER_PAIR` allows. Keep pairs well below the pairwise threshold, among which are
    weak pairs that become links (a floor on the pairwise log odds of -9 lost none in FEBRL4, -3 one in 5,000).

    References
    ----------
    .. [1] Sadinle, JASA 112, 2017. doi:10.1080/01621459.2016.1148612
    .. [2] Huang and Jebara, Approximating the permanent with belief propagation, 2009. arXiv:0908.1769
    """

    def __init__(self, a: Ints, b: Ints, threads: int = 1) -> None:
        self.n_pairs, self._threads = len(a), threads
        alone = uncontested(a, b)
        competing = np.flatnonzero(~alone)
        self._alone = np.flatnonzero(alone).astype(np.int32)
        self._parts = equal_ranges(len(self._alone))
        graph = candidate_graph(a[competing], b[competing])
        self.graph = graph._replace(order=competing[graph.order].astype(np.int32))
        self._messages = Propagation(self.graph, np.zeros(len(a)), threads=threads)
        self._ratio, self._scale = np.ones(len(self._alone)), 1.0
        self._links: float | None = None

    def weigh(self, log_ratio: F64) -> None:
        """Set the likelihood ratios: natural logarithms, shape (n_pairs,)."""
        self._ratio = likelihood_ratios(log_ratio, self._alone, self._threads)
        self._messages.weigh(log_ratio)

    def run(self, log_prior_odds: float, max_sweeps: int = MAX_SWEEPS) -> Settled:
        """Give every link these prior odds, and pass messages until they converge, or after so many sweeps."""
        settled = self._messages.run(log_prior_odds, max_sweeps)
        self._scale = prior_odds(log_prior_odds)
        links = sum(in_ranges(self._parts, self._threads, lambda part: float(self._of_alone(part).sum())))
        worked_out = settled.worked_out + len(self._alone)
        return Settled(settled.expected_links + links, settled.unsettled, worked_out)

    def beliefs(self) -> Beliefs:
        probability = np.empty(self.n_pairs)

        def write(part: slice) -> float:
            probability[self._alone[part]] = self._of_alone(part)
            return float(np.log1p(self._ratio[part] * self._scale).sum())

        of_competing = self._messages.beliefs(probability).log_weight_sum
        return Beliefs(probability, of_competing + sum(in_ranges(self._parts, self._threads, write)))

    def _of_alone(self, part: slice) -> F64:
        odds = self._ratio[part] * self._scale
        return odds / (1.0 + odds)

    def probabilities(
        self, weight: F64, prior: BetaBipartite, progress: StageProgress = silent, near: bool = False, *,
        cycles: bool = True,
    ) -> LinkProbabilities:  # fmt: skip
        """Probability that each pair is linked.

        `near`: whether the weights are little different from the last ones. Among more than `MANY_PAIRS` pairs only the
        number of links next to the last is sought. `cycles`: whether probabilities of records that compete in a cycle
        are put right; estimation, which needs their sums only, does without.
        """
        self.weigh(np.asarray(weight, dtype=np.float64) * np.log(2.0))
        before = self._links if near and len(weight) > MANY_PAIRS else None
        posterior = at_implied_number(self, prior, progress, before)
        if cycles:
            posterior = self._with_cycles(posterior, prior)
        self._links = posterior.expected_links
        return posterior

    def _with_cycles(self, posterior: LinkProbabilities, prior: BetaBipartite) -> LinkProbabilities:
        """Put right the probabilities of records that compete in a cycle, and the number of links with them."""
        left = 0
        for _ in range(MAX_CORRECTIONS):
            self.run(posterior.log_prior_odds)
            corrected = without_cycles(self.graph, self._messages.messages())
            if not corrected.groups:
                return posterior
            left = corrected.left
            found = self.beliefs().probability
            found[self.graph.order] = corrected.probability
            links = min(float(found.sum()), float(prior.maximum))
            moved = abs(links - posterior.expected_links)
            odds = prior.log_odds(links)
            posterior = replace(posterior, probability=found, expected_links=links, log_prior_odds=odds)
            if moved <= TOLERANCE * max(1.0, math.sqrt(links)):
                break
        if left:
            warning = result_warning("cycles_by_propagation", groups=left)
            posterior = replace(posterior, warnings=(*posterior.warnings, warning))
        return posterior


def uncontested(a: Ints, b: Ints) -> Flags:
    """Whether each pair is the only one of both its records. Eight bytes a record and pair."""
    only_a, only_b = (np.bincount(rows) == 1 for rows in (a, b))
    return np.asarray(only_a[a] & only_b[b])


def check_pairs(a: Ints, b: Ints, weight: F64) -> None:
    """Raise `GemelError` (PARAMETER) unless the arrays have one length and the weights are finite numbers."""
    if not len(a) == len(b) == len(weight):
        raise _wrong("arrays of one length", f"{len(a)}, {len(b)} and {len(weight)}")
    if not np.isfinite(weight).all():
        raise _wrong("finite match weights", "others")


def _wrong(expected: str, got: str) -> GemelError:
    return parameter("links", f"expected {expected}", got, "score the candidate pairs again")
