"""The second estimate of a run: under the assignment, from the pairs that were kept, and with dependent fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gemel.carole.arrays import F64
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import ScoredPatterns
from gemel.carole.fellegi_sunter import Estimation, FittedScheme, Model, PatternCounts, RuleFields
from gemel.carole.fellegi_sunter.dependence import Evidence, OutsideBlocks, fit_joint
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model import shares, within_levels
from gemel.carole.fellegi_sunter.model_warnings import default_m
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.standard_errors import linked_errors, no_errors, pairwise_errors
from gemel.common.progress import StageProgress


def believed_model(
    model: Model, patterns: PatternCounts, settings: Estimation | None = None, level_counts: F64 | None = None
) -> Model:
    """The model that estimation under the assignment starts from.

    A pair that may be a match under it must be among those kept, whatever its score in the pairwise fit.
    """
    settings = settings or Estimation()
    width = model.m.shape[1]
    valid = within_levels([field.n_levels for field in model.fields])
    everywhere = counted_levels(patterns.gamma, patterns.count, width) if level_counts is None else level_counts
    return replace(model, m=default_m(model.fields, width), u=shares(everywhere, valid, settings.prior))


def estimation(plan: LinkagePlan) -> Estimation:
    """The estimation's settings from the plan."""
    return Estimation(
        u=plan.u,
        one_to_one=plan.one_to_one,
        expected_matches=plan.expected_matches,
        max_iterations=plan.max_iterations,
        tolerance=plan.tolerance,
    )


def worth_keeping(
    fitted: FittedScheme, scored: ScoredPatterns, plan: LinkagePlan, level_counts: F64 | None
) -> ScoredPatterns:
    """The vectors with the better of two scores: the pairwise fit's, and that of the model refinement starts from.

    Where few records have a match the pairwise fit may have taken neighbours for matches, and then scores a match that
    moved away too low.
    """
    scheme = fitted.scheme
    if not plan.competing or not scheme.facts.calibrated:
        return scored
    bounds = [field.bounds for field in plan.compared]
    n_levels = [len(field) for field in bounds]
    patterns = scheme.patterns(PatternCounts(scored.gamma, scored.mask, scored.count), n_levels)
    counts = scheme.level_counts(level_counts, n_levels)
    start = scheme.of(believed_model(fitted.model, patterns, estimation(plan), counts), bounds)
    weight = np.maximum(scored.weight, start.match_weights(scored.gamma))
    probability = np.maximum(scored.probability, start.match_probabilities(scored.gamma))
    return replace(scored, weight=weight, probability=probability)


def refine(
    fitted: FittedScheme,
    patterns: PatternCounts,
    kept: KeptPairs,
    links: LinkPosterior,
    plan: LinkagePlan,
    rules: Sequence[RuleFields],
    level_counts: F64 | None,
    outside_blocks: OutsideBlocks | None,
    progress: StageProgress,
    evidence: Evidence | None = None,
    p: float | None = None,
    p_prior: tuple[float, float] = (0.0, 0.0),
) -> tuple[FittedScheme, LinkProbabilities | None]:
    """Estimate again from link probabilities that obey the assignment, with dependent fields and standard errors."""
    model = fitted.model
    bounds = [field.bounds for field in plan.compared]
    n_levels = tuple(len(field) for field in bounds)
    reported = estimation(plan)
    scheme, gamma = fitted.scheme, patterns.gamma
    patterns, level_counts = scheme.patterns(patterns, n_levels), scheme.level_counts(level_counts, n_levels)
    if not scheme.facts.calibrated:
        fitted = replace(fitted, standard_errors=pairwise_errors(model, patterns, reported, rules, level_counts))
        if not plan.competing:
            return fitted, None
        weight = fitted.match_weights(gamma)[kept.pattern]
        return fitted, links.probabilities(
            weight if evidence is None else weight + evidence.bits, progress, cycles=False
        )
    outside_blocks = (
        None
        if outside_blocks is None
        else replace(outside_blocks, gamma=scheme.vectors(outside_blocks.gamma, n_levels))
    )
    pairs = (links, kept.pattern) if plan.competing else None
    model, joint, posterior = fit_joint(
        model, patterns, plan.dependence, reported, rules, level_counts, outside_blocks, pairs, plan.max_kin, progress,
        evidence, None if plan.competing else p, p_prior,
    )  # fmt: skip
    if not joint.converged:
        errors = no_errors(model, "the model had not converged")
    elif posterior is not None and not posterior.converged:
        errors = no_errors(model, "the link probabilities had not converged")
    elif posterior is not None:
        chance = posterior.probability
        errors = linked_errors(model, patterns, kept.row_a, kept.pattern, chance, rules, dependent=not joint.is_plain)
    elif evidence is not None:
        errors = no_errors(model, "values count as well, and records may have several matches")
    elif joint.is_plain:
        errors = pairwise_errors(model, patterns, reported, rules, level_counts)
    else:
        each = np.arange(patterns.n_patterns)
        errors = linked_errors(
            model, patterns, None, each, joint.match_probabilities(patterns.gamma), rules, dependent=True
        )
    fitted = scheme.of(model, bounds)
    return replace(fitted, joint=joint, misfits=joint.misfits, n_levels=n_levels, standard_errors=errors), posterior
