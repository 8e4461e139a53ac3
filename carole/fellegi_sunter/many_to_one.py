"""Posterior link probabilities where the records of one file have at most one match, and those of the other any number.

Given the prior odds of a link these records do not compete: each has its own candidates, which exclude each other, a
star of the graph of candidates. So the marginals are exact,

    P(link) = odds / (1 + sum of the odds of the record's candidates),

and the number of links is put at the one that they imply (`fixed_point`), as under one-to-one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.fixed_point import LinkProbabilities, at_implied_number
from gemel.carole.fellegi_sunter.messages import Beliefs, Settled
from gemel.carole.fellegi_sunter.one_to_one import TOLERANCE, check_pairs
from gemel.carole.fellegi_sunter.prior import BetaPartners
from gemel.carole.fellegi_sunter.propagation import GREATEST_LOG_WEIGHT
from gemel.common.progress import StageProgress


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
        self._record, self._log_ratio = record, log_ratio
        self._n = int(record.max(initial=-1)) + 1
        self.n_pairs = len(log_ratio)

    def run(self, log_prior_odds: float, max_sweeps: int = 1) -> Settled:
        """Probability of each link at these prior odds; one pass suffices, whatever `max_sweeps`."""
        log_odds = np.clip(self._log_ratio + log_prior_odds, -GREATEST_LOG_WEIGHT, GREATEST_LOG_WEIGHT)
        # What weighs most, a candidate or none, counts as 1: no sum overflows.
        highest = np.zeros(self._n)
        np.maximum.at(highest, self._record, log_odds)
        odds = np.exp(log_odds - highest[self._record])
        total = np.exp(-highest) + np.bincount(self._record, odds, minlength=self._n)
        self._beliefs = Beliefs(odds / total[self._record], float((np.log(total) + highest).sum()))
        return Settled(float(self._beliefs.probability.sum()), rounds=1)

    def beliefs(self) -> Beliefs:
        """Marginals after `run`."""
        return self._beliefs


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
    GemelError
        As `link_probabilities`.
    """
    check_pairs(record, partner, weight)
    marginals = Stars(record, np.asarray(weight, dtype=np.float64) * np.log(2.0))
    return at_implied_number(marginals, prior or BetaPartners(n_records, n_partners), tolerance, progress)
