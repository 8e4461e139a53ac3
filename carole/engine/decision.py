"""From kept pairs to links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carole.engine.plan import LinkagePlan
from carole.engine.result import ScoredPairs, ScoredPatterns
from carole.engine.stream import KeptPairs
from carole.fellegi_sunter import one_to_one
from carole.fellegi_sunter.one_to_one import LinkProbabilities


def decide(
    kept: KeptPairs, scored: ScoredPatterns, posterior: LinkProbabilities | None, plan: LinkagePlan
) -> tuple[ScoredPairs, NDArray[np.int64]]:
    """Put the kept pairs in order and choose the links.

    Parameters
    ----------
    kept : KeptPairs
        Pairs and their patterns.
    scored : ScoredPatterns
        The patterns' scores.
    posterior : LinkProbabilities or None
        Given the pairs' rivals in a one-to-one linkage, in the order of `kept`; None: each pair by itself.
    plan : LinkagePlan
        One-to-one or not, and the smallest probability of a link.

    Returns
    -------
    pairs : ScoredPairs
        By descending weight, then by rows.
    links : ndarray of int64
        Positions of the links among them, ascending.
    """
    order = np.lexsort((kept.row_b, kept.row_a, -scored.weight[kept.pattern]))
    row_a, row_b, pattern = kept.row_a[order], kept.row_b[order], kept.pattern[order]
    probability = scored.probability[pattern]
    given_rivals = probability if posterior is None else posterior.probability[order]
    links = one_to_one.decide(row_a, row_b, given_rivals, plan.threshold, plan.one_to_one)
    return ScoredPairs(row_a, row_b, pattern, scored.weight[pattern], probability, given_rivals), links
