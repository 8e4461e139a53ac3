"""The extended latent step of a run: the values, the decision that also uses them, and what they changed.

It follows Fellegi-Sunter's decision, is estimated from it, and makes another: pairs are kept and linked again by
agreement and values together. The first decision is reported beside it to show the effect of the values.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.candidates import Candidates
from tryst.carole.engine.duplicates import duplicates
from tryst.carole.engine.estimated import rule_fields, scored_patterns
from tryst.carole.engine.known_records import NOTHING_KNOWN, KnownRecords
from tryst.carole.engine.latent_effect import effect_of_values
from tryst.carole.engine.latent_refit import KEPT_BYTES, RunRefit, by_itself
from tryst.carole.engine.latent_warnings import latent_warnings
from tryst.carole.engine.links import decide
from tryst.carole.engine.memory import MemoryBudget
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.plan_parts import LatentPlan
from tryst.carole.engine.probability_classes import FEWEST
from tryst.carole.engine.result import Explained, LatentResult, Linkage, ScoredPairs, ScoredPatterns
from tryst.carole.engine.unlinkable import best_possible
from tryst.carole.engine.value_frequencies import joint_codes
from tryst.carole.extended_latent import (
    ArrayPairs,
    ExtendedFit,
    ExtendedSettings,
    Pairs,
    Values,
    Variable,
    WeightedPairs,
    fit_extended,
)
from tryst.carole.extended_latent.classes import kept as keep
from tryst.carole.extended_latent.classes import sampled_pairs
from tryst.carole.extended_latent.explanation import explain
from tryst.carole.fellegi_sunter import PatternCounts
from tryst.carole.fellegi_sunter.model import probability
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.encoding.signature_sets import MISSING, SignatureSet
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.progress import StageProgress
from tryst.risk.models import JointDistribution, JointVariable

MAX_WEIGHTED = 1 << 18
"""Up to so many kept pairs the joint distribution is estimated from all of them: a sample depends on rows' numbers."""

MAX_EXPLAINED = 100
"""Maximum number of pairs of a group in its average."""


def check_variables(a: SignatureSet, b: SignatureSet, latent: LatentPlan) -> None:
    """Raise `TrystError` (ENCODING_MISMATCH) unless both sets carry the variables that the plan assigns to them."""
    for side, part in ((Side.ALICE, a), (Side.BOB, b)):
        for variable in latent.variables:
            if variable.holder not in (str(side), "both"):
                continue
            found = part.variables.get(variable.name)
            if found is None or found.categories != variable.categories:
                raise TrystError(
                    ErrorCode.ENCODING_MISMATCH, f"codes of {variable.categories} categories expected",
                    where=f"{side}, variable {variable.name}",
                    got="none" if found is None else f"{found.categories} categories",
                    remedy="contribute again under the specification of this run",
                )  # fmt: skip


