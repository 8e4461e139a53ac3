"""Posterior link probabilities where a record has at most one match.

The pairwise model scores each pair separately, at prior odds p / (1 - p). In a one-to-one linkage pairs compete: a
weak pair whose records have no other candidate is likely a match where nearly every record has one, and a strong one
is not if a stronger one takes its record. Here a whole matching has probability proportional to Sadinle's prior
(`prior`) and the likelihood ratios of its links (`fixed_point`); marginals are belief propagation's (`propagation`),
and where records compete in a cycle, which it misjudges, those of enumeration or of a Markov chain (`cores`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.candidate_marginals import CandidateMarginals
from gemel.carole.fellegi_sunter.cores import without_cycles
from gemel.carole.fellegi_sunter.fixed_point import MANY_PAIRS, LinkProbabilities, at_implied_number
from gemel.carole.fellegi_sunter.prior import BetaBipartite
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import GemelError, parameter
from gemel.common.progress import StageProgress

TOLERANCE = 3e-3
"""Change of the expected number of links, relative to its square root, at which it has converged."""

MAX_CORRECTIONS = 2
"""How often the number of links is put right after groups of records that compete in a cycle are."""


class Competition:
    """Candidate pairs, of which those with a record in common exclude each other.

    Weighed again, as in each round of estimation, the probabilities are found from where they were.

    Parameters
    ----------
    a, b : ndarray of int, shape (n_pairs,)
        Rows of the two files; no pair twice. Pairs that are not listed cannot be linked.
    threads : int
        The result is the same on any number.
    """

    def __init__(self, a: NDArray[np.integer], b: NDArray[np.integer], threads: int = 1) -> None:
        self._marginals = CandidateMarginals(a, b, threads)
        self._links: float | None = None

    def probabilities(
        self,
        weight: NDArray[np.float64],
        prior: BetaBipartite,
        tolerance: float = TOLERANCE,
        progress: StageProgress = lambda _: None,
        near: bool = False,
        *,
        cycles: bool = True,
    ) -> LinkProbabilities:
        """Probability that each pair is linked.

        Parameters
        ----------
        weight, prior, tolerance, progress
            As for `link_probabilities`.
        near : bool
            Whether the weights are little different from the last ones. Among more than `MANY_PAIRS` pairs only the
            number of links next to the last is sought.
        cycles : bool
            Whether probabilities of records that compete in a cycle are put right; estimation, which needs their sums
            only, does without.
        """
        self._marginals.weigh(np.asarray(weight, dtype=np.float64) * np.log(2.0))
        before = self._links if near and len(weight) > MANY_PAIRS else None
        posterior = at_implied_number(self._marginals, prior, tolerance, progress, before)
        if cycles:
            posterior = self._with_cycles(posterior, prior, tolerance)
        self._links = posterior.expected_links
        return posterior

    def _with_cycles(self, posterior: LinkProbabilities, prior: BetaBipartite, tolerance: float) -> LinkProbabilities:
        """Put right the probabilities of records that compete in a cycle, and the number of links with them."""
        left = 0
        for _ in range(MAX_CORRECTIONS):
            self._marginals.run(posterior.log_prior_odds)
            graph = self._marginals.graph
            corrected = without_cycles(graph, self._marginals.messages())
            if not corrected.groups:
                return posterior
            left = corrected.left
            found = self._marginals.beliefs().probability
            found[graph.order] = corrected.probability
            links = min(float(found.sum()), float(prior.maximum))
            moved = abs(links - posterior.expected_links)
            odds = prior.log_odds(links)
            posterior = replace(posterior, probability=found, expected_links=links, log_prior_odds=odds)
            if moved <= tolerance * max(1.0, math.sqrt(links)):
                break
        if left:
            warning = result_warning("cycles_by_propagation", groups=left)
            posterior = replace(posterior, warnings=(*posterior.warnings, warning))
        return posterior


def link_probabilities(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    weight: NDArray[np.float64],
    n_a: int,
    n_b: int,
    prior: BetaBipartite | None = None,
    tolerance: float = TOLERANCE,
    progress: StageProgress = lambda _: None,
) -> LinkProbabilities:
    """Probability that each candidate pair is linked, given that no record is linked twice.

    Parameters
    ----------
    a, b : ndarray of int, shape (n_pairs,)
        Rows of the two files; no pair twice. Pairs that are not listed cannot be linked.
    weight : ndarray of float64, shape (n_pairs,)
        Match weights in bits, from `match_weights`.
    n_a, n_b : int
        Records in the two files.
    prior : BetaBipartite, optional
        None: uniform share of records with a match.
    tolerance : float
        Change of the expected number of links, relative to its square root, at which it has converged.
    progress : callable
        Called with the fraction done, never less than before. An exception from it ends the work.

    Returns
    -------
    LinkProbabilities

    Raises
    ------
    GemelError
        ``PARAMETER`` if the arrays differ in length or a weight is not a finite number.

    Notes
    -----
    O(n_pairs) a sweep (`Propagation`), and of these no more than `fixed_point.MAX_TERMS_PER_PAIR` allows. Keep pairs
    well below the pairwise threshold, among which are weak pairs that become links (a floor on the pairwise log odds of
    -9 lost none in FEBRL4, -3 one in 5,000).

    References
    ----------
    .. [1] Sadinle, JASA 112, 2017. doi:10.1080/01621459.2016.1148612
    .. [2] Huang and Jebara, Approximating the permanent with belief propagation, 2009. arXiv:0908.1769
    """
    check_pairs(a, b, weight)
    return Competition(a, b).probabilities(weight, prior or BetaBipartite(n_a, n_b), tolerance, progress)


def check_pairs(a: NDArray[np.integer], b: NDArray[np.integer], weight: NDArray[np.float64]) -> None:
    """Raise `GemelError` (PARAMETER) unless the arrays have one length and the weights are finite numbers."""
    if not len(a) == len(b) == len(weight):
        raise _wrong("arrays of one length", f"{len(a)}, {len(b)} and {len(weight)}")
    if not np.isfinite(weight).all():
        raise _wrong("finite match weights", "others")


def _wrong(expected: str, got: str) -> GemelError:
    return parameter("links", f"expected {expected}", got, "score the candidate pairs again or change links.threshold")
