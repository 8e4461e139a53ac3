"""From kept pairs to links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import ScoredPairs, ScoredPatterns
from gemel.carole.fellegi_sunter.fixed_point import LinkProbabilities
from gemel.carole.fellegi_sunter.link_posterior import Copies, of_persons
from gemel.carole.fellegi_sunter.link_rule import assigned, within_rate
from gemel.carole.fellegi_sunter.model import probability as logistic

MIN_LINK = 0.01
"""No pair less probable than this is linked to reach the requested rate of false links."""


@dataclass(frozen=True)
class Decision:
    """The kept pairs in order, and the links.

    Attributes
    ----------
    pairs
        By descending weight, then by rows.
    order
        int64: where each of them was among the kept pairs.
    links
        int64: positions of the links among them, ascending.
    threshold
        Minimum probability of a link, as given or as computed.
    """

    pairs: ScoredPairs
    order: NDArray[np.int64]
    links: NDArray[np.int64]
    threshold: float


def decide(
    kept: KeptPairs,
    scored: ScoredPatterns,
    posterior: LinkProbabilities | None,
    plan: LinkagePlan,
    extra: NDArray[np.float64] | None = None,
    p: float = 0.5,
    copies: Copies = (None, None),
) -> Decision:
    """Put the kept pairs in order and choose the links.

    Parameters
    ----------
    kept : KeptPairs
        Pairs and their patterns.
    scored : ScoredPatterns
        The patterns' scores.
    posterior : LinkProbabilities or None
        Given the pairs' rivals, in the order of `kept`; None: pairs do not compete. The assignment greedy does not
        use it.
    plan : LinkagePlan
        How often a record may be linked, and what decides how probable a link must be.
    extra : ndarray of float64, optional
        What is added to each kept pair's weight besides its pattern's, in bits.
    p : float
        Share of matches among all pairs; used only with `extra`.
    copies : pair of ndarray of int, optional
        Of each record the first of its file that is the same person; used under clusters only, which links persons.
    """
    weight = scored.weight[kept.pattern] if extra is None else scored.weight[kept.pattern] + extra
    order = np.lexsort((kept.row_b, kept.row_a, -weight))
    row_a, row_b, pattern, weight = kept.row_a[order], kept.row_b[order], kept.pattern[order], weight[order]
    if extra is None:
        probability = scored.probability[pattern]
    else:
        probability = logistic(weight * np.log(2.0) + np.log(p) - np.log1p(-p))
    given_rivals = probability
    if posterior is not None and plan.assignment != "greedy":
        given_rivals = posterior.probability[order]
    a, b = (row_a, row_b) if plan.assignment != "clusters" else of_persons(row_a, row_b, copies)
    if plan.false_link_rate is None:
        threshold = plan.threshold
        links = assigned(a, b, given_rivals, threshold, plan.assignment)
    else:
        possible = assigned(a, b, given_rivals, MIN_LINK, plan.assignment)
        links, threshold = within_rate(given_rivals, possible, plan.false_link_rate)
    pairs = ScoredPairs(row_a, row_b, pattern, weight, probability, given_rivals)
    return Decision(pairs, order.astype(np.int64, copy=False), links, threshold)
