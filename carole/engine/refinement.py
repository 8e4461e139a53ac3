"""The second estimate of a run: under one-to-one, from the pairs that were kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from carole.engine.plan import LinkagePlan
from carole.engine.stream import KeptPairs
from carole.fellegi_sunter import Estimation, FittedScheme, PatternCounts, RuleFields
from carole.fellegi_sunter.one_to_one import LinkProbabilities, link_probabilities
from carole.fellegi_sunter.refinement import refined
from carole.fellegi_sunter.schemes import agreements, folded_counts, scheme_of


def estimation(plan: LinkagePlan) -> Estimation:
    """What the plan says of the estimation."""
    return Estimation(
        u=plan.u,
        one_to_one=plan.one_to_one,
        expected_matches=plan.expected_matches,
        max_iterations=plan.max_iterations,
        tolerance=plan.tolerance,
    )


def refine(
    fitted: FittedScheme,
    patterns: PatternCounts,
    kept: KeptPairs,
    plan: LinkagePlan,
    rules: Sequence[RuleFields],
    level_counts: NDArray[np.float64] | None,
) -> tuple[FittedScheme, LinkProbabilities]:
    """Estimate again from link probabilities that obey one-to-one.

    Parameters
    ----------
    fitted : FittedScheme
        The pairwise fit, by which pairs were kept.
    patterns : PatternCounts
        By the fields' levels.
    kept : KeptPairs
    plan, rules, level_counts
        As the pairwise fit had them.

    Returns
    -------
    FittedScheme
        The weighted schemes stay as they are: their weights are no ratio of the model's m and u.
    LinkProbabilities
        Under it, in the order of `kept`.
    """
    model = fitted.model
    if fitted.scheme in ("lr_weighted", "log_lr_weighted"):
        weight = fitted.match_weights(patterns.gamma)[kept.pattern]
        return fitted, link_probabilities(kept.row_a, kept.row_b, weight, model.n_a, model.n_b)
    bounds = [field.bounds for field in plan.fields]
    if fitted.scheme == "exact":
        n_levels = [len(field) for field in bounds]
        patterns = PatternCounts(agreements(patterns.gamma, n_levels), patterns.mask, patterns.count)
        level_counts = None if level_counts is None else folded_counts(level_counts, n_levels)
    model, posterior = refined(
        model, patterns, kept.row_a, kept.row_b, kept.pattern, estimation(plan), rules, level_counts
    )
    return scheme_of(fitted.scheme, model, bounds), posterior
