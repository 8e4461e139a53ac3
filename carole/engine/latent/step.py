"""The extended latent step of a run: the values, the decision that also uses them, and what they changed.

It follows Fellegi-Sunter's decision, is estimated from it, and makes another: pairs are kept and linked again by
agreement and values together. The first decision is reported beside it to show the effect of the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gemel.carole.engine.decision.estimated import rule_fields, scored_patterns
from gemel.carole.engine.decision.links import decide
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.latent.known_records import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.latent.refit import KEPT_BYTES, RunRefit, by_itself
from gemel.carole.engine.latent.report import latent_result
from gemel.carole.engine.pairs.duplicates import duplicates
from gemel.carole.engine.pairs.unlinkable import best_possible
from gemel.carole.engine.run.memory import MemoryBudget
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.engine.run.result import Linkage, ScoredPairs, ScoredPatterns
from gemel.carole.extended_latent import (
    ArrayPairs,
    ExtendedFit,
    ExtendedSettings,
    Pairs,
    Values,
    WeightedPairs,
    fit_extended,
)
from gemel.carole.extended_latent.classes import kept as keep
from gemel.carole.extended_latent.classes import sampled_pairs
from gemel.carole.fellegi_sunter.model import probability
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.language.message_words import listed
from gemel.common.progress import StageProgress
from gemel.common.specification.model.schemes import SCHEMES

# Warnings about what the latent step was estimated from.

MIN_LINKS = 2
"""Of fewer links nothing can vary."""


def latent_warnings(fit: ExtendedFit, before: Linkage, plan: LinkagePlan) -> Iterator[ResultWarning]:
    """Few records for the joint distribution, variables constant among links, beliefs that had no effect."""
    estimated = fit.value_fit.records > 0
    if estimated and fit.joint is not None and fit.joint.parameters > fit.value_fit.records:
        records, parameters = fit.value_fit.records, int(fit.joint.parameters)
        yield result_warning("few_records_for_joint", records=records, parameters=parameters)
    # Training records may show what the links do not.
    if estimated and not fit.value_fit.training:
        for name in constant_among_links(fit, before):
            yield result_warning("variable_constant_among_links", variable=name)
    names = unmoved(plan)
    if names:
        yield result_warning("priors_without_effect", parameters=listed(names))


def unmoved(plan: LinkagePlan) -> list[str]:
    """Of m, u and p those whose beliefs have no effect under a plan.

    A scheme that is not calibrated is not estimated again, and under an assignment p follows from the number of links.
    """
    latent = plan.latent or LatentPlan()
    calibrated = SCHEMES[plan.scheme].calibrated
    given = {
        "m": bool(latent.m_prior) and not calibrated,
        "u": bool(latent.u_prior) and not calibrated,
        "p": any(latent.p_prior) and (plan.competing or latent.p == "held" or not calibrated),
    }
    return [name for name, without in given.items() if without]


def constant_among_links(fit: ExtendedFit, before: Linkage) -> Iterator[str]:
    """Variables that have several categories in the files, and one in all links.

    O(links * variables).
    """
    links = before.links
    if len(links) < MIN_LINKS:
        return
    values = fit.values
    seen = values.evidence(before.pairs.row_a[links], before.pairs.row_b[links])
    for column in values.model_columns:
        known = seen[:, column][seen[:, column] >= 0]
        everywhere = np.concatenate([values.codes_a[:, column], values.codes_b[:, column]])
        several = len(np.unique(everywhere[everywhere >= 0])) > 1
        if len(known) >= MIN_LINKS and several and (known == known[0]).all():
            yield values.variables[column].name


MAX_WEIGHTED = 1 << 18
"""Up to so many kept pairs the joint distribution is estimated from all of them: a sample depends on rows' numbers."""


