"""The extended latent step of a run: the values, the decision that also uses them, and what they changed.

It follows Fellegi-Sunter's decision, is estimated from it, and makes another: pairs are kept and linked again by
agreement and values together. The first decision is reported beside it to show the effect of the values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gemel.carole.engine.decision.claims import with_claims
from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.decision.estimated import decide, fitted_scheme, scored_patterns, worth_keeping
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import check_variables, values_of
from gemel.carole.engine.latent.refit import KEPT_PAIR_BYTES, NOTHING_KNOWN, KnownRecords, RunRefit, by_itself
from gemel.carole.engine.latent.report import latent_result
from gemel.carole.engine.pairs.selection import KEPT_PROBABILITY, best_possible, choose_classes, duplicates
from gemel.carole.engine.run.contribution import joined, n_distinct, pair_numbers
from gemel.carole.engine.run.plan import LatentPlan, LinkagePlan
from gemel.carole.engine.run.resources import KEPT_BYTES, MemoryBudget
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
from gemel.carole.extended_latent.em import kept as keep
from gemel.carole.extended_latent.em import sampled_pairs
from gemel.carole.fellegi_sunter.model import probability
from gemel.common.arrays import I32, I64, Flags
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.language.message_words import listed
from gemel.common.progress import Progress, StageProgress
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.common.specification.model.schemes import SCHEMES
from gemel.risk.models.joint_distribution import JointDistribution

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

    `linkage`: Fellegi-Sunter's. The value model is estimated from its pairs, weighted by their link probabilities.
    `every`: pairs that are in the result whatever their probability. Those below the floor take no part in the
    decision, and have the probabilities that they have by themselves.
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
        training=known.training_for(values, latent),
        known=known.joint_for(values, latent, settings),
        learn_from=learn_from,
        refit=refit,
        progress=lambda stage, done: progress(0.4 * done if stage != "model" else 0.8),
    )
    # By the weights of the new estimate, which keep other pairs than the former's.
    kept = refit.keep(fit.scheme, fit.factors, fit.classes, lambda done: progress(0.8 + 0.1 * done))
    budget.take(KEPT_PAIR_BYTES * kept.selection.n_pairs, "the pairs above the floor", "raise links.threshold")
    rows, bits = kept.rows, kept.bits
    scored = scored_patterns(fit.scheme, patterns)
    posterior = None
    if plan.competing:
        links = fit.scheme.informed(found.posterior(rows.row_a, rows.row_b, plan))
        total = scored.weight[rows.pattern] + bits
        posterior = links.probabilities(total, lambda done: progress(0.9 + 0.1 * done))
    model = fit.scheme.model
    unconstrained = fit.em.unconstrained_matches if posterior is None else posterior.expected_links
    chance = by_itself(fit.scheme, found, fit.classes)
    others = np.delete(fit.classes.count * chance, kept.selection.patterns)
    decision = decide(
        rows, scored, posterior, plan, bits, model.p, not_kept=float(others.sum()), none=fit.scheme.no_match
    )
    scores = replace(decision.pairs, value_bits=bits[decision.order])
    if every is not None:
        scores = _with_others(scores, every, fit, scored)
        chance[np.isin(fit.classes.pattern, every.pattern)] = 0.0
    else:
        chance[kept.selection.patterns] = 0.0
    linkage = replace(
        linkage,
        model=model,
        scheme=fit.scheme,
        patterns=scored,
        pairs=scores,
        links=decision.links,
        threshold=decision.threshold,
        duplicates=duplicates(found.equal, scores),
        best_possible=best_possible(found.lacking, plan, fit.scheme),
        floor=kept.selection.floor if every is None else linkage.floor,
        matches_below_floor=float(fit.classes.count @ chance),
        warnings=(
            *linkage.warnings,
            *fit.warnings,
            *latent_warnings(fit, linkage, plan),
            *(() if posterior is None else posterior.warnings),
        ),
        latent=latent_result(fit, patterns, (scores, decision.links), linkage, plan, unconstrained, learn_from),
    )
    return with_claims(linkage, plan.seed)


def _with_others(scores: ScoredPairs, pairs: Pairs, fit: ExtendedFit, scored: ScoredPatterns) -> ScoredPairs:
    """The scored pairs, and after them all others, by descending weight."""
    every = keep(pairs, fit.factors, np.zeros(len(scored.weight)), -math.inf, lambda done: None)
    bits = every.log_factor / math.log(2.0)
    weight = scored.weight[every.pattern] + bits
    chance = probability(weight * math.log(2.0) + fit.log_prior_odds)
    others = ScoredPairs(every.row_a, every.row_b, every.pattern, weight, chance, chance, bits)
    own, all_pairs = (pair_numbers(part.row_a, part.row_b) for part in (scores, others))
    others = others.of(~np.isin(all_pairs, own))
    return joined([scores, others.of(np.lexsort((others.row_b, others.row_a, -others.weight)))])


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
    weight = pairs.link_probability
    return sampled_pairs(each, lambda *at: weight[at[2]], settings.heaviest, settings.seed, lambda done: None)


# The extended latent step of a resolver, who has the kept pairs only, and of their records nothing but codes.
#
# Carole keeps more pairs for it than for a decision by agreement (`selection`), since values may lift what they would
# not be asked of otherwise. By agreement it decides as a run in mode open does, on those that such a run keeps; the
# value model sees them all, and takes the values of the others to be no evidence.


UNLIMITED = 1 << 62
"""Bytes: the resolver has no limit but its machine's memory."""

