"""Estimation and decision from counts of comparison vectors and kept pairs: the model, the scores, the links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import ScoredPairs, ScoredPatterns, match_probabilities
from gemel.carole.fellegi_sunter.kinds.estimation import first_joint, fit_joint
from gemel.carole.fellegi_sunter.kinds.joint_model import Evidence
from gemel.carole.fellegi_sunter.link_posterior import Arranged, Copies, LinkPosterior, of_persons
from gemel.carole.fellegi_sunter.link_rule import MIN_LINK, assigned, largest_f1, within_rate
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.schemes import FittedScheme, fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.carole.fellegi_sunter.standard_errors import linked_errors, no_errors, pairwise_errors
from gemel.common.arrays import F64, I64
from gemel.common.progress import StageProgress


def estimation(plan: LinkagePlan) -> Estimation:
    return Estimation(
        u=plan.u,
        one_to_one=plan.one_to_one,
        expected_matches=plan.expected_matches,
        max_iterations=plan.max_iterations,
        tolerance=plan.tolerance,
    )


def worth_keeping(
    fitted: FittedScheme, scored: ScoredPatterns, plan: LinkagePlan, level_counts: F64 | None,
    lacking: tuple[FieldsPresent, FieldsPresent],
) -> ScoredPatterns:  # fmt: skip
    """The vectors with the better of two scores: the pairwise fit's, and that of the kinds of pairs before any link.

    Where few records have a match the pairwise fit may have taken neighbours for matches, and then scores a match that
    moved away too low.
    """
    scheme = fitted.scheme
    if not plan.competing or not scheme.facts.calibrated:
        return scored
    n_levels = tuple(len(field.bounds) for field in plan.compared)
    patterns = scheme.patterns(PatternCounts(scored.gamma, scored.mask, scored.count), n_levels)
    counts = scheme.level_counts(level_counts, n_levels)
    rules = rule_fields(plan)
    usable = rules_usable(lacking, rules)
    joint = first_joint(fitted.model, patterns, plan.dependence, estimation(plan), rules, counts, usable)
    weight = np.maximum(scored.weight, joint.match_weights(patterns.gamma))
    probability = np.maximum(scored.probability, joint.match_probabilities(patterns.gamma))
    return replace(scored, weight=weight, probability=probability)


def refine(
    fitted: FittedScheme,
    found: Candidates,
    kept: KeptPairs,
    links: LinkPosterior,
    plan: LinkagePlan,
    progress: StageProgress,
    evidence: Evidence | None = None,
    p: float | None = None,
    p_prior: tuple[float, float] = (0.0, 0.0),
) -> tuple[FittedScheme, LinkProbabilities | None]:
    """Estimate again from link probabilities that obey the assignment, with dependent fields and standard errors."""
    model, scheme, rules, reported = fitted.model, fitted.scheme, rule_fields(plan), estimation(plan)
    bounds = [field.bounds for field in plan.compared]
    n_levels = tuple(len(field) for field in bounds)
    patterns, level_counts = scheme.patterns(found.patterns, n_levels), scheme.level_counts(found.levels, n_levels)
    if not scheme.facts.calibrated:
        fitted = replace(fitted, standard_errors=pairwise_errors(model, patterns, reported, rules, level_counts))
        if not plan.competing:
            return fitted, None
        weight = fitted.match_weights(found.patterns.gamma)[kept.pattern]
        weight = weight if evidence is None else weight + evidence.bits
        return fitted, links.probabilities(weight, progress, cycles=False)
    outside_blocks = found.outside_blocks
    if outside_blocks is not None:
        outside_blocks = replace(outside_blocks, gamma=scheme.vectors(outside_blocks.gamma, n_levels))
    pairs = (links, kept.pattern) if plan.competing else None
    model, joint, posterior = fit_joint(
        model, patterns, plan.dependence, reported, rules, level_counts, outside_blocks, pairs, progress, evidence,
        None if plan.competing else p, p_prior, rules_usable(found.lacking, rules),
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
        each, chance = np.arange(patterns.n_patterns), joint.match_probabilities(patterns.gamma)
        errors = linked_errors(model, patterns, None, each, chance, rules, dependent=True)
    fitted = scheme.of(model, bounds)
    return replace(fitted, joint=joint, n_levels=n_levels, standard_errors=errors), posterior


@dataclass(frozen=True)
class Decision:
    """The kept pairs in order, and the links.

    `order`: int64: where each of them was among the kept pairs; `links`: int64: positions of the links among them,
    ascending.
    """

    pairs: ScoredPairs
    order: I64
    links: I64
    threshold: float


def decide(
    kept: KeptPairs,
    scored: ScoredPatterns,
    posterior: LinkProbabilities | None,
    plan: LinkagePlan,
    extra: F64 | None = None,
    p: float = 0.5,
    copies: Copies = (None, None),
    not_kept: float = 0.0,
    none: float = 0.0,
) -> Decision:
    """Put the kept pairs in order and choose the links.

    `posterior`: given the pairs' rivals, in the order of `kept`, which the assignment greedy does not use; None: pairs
    do not compete; `extra` (float64, shape (n_kept,)): what is added to each kept pair's weight besides its pattern's,
    in bits, with which the share `p` of matches among all pairs counts too; `copies`: of each record the first of its
    file that is the same person; used under clusters only, which links persons; `not_kept`: expected matches among
    other pairs; `none`: probability that there is no match.
    """
    if extra is None:
        weight, probability = scored.weight[kept.pattern], scored.probability[kept.pattern]
    else:
        weight = scored.weight[kept.pattern] + extra
        probability = match_probabilities(weight, p)
    given_rivals = probability if posterior is None or plan.assignment == "greedy" else posterior.probability
    order = np.lexsort((kept.row_b, kept.row_a, -weight)).astype(np.int64, copy=False)
    pairs = ScoredPairs(kept.row_a, kept.row_b, kept.pattern, weight, probability, given_rivals).of(order)
    rows = (pairs.row_a, pairs.row_b)
    a, b = rows if plan.assignment != "clusters" else of_persons(*rows, copies)
    chance = pairs.link_probability
    if plan.false_link_rate is not None:
        possible = assigned(a, b, chance, MIN_LINK, plan.assignment)
        links, threshold = within_rate(chance, possible, plan.false_link_rate)
    elif plan.threshold is not None:
        links, threshold = assigned(a, b, chance, plan.threshold, plan.assignment), plan.threshold
    else:
        links, threshold = largest_f1(a, b, chance, float(chance.sum()) + not_kept, plan.assignment, none)
    return Decision(pairs, order, links, threshold)


@dataclass(frozen=True)
class Estimated:
    """A fit and its decision.

    `posterior`: link probabilities of the kept pairs, given their rivals; None where pairs do not compete.
    """

    scheme: FittedScheme
    links: LinkPosterior
    posterior: LinkProbabilities | None
    scored: ScoredPatterns
    decision: Decision

    def matches_below_floor(self, selected: I64) -> float:
        """Expected matches among the compared pairs that were not kept."""
        matches = self.matches
        return float(matches.sum() - matches[selected].sum())

    @property
    def matches(self) -> F64:
        """Expected matches by comparison vector."""
        return self.scored.count * self.scored.probability


def estimated(
    found: Candidates, kept: KeptPairs, plan: LinkagePlan, progress: StageProgress, fitted: FittedScheme | None = None
) -> Estimated:
    """Estimate under the assignment, score and decide: a run's second half."""
    patterns = found.patterns
    if fitted is None:
        fitted = fitted_scheme(patterns, found.levels, found.n_a, found.n_b, plan, found.lacking)
    links = found.posterior(kept.row_a, kept.row_b, plan)
    fitted, posterior = refine(fitted, found, kept, links, plan, progress)
    links = fitted.informed(links)
    scored = scored_patterns(fitted, patterns)
    if posterior is not None:
        # Estimation did without the probabilities of records that compete in a cycle, and without rarity.
        weight = scored.weight[kept.pattern] if found.rarity is None else scored.weight[kept.pattern] + found.rarity
        posterior = links.probabilities(weight, near=True)
        # What the pairs were arranged as takes more memory than they do, and is made again where it is needed again.
        links = replace(links, arranged=Arranged())
    matches = scored.count * scored.probability
    not_kept = float(matches.sum() - matches[found.selected].sum())
    decision = decide(
        kept, scored, posterior, plan, found.rarity, fitted.model.p, found.counted(plan), not_kept, fitted.no_match
    )
    return Estimated(fitted, links, posterior, scored, decision)


