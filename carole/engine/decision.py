"""From kept pairs to links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carole.engine.plan import LinkagePlan
from carole.engine.result import ScoredPairs, ScoredPatterns
from carole.engine.stream import KeptPairs
from carole.fellegi_sunter import one_to_one


def decide(
    kept: KeptPairs, scored: ScoredPatterns, n_a: int, n_b: int, plan: LinkagePlan
) -> tuple[ScoredPairs, NDArray[np.int64], tuple[str, ...]]:
    """Score the kept pairs, given their rivals in a one-to-one linkage, and choose the links.

    Parameters
    ----------
    kept : KeptPairs
        Pairs and their patterns.
    scored : ScoredPatterns
        The patterns' scores.
    n_a, n_b : int
        Records of the two files.
    plan : LinkagePlan
        One-to-one or not, and the smallest probability of a link.

    Returns
    -------
    pairs : ScoredPairs
        In the order of `kept`.
    links : ndarray of int64
        Positions of the links among them, ascending.
    cautions : tuple of str
    """
    weight, match_probability = scored.weight[kept.pattern], scored.probability[kept.pattern]
    link_probability, cautions = match_probability, tuple[str, ...]()
    if plan.one_to_one:
        posterior = one_to_one.link_probabilities(kept.row_a, kept.row_b, weight, n_a, n_b)
        link_probability, cautions = posterior.probability, posterior.warnings
    links = one_to_one.decide(kept.row_a, kept.row_b, link_probability, plan.threshold, plan.one_to_one)
    pairs = ScoredPairs(kept.row_a, kept.row_b, kept.pattern, weight, match_probability, link_probability)
    return pairs, links, cautions