def values_of(a: SignatureSet, b: SignatureSet, latent: LatentPlan) -> tuple[Values | None, list[ResultWarning]]:
    """The codes of the value model's variables, and what was left out.

    A variable without values is left out, as is a key that only one file has values of. If nothing is left that could
    give evidence on a pair, there is no value model.

    Returns
    -------
    Values or None
        Keys first, in the order of the plan. A key among the variables that both hold has its categories for levels;
        another has the distinct signatures of both files, equal ones of both files under one code.
    list of ResultWarning
    """
    variables: list[Variable] = []
    columns: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    warnings: list[ResultWarning] = []
    both = {variable.name: variable for variable in latent.variables if variable.holder == "both"}
    for key in latent.keys:
        if key in both:
            levels = both[key].categories
            codes = a.variables[key].codes.astype(np.int32), b.variables[key].codes.astype(np.int32)
        else:
            joint = joint_codes(a.fields[key], b.fields[key])
            levels = max(int(part.max(initial=-1)) for part in joint) + 1
            codes = joint[0].astype(np.int32), joint[1].astype(np.int32)
        if levels < 2 or not all((part >= 0).any() for part in codes):
            reason = "a file has no values of it, or it has only one"
            warnings.append(result_warning("variable_left_out", variable=key, reason=reason))
            continue
        variables.append(Variable(key, "both", levels))
        columns.append(codes)
    for variable in latent.variables:
        if variable.holder == "both":
            continue
        own = (a if variable.holder == "alice" else b).variables[variable.name].codes.astype(np.int32)
        if not (own >= 0).any():
            reason = "no record has a category of it"
            warnings.append(result_warning("variable_left_out", variable=variable.name, reason=reason))
            continue
        variables.append(Variable(variable.name, variable.holder, variable.categories))
        nothing = np.full((b if variable.holder == "alice" else a).n_rows, MISSING, dtype=np.int32)
        columns.append((own, nothing) if variable.holder == "alice" else (nothing, own))
    held = {variable.holder for variable in variables}
    if "both" not in held and not {"alice", "bob"} <= held:
        warnings.append(result_warning("latent_step_left_out"))
        return None, warnings
    codes_a, codes_b = (np.stack([column[side] for column in columns], axis=1) for side in (0, 1))
    return Values(tuple(variables), codes_a, codes_b), warnings


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
    TrystError
        As `fit_extended`; MEMORY if the pairs that reach the threshold do not fit.
    """
    latent = plan.latent or LatentPlan()
    settings = _settings(latent, plan)
    values = known.values_for(values, latent)
    patterns = found.patterns
    refit = RunRefit(
        found, pairs, linkage.scheme, plan, budget, settings.resolution, lambda done: progress(0.4 + 0.4 * done)
    )
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
        learn_from=_linked(linkage.pairs, settings),
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
        latent=_result(
            fit,
            patterns,
            scores,
            decision.links,
            linkage,
            latent,
            fit.em.unconstrained_matches if posterior is None else posterior.expected_links,
            settings,
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


def joint_distribution(fit: ExtendedFit, latent: LatentPlan) -> JointDistribution | None:
    """The joint distribution in codes; keys that stand alone are independent of it and are left out."""
    if fit.joint is None:
        return None
    coded = {variable.name for variable in latent.variables}
    of = {variable.name: variable for variable in fit.values.variables}
    variables = tuple(
        JointVariable(str(name), of[str(name)].holder, levels, str(name) in coded)
        for name, levels in zip(fit.joint.names, fit.joint.levels, strict=True)
    )
    return JointDistribution(variables, fit.joint, fit.value_fit.records, fit.value_fit.precision)


def explained_groups(
    fit: ExtendedFit,
    patterns: PatternCounts,
    after: tuple[ScoredPairs, NDArray[np.int64]],
    before: tuple[ScoredPairs, NDArray[np.int64]],
) -> tuple[Explained, ...]:
    """Average contributions of agreement and values to the links, and the links that the values made or removed.

    Parameters
    ----------
    fit : ExtendedFit
    patterns : PatternCounts
    after, before : tuple of ScoredPairs and ndarray of int64
        The pairs and which of them are links, with the values and by agreement alone.
    """
    (new_pairs, new), (old_pairs, old) = after, before
    n_b = fit.values.n_b
    keys_new = new_pairs.row_a[new].astype(np.int64) * n_b + new_pairs.row_b[new]
    keys_old = old_pairs.row_a[old].astype(np.int64) * n_b + old_pairs.row_b[old]
    groups = [
        ("all links", new_pairs, new),
        ("links that agreement alone would not have made", new_pairs, new[~np.isin(keys_new, keys_old)]),
        ("links of agreement alone that the values undid", old_pairs, old[~np.isin(keys_old, keys_new)]),
    ]
    places = {field.name: q for q, field in enumerate(fit.scheme.model.fields)}
    found = []
    for what, pairs, chosen in groups:
        if len(chosen) < FEWEST:  # its averages identify no person
            continue
        shown = chosen[np.linspace(0, len(chosen) - 1, min(len(chosen), MAX_EXPLAINED)).astype(np.int64)]
        sums: dict[tuple[str, str], float] = {}
        for i in shown:
            gamma = patterns.gamma[pairs.pattern[i]]
            for part in explain(fit, int(pairs.row_a[i]), int(pairs.row_b[i]), gamma):
                # Which keys agree differs from pair to pair; their average is one contribution.
                name = "agreed values" if part.kind == "rarity" else part.name
                sums[part.kind, name] = sums.get((part.kind, name), 0.0) + part.bits
        order = {"prior": 0, "agreement": 1, "rarity": 2, "association": 3}
        parts = sorted(
            ((kind, name, bits / len(shown)) for (kind, name), bits in sums.items()),
            key=lambda part: (order[part[0]], places.get(part[1], 0)),
        )
        found.append(Explained(what, len(chosen), tuple(parts)))
    return tuple(found)


def _result(
    fit: ExtendedFit,
    patterns: PatternCounts,
    pairs: ScoredPairs,
    links: NDArray[np.int64],
    before: Linkage,
    latent: LatentPlan,
    unconstrained_matches: float,
    settings: ExtendedSettings,
) -> LatentResult:
    model = fit.scheme.model
    expected = before.pairs.link_probability
    bits = np.zeros(0) if pairs.value_bits is None else pairs.value_bits[links]
    return LatentResult(
        joint=joint_distribution(fit, latent),
        alone=tuple(fit.values.variables[column].name for column in fit.values.alone_columns),
        dependences=fit.value_fit.dependences,
        records=fit.value_fit.records,
        unconstrained_matches=unconstrained_matches,
        held=float(model.p) * model.n_a * model.n_b,
        iterations=fit.em.iterations,
        converged=fit.em.converged and fit.value_fit.converged,
        links_before=len(before.links),
        precision_before=float(expected[before.links].mean()) if len(before.links) >= FEWEST else None,
        matches_before=float(expected.sum()) + before.matches_below_floor,
        bits=_spread(bits),
        explained=explained_groups(fit, patterns, (pairs, links), (before.pairs, before.links)),
        effect=effect_of_values(
            fit.values,
            fit.value_fit,
            _linked(before.pairs, settings),
            (before.pairs, before.links),
            (pairs, links),
            fit.value_fit.precision or 0.0,
            settings.seed,
        ),
        precision=fit.value_fit.precision,
    )


def _spread(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lowest, quartiles and highest of what values add to the links, to a tenth, without the few at either end."""
    inner = np.sort(bits)[FEWEST - 1 : len(bits) - FEWEST + 1]
    return np.round(np.quantile(inner, np.linspace(0, 1, 5)), 1) if len(inner) else np.zeros(5)