Rows = tuple[I32, I32]
"""Of A and of B, for each pair."""


def resolved_with_values(
    found: Candidates,
    rows: Rows,
    files: tuple[SignatureSet, SignatureSet],
    plan: LinkagePlan,
    progress: Progress,
    known: KnownRecords = NOTHING_KNOWN,
) -> tuple[Linkage, I64]:
    """Decide by agreement, then by agreement and values.

    `rows` (tuple of int32, shape (n_kept,)): the records of each kept pair. Returns int64, shape (n_kept,): which kept
    pair each of the linkage's pairs is.
    """
    latent = plan.latent or LatentPlan()
    check_variables(*files, latent)
    values, left_out = values_of(*files, latent)
    if values is None:
        linkage, order = conclude(found, *rows, plan, progress)
        return replace(linkage, warnings=(*linkage.warnings, *left_out)), order
    near, among = _as_in_mode_open(found, plan)
    linkage, _ = conclude(near, rows[0][among], rows[1][among], plan, progress)
    started = time.perf_counter()
    every = ArrayPairs(*rows, found.pattern)
    budget = MemoryBudget(UNLIMITED)
    linkage = extended(
        values, every, found, linkage, plan, budget, lambda done: progress("latent", done), known, every=every
    )
    seconds = {**linkage.seconds, "latent": time.perf_counter() - started}
    linkage = replace(linkage, warnings=(*linkage.warnings, *left_out), seconds=seconds)
    return linkage, _places(rows, (linkage.pairs.row_a, linkage.pairs.row_b))


def _as_in_mode_open(found: Candidates, plan: LinkagePlan) -> tuple[Candidates, Flags]:
    """The pairs that a run keeps for a decision by agreement, and which they are."""
    fitted = fitted_scheme(found.patterns, found.levels, found.n_a, found.n_b, plan, found.lacking)
    scored = worth_keeping(fitted, scored_patterns(fitted, found.patterns), plan, found.levels, found.lacking)
    n_pairs, minimum = found.patterns.n_pairs, KEPT_PROBABILITY
    chosen = choose_classes(
        scored.weight,
        scored.probability,
        scored.count,
        plan.probable,
        n_pairs,
        KEPT_BYTES,
        minimum,
        found.n_a + found.n_b,
    )
    selected = chosen.patterns
    selected = selected[np.isin(selected, found.selected)]
    among = np.isin(found.pattern, selected)
    return replace(found, pattern=found.pattern[among], selected=selected), among


def _places(rows: Rows, others: Rows) -> I64:
    """Where each pair of `others` is among `rows`, both of the same pairs."""
    (given, own) = (pair_numbers(*pairs) for pairs in (rows, others))
    order = np.argsort(given)
    return order[np.searchsorted(given[order], own)].astype(np.int64)


# The joint distribution as a resolver reports it to Carole: of many links, or not at all.
#
# Carole names the pairs that it is estimated from. Were it reported of a request of one pair, she would read that
# pair's codes from it to the last variable: however faint one observation is beside the prior, exact probabilities
# show which cell it raised. She has both rows' signatures, which must stay apart from codes (`benchmarks leakage`,
# section latent).


def of_few_links(linkage: Linkage) -> bool:
    """Whether the links are of fewer than `GROUP` records of one of the files.

    Records and not links: where a record may have several, they would all be of one.
    """
    pairs, links = linkage.pairs, linkage.links
    return min(n_distinct(pairs.row_a[links]), n_distinct(pairs.row_b[links])) < GROUP


def reported_joint(linkage: Linkage, spec: Specification) -> JointDistribution | None:
    """The joint distribution for Carole; None if it is neither released nor assessed, or of few links.

    Training records do not make up for links: Carole has them, and would find what the pairs added.
    """
    if linkage.latent is None or not spec.joint_reported or of_few_links(linkage):
        return None
    return linkage.latent.joint