def extended(
    values: Values,
    pairs: Pairs,
    found: Candidates,
    linkage: Linkage,
    plan: LinkagePlan,
    budget: MemoryBudget,
    progress: StageProgress,
    known: KnownRecords = NOTHING_KNOWN,
    *,
    every: ArrayPairs | None = None,
) -> Linkage:
    """Fit the extended latent model beside a linkage, keep pairs by it and decide again.

    Parameters
    ----------
    values : Values
    pairs : Pairs
        All pairs compared.
    found : Candidates
    linkage : Linkage
        Fellegi-Sunter's. The value model is estimated from its pairs, weighted by their link probabilities.
    plan : LinkagePlan
        With a latent step.
    budget : MemoryBudget
    progress : callable
        Called with the fraction done.
    known : KnownRecords, optional
        Training records, or the joint distribution itself.
    every : ArrayPairs, optional
        Pairs that are in the result whatever their probability. Those below the floor take no part in the decision, and
        have the probabilities that they have by themselves.

    Raises
    ------
    GemelError
        As `fit_extended`; MEMORY if the pairs that reach the threshold do not fit.
    """
    latent = plan.latent or LatentPlan()
    settings = _settings(latent, plan)
    values = known.values_for(values, latent)
    patterns = found.patterns
    refit = RunRefit(
        found, pairs, linkage.scheme, plan, budget, settings.resolution, lambda done: progress(0.4 + 0.4 * done)
    )
    learn_from = _linked(linkage.pairs, settings)
    fit = fit_extended(
        values,
        pairs,
        patterns,
        linkage.scheme,
        [field.bounds for field in plan.compared],
        settings,
        rules=rule_fields(plan),
        training=known.training_for(values, latent),
        known=known.joint_for(values, latent, settings),
        learn_from=learn_from,
        refit=refit,
        progress=lambda stage, done: progress(0.4 * done if stage != "model" else 0.8),
    )
    # By the weights of the new estimate, which keep other pairs than the former's.
    kept = refit.keep(fit.scheme, fit.factors, fit.classes, lambda done: progress(0.8 + 0.1 * done))
    budget.take(KEPT_BYTES * kept.selection.n_pairs, "the pairs above the floor", "raise links.threshold")
    rows, bits = kept.rows, kept.bits
    scored = scored_patterns(fit.scheme, patterns)
    posterior = None
    if plan.competing:
        links = replace(found.posterior(rows.row_a, rows.row_b, plan), recall=fit.scheme.recall)
        total = scored.weight[rows.pattern] + bits
        posterior = links.probabilities(total, lambda done: progress(0.9 + 0.1 * done))
    model = fit.scheme.model
    decision = decide(rows, scored, posterior, plan, bits, model.p)
    scores = replace(decision.pairs, value_bits=bits[decision.order])
    chance = by_itself(fit.scheme, found, fit.classes)
    if every is not None:
        scores = _with_others(scores, every, fit, scored)
        chance[np.isin(fit.classes.pattern, every.pattern)] = 0.0
    else:
        chance[kept.selection.patterns] = 0.0
    return replace(
        linkage,
        model=model,
        scheme=fit.scheme,
        patterns=scored,
        pairs=scores,
        links=decision.links,
        threshold=decision.threshold,
        duplicates=duplicates(found.equal, scores),
        best_possible=(
            best_possible(found.lacking[0], plan, fit.scheme),
            best_possible(found.lacking[1], plan, fit.scheme),
        ),
        floor=kept.selection.floor if every is None else linkage.floor,
        matches_below_floor=float(fit.classes.count @ chance),
        warnings=(
            *linkage.warnings,
            *fit.warnings,
            *latent_warnings(fit, linkage, plan),
            *(() if posterior is None else posterior.warnings),
        ),
        latent=latent_result(
            fit,
            patterns,
            scores,
            decision.links,
            linkage,
            plan,
            fit.em.unconstrained_matches if posterior is None else posterior.expected_links,
            learn_from,
            settings.seed,
        ),
    )


def _with_others(scores: ScoredPairs, pairs: Pairs, fit: ExtendedFit, scored: ScoredPatterns) -> ScoredPairs:
    """The scored pairs, and after them all others, by descending weight."""
    every = keep(pairs, fit.factors, np.zeros(len(scored.weight)), -math.inf, lambda done: None)
    n_b = fit.values.n_b
    own, all_pairs = (part.row_a.astype(np.int64) * n_b + part.row_b for part in (scores, every))
    left = np.flatnonzero(~np.isin(all_pairs, own))
    bits = every.log_factor[left] / math.log(2.0)
    weight = scored.weight[every.pattern[left]] + bits
    order = np.lexsort((every.row_b[left], every.row_a[left], -weight))
    left, bits, weight = left[order], bits[order], weight[order]
    chance = probability(weight * math.log(2.0) + fit.log_prior_odds)
    assert scores.value_bits is not None  # noqa: S101 - of this step
    return ScoredPairs(
        np.concatenate([scores.row_a, every.row_a[left]]),
        np.concatenate([scores.row_b, every.row_b[left]]),
        np.concatenate([scores.pattern, every.pattern[left]]),
        np.concatenate([scores.weight, weight]),
        np.concatenate([scores.match_probability, chance]),
        np.concatenate([scores.link_probability, chance]),
        np.concatenate([scores.value_bits, bits]),
    )


def _settings(latent: LatentPlan, plan: LinkagePlan) -> ExtendedSettings:
    return ExtendedSettings(
        search=latent.search,
        precision=latent.precision,
        separate=latent.separate,
        p=latent.p,
        one_to_one=plan.one_to_one,
        rounds=latent.rounds,
        max_iterations=plan.max_iterations,
        tolerance=plan.tolerance,
        seed=plan.seed,
    )


def _linked(pairs: ScoredPairs, settings: ExtendedSettings) -> WeightedPairs:
    """Kept pairs weighted by their link probabilities; where they are many, improbable ones stand for others."""
    if len(pairs.row_a) <= MAX_WEIGHTED:
        return WeightedPairs(pairs.row_a, pairs.row_b, pairs.link_probability)
    each = ArrayPairs(pairs.row_a, pairs.row_b, np.arange(len(pairs.row_a), dtype=np.int32))
    return sampled_pairs(each, pairs.link_probability, settings.heaviest, settings.seed, lambda done: None)
