"""The estimates of the links' quality that a plan requests, made at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.bootstrap import Decided, Fitted, replicates
from gemel.carole.engine.decision.decoy_pairs import DecoySource
from gemel.carole.engine.decision.decoys import count_linked, floor_of_decoys
from gemel.carole.engine.decision.estimated import Estimated, estimated
from gemel.carole.engine.decision.quality import by_bootstrap, by_check_field, by_decoys, claim_of, one_match
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.evaluation.quality_estimate import Claim, QualityEstimate
from gemel.carole.fellegi_sunter import PatternCounts
from gemel.common.progress import StageProgress

BOOTSTRAP_STREAM = 39
"""Distinguishes the bootstrap's random numbers from others of the same seed."""


def quality_estimates(
    found: Candidates,
    kept: KeptPairs,
    fit: Estimated,
    claim: Claim | None,
    plan: LinkagePlan,
    progress: StageProgress,
    decoys: DecoySource | None = None,
) -> Iterator[QualityEstimate]:
    """The estimates that the plan requests, as far as there are links to judge."""
    if claim is None:
        return
    decision = fit.decision
    if decoys is not None:
        counts = count_linked(decoys(fit.scheme, floor_of_decoys(fit)), found, kept, fit, plan)
        expected = float(decision.pairs.link_probability.sum()) + fit.matches_below_floor(found.selected)
        missed = max(expected - float(decision.pairs.link_probability[decision.links].sum()), 0.0)
        by_decoy = by_decoys(counts, len(decision.links), missed, plan)
        if by_decoy is not None:
            yield by_decoy
    if found.checked is not None:
        checked = found.checked.rows(decision.order)
        links = found.posterior(decision.pairs.row_a, decision.pairs.row_b, plan)
        by_check = by_check_field(decision.pairs, found.patterns.gamma, decision.links, checked, links, plan)
        if by_check is not None:
            yield by_check
    if plan.replicates:
        probability = np.empty(len(decision.order))
        probability[decision.order] = decision.pairs.link_probability
        not_kept = fit.matches
        not_kept[found.selected] = 0.0
        first_a, first_b = found.counted(plan)
        persons = (
            kept.row_a if first_a is None else first_a[kept.row_a],
            kept.row_b if first_b is None else first_b[kept.row_b],
        )
        drawn_from = Fitted(found.patterns, kept, persons, probability, not_kept, one_match(plan))
        rng = np.random.default_rng([plan.seed, BOOTSTRAP_STREAM])

        def decided(patterns: PatternCounts, drawn: KeptPairs, stays: NDArray[np.bool_]) -> Decided:
            return _decided(_redrawn(found, patterns, drawn, stays), drawn, plan)

        yield by_bootstrap(claim, replicates(drawn_from, decided, plan.replicates, rng, progress))


def _redrawn(found: Candidates, patterns: PatternCounts, drawn: KeptPairs, stays: NDArray[np.bool_]) -> Candidates:
    """The candidates of a replicate. The values that its pairs share are as rare as the real ones'."""
    rarity = None if found.rarity is None else found.rarity[stays]
    return replace(found, patterns=patterns, pattern=drawn.pattern, rarity=rarity, checked=None)


def _decided(found: Candidates, kept: KeptPairs, plan: LinkagePlan) -> Decided:
    """The decision of a replicate, by positions among its kept pairs."""
    again = estimated(found, kept, plan, lambda _: None)
    decision = again.decision
    claim = claim_of(
        decision.pairs, decision.links, again.matches_below_floor(found.selected), max(found.n_a, found.n_b)
    )
    return Decided(decision.order[decision.links], claim or Claim(1.0, 0.0))