def fitted_scheme(
    patterns: PatternCounts, levels: F64 | None, n_a: int, n_b: int, plan: LinkagePlan,
    lacking: tuple[FieldsPresent, FieldsPresent],
) -> FittedScheme:  # fmt: skip
    names, bounds = [field.name for field in plan.compared], [field.bounds for field in plan.compared]
    describes, beliefs = {field.name: field.describes for field in plan.fields}, dict(plan.m_prior)
    parts = {field.name: field.part_of for field in plan.fields}
    further: dict[int, tuple[int, ...]] = dict(zip(plan.swapped, plan.exchanged, strict=True))
    further |= {q: (plan.position[name],) for q, name in zip(plan.presence, plan.present, strict=True)}
    # What is constant in both files says nothing, and shows in its one level.
    constant = set(lacking[0].constant) ^ set(lacking[1].constant)
    settings, rules, swapped = estimation(plan), rule_fields(plan), plan.swapped
    return fit_scheme(
        plan.scheme, patterns, names, bounds, n_a, n_b, settings, rules, levels, swapped, beliefs, describes, further,
        constant, parts,
    )  # fmt: skip


def scored_patterns(fitted: FittedScheme, patterns: PatternCounts) -> ScoredPatterns:
    gamma = patterns.gamma
    return ScoredPatterns(
        gamma, patterns.mask, patterns.count, fitted.match_weights(gamma), fitted.match_probabilities(gamma)
    )


