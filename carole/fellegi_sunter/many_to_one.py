"""Posterior link probabilities where the records of one file have at most one match, and those of the other any number.

Given the prior odds of a link these records do not compete: each has its own candidates, which exclude each other, a
star of the graph of candidates. So the marginals are exact,

    P(link) = odds / (1 + sum of the odds of the record's candidates),

and the number of links is put at the one that they imply (`fixed_point`), as under one-to-one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.fixed_point import LinkProbabilities, at_implied_number
from tryst.carole.fellegi_sunter.one_to_one import TOLERANCE, check_pairs
from tryst.carole.fellegi_sunter.prior import BetaPartners
from tryst.carole.fellegi_sunter.propagation import GREATEST_LOG_WEIGHT, Beliefs
from tryst.common.progress import StageProgress


class Stars:
    """Marginals of links of which those of one record exclude each other.

    Parameters
    ----------
    record : ndarray of int, shape (n_pairs,)
        The record of each pair that has one link at most.
    log_ratio : ndarray of float64, shape (n_pairs,)
        Natural logarithm of each pair's likelihood ratio.

    Notes
    -----
    Exact. O(n_pairs).
    """

    def __init__(self, record: NDArray[np.integer], log_ratio: NDArray[np.float64]) -> None:
        _, self._star = np.unique(record, return_inverse=True)
        self._n = int(self._star.max(initial=-1)) + 1
        self._log_ratio = log_ratio

    def run(self, log_prior_odds: float, max_rounds: int = 1) -> Beliefs:
        """Odds of each link at these prior odds; one pass suffices, whatever `max_rounds`."""
        log_odds = np.clip(self._log_ratio + log_prior_odds, -GREATEST_LOG_WEIGHT, GREATEST_LOG_WEIGHT)
        # The heaviest candidate is kept out of the sum: its own rivals are what is left, and nothing is subtracted
        # from a sum that it dominates.
        highest = np.full(self._n, -np.inf)
        np.maximum.at(highest, self._star, log_odds)
        top = self._first_of(log_odds == highest[self._star])
        shift = np.maximum(highest, 0.0)
        odds = np.exp(log_odds - shift[self._star])
        rest = np.exp(-shift) + np.bincount(self._star, np.where(top, 0.0, odds), minlength=self._n)
        total = rest + np.exp(highest - shift)
        rivals = np.where(top, rest[self._star], total[self._star] - odds)
        log_sum = float((np.log(total) + shift).sum())
        return Beliefs(log_odds - shift[self._star] - np.log(rivals), log_sum, rounds=1, not_converged=0)

    def _first_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The first chosen pair of each star."""
        places = np.flatnonzero(chosen)
        _, first = np.unique(self._star[places], return_index=True)
        found = np.zeros(len(chosen), dtype=np.bool_)
        found[places[first]] = True
        return found


def partner_probabilities(
    record: NDArray[np.integer],
    partner: NDArray[np.integer],
    weight: NDArray[np.float64],
    n_records: int,
    n_partners: int,
    prior: BetaPartners | None = None,
    tolerance: float = TOLERANCE,
    progress: StageProgress = lambda _: None,
) -> LinkProbabilities:
    """Probability that each candidate pair is linked, given that no record of one file is linked twice.

    Parameters
    ----------
    record, partner : ndarray of int, shape (n_pairs,)
        Rows of the file whose records have one partner at most, and of the other; no pair twice.
    weight : ndarray of float64, shape (n_pairs,)
        Match weights in bits.
    n_records, n_partners : int
        Records in the two files.
    prior : BetaPartners, optional
        None: uniform share of records with a partner.
    tolerance, progress
        As for `link_probabilities`.

    Raises
    ------
    TrystError
        As `link_probabilities`.
    """
    check_pairs(record, partner, weight)
    marginals = Stars(record, np.asarray(weight, dtype=np.float64) * np.log(2.0))
    return at_implied_number(marginals, prior or BetaPartners(n_records, n_partners), tolerance, progress)
