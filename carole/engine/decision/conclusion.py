"""From comparison results to links: the second half of a run, in which it must be known which rows are one record.

The first half compares signatures, counts and keeps pairs (`local`). This half estimates under the assignment and
decides, from counts of comparison vectors and from pairs of row numbers, and needs no signature. In block-keyed mode it
is done by a resolver who has none: rows are then handles from the custodians, the same for a record under every rule.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gemel.carole.engine.decision.claims import with_claims
from gemel.carole.engine.decision.decoys import DecoySource, count_linked, floor_of_decoys
from gemel.carole.engine.decision.estimated import Estimated, estimated, estimation, rule_fields
from gemel.carole.engine.decision.quality import by_check_field, by_decoys, quality_warnings
from gemel.carole.engine.inputs.candidates import Candidates, candidates_per_rule
from gemel.carole.engine.pairs.linkage_input import number_warnings, recall_warnings
from gemel.carole.engine.pairs.selection import best_possible, duplicate_warnings, duplicates
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.evaluation.quality_estimate import Claims, QualityEstimate
from gemel.carole.fellegi_sunter.linkage_draws import LinkageDraws, ModelDraws, draw_linkages
from gemel.carole.fellegi_sunter.recall import blocking_recall
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import F64, I32, I64
from gemel.common.progress import Progress, StageProgress


def quality_estimates(
    found: Candidates,
    kept: KeptPairs,
    fit: Estimated,
    claims: Claims | None,
    plan: LinkagePlan,
    decoys: DecoySource | None = None,
) -> Iterator[QualityEstimate]:
    """The estimates that the plan requests, as far as there are links to judge."""
    if claims is None or claims.precision is None:
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


# Draws of a run's linkage, where they are to be released.

DRAWS_STREAM = 8
"""Distinguishes the random numbers of drawn linkages from others of the same seed."""


def drawn_linkages(
    found: Candidates, kept: KeptPairs, fit: Estimated, plan: LinkagePlan, progress: StageProgress
) -> LinkageDraws:
    """As many linkages as the plan requests, by positions of the kept pairs; the same ones for the same seed."""
    fitted, patterns, posterior = fit.scheme, found.patterns, fit.posterior
    if posterior is None:  # pairs do not compete
        posterior = fit.links.probabilities(fitted.match_weights(patterns.gamma)[kept.pattern])
    bounds = [field.bounds for field in plan.compared]
    model = ModelDraws(fitted, bounds, patterns, estimation(plan), rule_fields(plan), found.levels)
    rng = np.random.default_rng([plan.seed, DRAWS_STREAM])
    return draw_linkages(
        fit.links, kept.pattern, posterior, model.weights, patterns.n_patterns, plan.draws, rng, found.rarity, progress
    )


def conclude(
    found: Candidates,
    row_a: I32,
    row_b: I32,
    plan: LinkagePlan,
    progress: Progress,
    fitted: FittedScheme | None = None,
    decoys: DecoySource | None = None,
) -> tuple[Linkage, I64]:
    """Estimate under the assignment, score and decide.

    `row_a`, `row_b` (int32, shape (n_kept,)): the records of each kept pair, below `n_a` and `n_b`; no pair twice;
    `fitted`: the pairwise fit of the same counts, where available; `decoys`: gives the pairs of both custodians'
    decoys, where the plan has any. Returns also int64, shape (n_kept,): which kept pair each of the linkage's pairs is.
    """
    started = time.perf_counter()
    progress("decide", 0.0)
    kept = KeptPairs(row_a, row_b, found.pattern)
    fit = estimated(found, kept, plan, lambda fraction: progress("decide", fraction), fitted)
    fitted, posterior, decision = fit.scheme, fit.posterior, fit.decision
    scored, patterns, model = fit.scored, found.patterns, fitted.model
    twice = duplicates(found.equal, decision.pairs)
    any_rule = int(np.bitwise_or.reduce(patterns.mask, initial=np.uint32(0)))
    proposing = [rule for r, rule in enumerate(rule_fields(plan)) if any_rule >> r & 1 or not len(patterns.mask)]
    blocking = blocking_recall(fitted, float(fit.matches.sum()), proposing)
    linkage = Linkage(
        model=model,
        scheme=fitted,
        patterns=scored,
        pairs=decision.pairs,
        links=decision.links,
        threshold=decision.threshold,
        duplicates=twice,
        best_possible=best_possible(found.lacking, plan, fitted),
        floor=_floor(scored.weight, found.selected),
        matches_below_floor=fit.matches_below_floor(found.selected),
        n_candidates=patterns.n_pairs,
        candidates_per_rule=candidates_per_rule(patterns, plan),
        blocking=blocking,
        missing=found.missing,
        warnings=(
            *found.warnings,
            *(recall_warnings(blocking) if plan.rules else ()),
            *fitted.warnings,
            *model.warnings,
            *(() if posterior is None else posterior.warnings),
            *(() if plan.assignment == "clusters" else number_warnings(len(decision.links), found.n_a, found.n_b)),
            *duplicate_warnings(twice, plan),
        ),
        seconds={},
        peak_bytes=found.peak_bytes,
        copies=found.counted(plan),
    )
    linkage = with_claims(linkage, plan.seed)
    quality = tuple(quality_estimates(found, kept, fit, linkage.claims, plan, decoys))
    progress("decide", 1.0)
    drawn = None
    if plan.draws:
        drawn = drawn_linkages(found, kept, fit, plan, lambda fraction: progress("draw", fraction))
    of_quality = quality_warnings(linkage.claims, quality, plan)
    linkage = replace(
        linkage,
        quality=quality,
        draws=None if drawn is None else drawn.among(decision.order),
        warnings=(*linkage.warnings, *of_quality, *(() if drawn is None else drawn.warnings)),
        seconds={**found.seconds, "decide": time.perf_counter() - started},
    )
    return linkage, decision.order


def _floor(weight: F64, kept: I64) -> float:
    """Weight above which every pair was kept; the choice was made by the weights of an earlier fit."""
    left_out = np.ones(len(weight), dtype=np.bool_)
    left_out[kept] = False
    highest = weight[left_out].max(initial=-np.inf)
    return float(weight[weight > highest].min(initial=np.inf))