def rules_usable(lacking: tuple[FieldsPresent, FieldsPresent], rules: Sequence[RuleFields]) -> dict[int, float]:
    """By set of rules, as bits, the share of random pairs whose records have the fields of just these."""
    sides = []
    for found in lacking:
        n_fields, usable = found.missing.shape[1], np.zeros(len(found.missing), dtype=np.int64)
        for r, rule in enumerate(rules):
            key = [q for q in rule.key if q < n_fields]
            usable |= np.where(found.missing[:, key].any(axis=1), 0, 1 << r)
        sets, member = np.unique(usable, return_inverse=True)
        share = np.bincount(member.ravel(), found.records) / max(int(found.records.sum()), 1)
        sides.append(list(zip(sets.tolist(), share.tolist(), strict=True)))
    shares: dict[int, float] = {}
    for of_a, share_a in sides[0]:
        for of_b, share_b in sides[1]:
            shares[of_a & of_b] = shares.get(of_a & of_b, 0.0) + share_a * share_b
    return shares


def rule_fields(plan: LinkagePlan) -> list[RuleFields]:
    """Rules by the positions of their fields; fields that are not compared have no m to estimate."""
    position, found = plan.position, []
    for rule in plan.rules:
        own = set(rule.fields)
        key = [position[name] for name in rule.fields if name in position]
        # A rule's pairs agree straight, and have its fields.
        straight = [q for q, swap in zip(plan.swapped, plan.swaps, strict=True) if own.intersection(swap)]
        present = [q for q, name in zip(plan.presence, plan.present, strict=True) if name in own]
        found.append(RuleFields(rule.name, (*key, *straight, *present), implied=tuple(present)))
    return found
