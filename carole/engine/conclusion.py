"""From comparison results to links: the second half of a run, in which it must be known which rows are one record.

The first half compares signatures, counts and keeps pairs (`local`). This half estimates under the assignment and
decides, from counts of comparison vectors and from pairs of row numbers, and needs no signature. In block-keyed mode it
is done by a resolver who has none: rows are then handles from the custodians, the same for a record under every rule.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.bootstrap import Decided, Fitted, replicates
from tryst.carole.engine.check_agreement import CheckAgreement
from tryst.carole.engine.duplicates import MANY_ALLOWED, duplicate_warnings, duplicates
from tryst.carole.engine.links import Decision, decide
from tryst.carole.engine.plan import LinkagePlan, RulePlan
from tryst.carole.engine.quality import by_bootstrap, by_check_field, claim_of, one_match, quality_warnings
from tryst.carole.engine.refinement import estimation, refine
from tryst.carole.engine.result import Linkage, ScoredPatterns
from tryst.carole.engine.run_warnings import number_warnings, recall_warnings
from tryst.carole.engine.stream import KeptPairs
from tryst.carole.engine.unlinkable import FieldsPresent, best_possible
from tryst.carole.evaluation.quality_estimate import Claim, QualityEstimate
from tryst.carole.fellegi_sunter import (
    BlockingRecall,
    FittedScheme,
    Model,
    PatternCounts,
    RuleFields,
    blocking_recall,
    fit_scheme,
)
from tryst.carole.fellegi_sunter.dependence import OutsideBlocks
from tryst.carole.fellegi_sunter.fixed_point import LinkProbabilities
from tryst.carole.fellegi_sunter.link_posterior import Copies, LinkPosterior
from tryst.carole.fellegi_sunter.model_warnings import FEW_MATCHES
from tryst.common.documents.result_warning import ResultWarning
from tryst.common.progress import Progress, StageProgress

BOOTSTRAP_STREAM = 39
"""Distinguishes the bootstrap's random numbers from others of the same seed."""


@dataclass(frozen=True)
class Candidates:
    """The result of comparing two files.

    Attributes
    ----------
    n_a, n_b
        Records of the two files.
    patterns
        All comparison vectors that occurred.
    levels
        Pairs by field and level over all pairs of records, shape (n_fields, maximum of levels); None without
        blocking.
    outside_blocks
        Pairs that blocking left out, where fields may depend on each other.
    pattern
        int32, shape (n_kept,): row of `patterns` of each kept pair.
    selected
        int64: rows of `patterns` whose pairs were kept.
    lacking
        Of A and of B: which fields are missing in which records.
    equal
        Of A and of B: records that equal another of their file.
    missing
        Per field the share of records of A and of B without a value.
    warnings
        What a reader of the results must know.
    seconds
        Duration of each stage.
    peak_bytes
        Largest memory reserved at any time.
    rarity
        float64, shape (n_kept,): what the rarity of the values that its records share adds to each kept pair's weight,
        in bits; None where no field has this option.
    copies
        Of A and of B: of each record the first of its file that is known to be the same person; None: there are none,
        or rows are not known to be records.
    checked
        Agreement in the check field, where there is one.
    """

    n_a: int
    n_b: int
    patterns: PatternCounts = dataclass_field(repr=False)
    levels: NDArray[np.float64] | None = dataclass_field(repr=False)
    outside_blocks: OutsideBlocks | None = dataclass_field(repr=False)
    pattern: NDArray[np.int32] = dataclass_field(repr=False)
    selected: NDArray[np.int64] = dataclass_field(repr=False)
    lacking: tuple[FieldsPresent, FieldsPresent]
    equal: tuple[int, int]
    missing: dict[str, tuple[float, float]]
    warnings: tuple[ResultWarning, ...]
    seconds: dict[str, float]
    peak_bytes: int
    rarity: NDArray[np.float64] | None = dataclass_field(default=None, repr=False)
    copies: Copies = dataclass_field(default=(None, None), repr=False)
    checked: CheckAgreement | None = None

    def counted(self, plan: LinkagePlan) -> Copies:
        """The copies that count as one under the plan: in a file that may have several records of a person none do."""
        allowed = MANY_ALLOWED.get(plan.assignment, ())
        copies_a, copies_b = self.copies
        return None if "Alice" in allowed else copies_a, None if "Bob" in allowed else copies_b

    def posterior(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], plan: LinkagePlan) -> LinkPosterior:
        """Of some pairs, under the plan's assignment."""
        return LinkPosterior(plan.assignment, row_a, row_b, self.n_a, self.n_b, self.counted(plan))


@dataclass(frozen=True)
class _Estimated:
    """A fit and its decision."""

    scheme: FittedScheme
    posterior: LinkProbabilities | None
    scored: ScoredPatterns
    decision: Decision

    def matches_below_floor(self, selected: NDArray[np.int64]) -> float:
        """Expected matches among the compared pairs that were not kept."""
        matches = self.matches
        return float(matches.sum() - matches[selected].sum())

    @property
    def matches(self) -> NDArray[np.float64]:
        """Expected matches by comparison vector."""
        return self.scored.count * self.scored.probability


def conclude(
    found: Candidates,
    row_a: NDArray[np.int32],
    row_b: NDArray[np.int32],
    plan: LinkagePlan,
    progress: Progress,
    fitted: FittedScheme | None = None,
) -> tuple[Linkage, NDArray[np.int64]]:
    """Estimate under the assignment, score and decide.

    Parameters
    ----------
    found : Candidates
    row_a, row_b : ndarray of int32, shape (n_kept,)
        The records of each kept pair, below `n_a` and `n_b`; no pair twice.
    plan : LinkagePlan
    progress : callable
        Called with the stage "decide" and the fraction of it done.
    fitted : FittedScheme, optional
        The pairwise fit of the same counts, where available.

    Returns
    -------
    Linkage
    ndarray of int64, shape (n_kept,)
        Which kept pair each of the linkage's pairs is.
    """
    started = time.perf_counter()
    progress("decide", 0.0)
    kept = KeptPairs(row_a, row_b, found.pattern)
    last = 0.3 if plan.replicates else 1.0
    estimated = _estimated(found, kept, plan, lambda fraction: progress("decide", last * fraction), fitted)
    fitted, posterior, decision = estimated.scheme, estimated.posterior, estimated.decision
    scored, patterns, model = estimated.scored, found.patterns, fitted.model
    twice = duplicates(found.equal, decision.pairs)
    blocking = _recall(patterns.mask, estimated.matches, model, found.missing, plan)
    claim = claim_of(decision.pairs, decision.links, estimated.matches_below_floor(found.selected), model)
    quality = tuple(
        _quality(found, kept, estimated, claim, plan, lambda part: progress("decide", last + (1 - last) * part))
    )
    progress("decide", 1.0)
    linkage = Linkage(
        model=model,
        scheme=fitted,
        patterns=scored,
        pairs=decision.pairs,
        links=decision.links,
        threshold=decision.threshold,
        duplicates=twice,
        best_possible=(best_possible(found.lacking[0], plan, fitted), best_possible(found.lacking[1], plan, fitted)),
        floor=_floor(scored.weight, found.selected),
        matches_below_floor=estimated.matches_below_floor(found.selected),
        n_candidates=patterns.n_pairs,
        candidates_per_rule=_per_rule(patterns, plan),
        blocking=blocking,
        missing=found.missing,
        warnings=(
            *found.warnings,
            *(recall_warnings(blocking) if plan.rules else ()),
            *fitted.warnings,
            *model.warnings,
            *(() if posterior is None else posterior.warnings),
            *number_warnings(len(decision.links), found.n_a, found.n_b),
            *duplicate_warnings(twice, plan),
            *quality_warnings(claim, quality, plan),
        ),
        seconds={**found.seconds, "decide": time.perf_counter() - started},
        peak_bytes=found.peak_bytes,
        copies=found.counted(plan),
        quality=quality,
    )
    return linkage, decision.order


def _estimated(
    found: Candidates, kept: KeptPairs, plan: LinkagePlan, progress: StageProgress, fitted: FittedScheme | None = None
) -> _Estimated:
    """Estimate under the assignment, score and decide."""
    patterns = found.patterns
    if fitted is None:
        fitted = fitted_scheme(patterns, found.levels, found.n_a, found.n_b, plan)
    links = found.posterior(kept.row_a, kept.row_b, plan)
    fitted, posterior = refine(
        fitted, patterns, kept, links, plan, rule_fields(plan), found.levels, found.outside_blocks, progress
    )
    scored = scored_patterns(fitted, patterns)
    if posterior is not None:
        # Estimation did without the probabilities of records that compete in a cycle, and without rarity.
        weight = scored.weight[kept.pattern] if found.rarity is None else scored.weight[kept.pattern] + found.rarity
        posterior = links.probabilities(weight, near=posterior.expected_links)
    decision = decide(kept, scored, posterior, plan, found.rarity, fitted.model.p)
    return _Estimated(fitted, posterior, scored, decision)


def _quality(
    found: Candidates,
    kept: KeptPairs,
    estimated: _Estimated,
    claim: Claim | None,
    plan: LinkagePlan,
    progress: StageProgress,
) -> Iterator[QualityEstimate]:
    """The estimates that the plan requests, as far as there are links to judge."""
    if claim is None:
        return
    decision = estimated.decision
    if found.checked is not None:
        checked = found.checked.rows(decision.order)
        links = found.posterior(decision.pairs.row_a, decision.pairs.row_b, plan)
        by_check = by_check_field(decision.pairs, found.patterns.gamma, decision.links, checked, links, plan)
        if by_check is not None:
            yield by_check
    if plan.replicates:
        probability = np.empty(len(decision.order))
        probability[decision.order] = decision.pairs.link_probability
        not_kept = estimated.matches
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
    again = _estimated(found, kept, plan, lambda _: None)
    decision = again.decision
    claim = claim_of(decision.pairs, decision.links, again.matches_below_floor(found.selected), again.scheme.model)
    return Decided(decision.order[decision.links], claim or Claim(1.0, 0.0))


def fitted_scheme(
    patterns: PatternCounts, levels: NDArray[np.float64] | None, n_a: int, n_b: int, plan: LinkagePlan
) -> FittedScheme:
    """The pairwise fit."""
    return fit_scheme(
        plan.scheme,
        patterns,
        [field.name for field in plan.compared],
        [field.bounds for field in plan.compared],
        n_a,
        n_b,
        estimation(plan),
        rule_fields(plan),
        levels,
        plan.swapped,
    )


def scored_patterns(fitted: FittedScheme, patterns: PatternCounts) -> ScoredPatterns:
    """All vectors with their scores."""
    gamma = patterns.gamma
    return ScoredPatterns(
        gamma, patterns.mask, patterns.count, fitted.match_weights(gamma), fitted.match_probabilities(gamma)
    )


def rule_fields(plan: LinkagePlan) -> list[RuleFields]:
    """Rules by the positions of their fields; fields that are not compared have no m to estimate."""
    position = {field.name: q for q, field in enumerate(plan.fields)}
    return [
        RuleFields(rule.name, (*(position[n] for n in rule.fields if n in position), *_exchanged(rule, plan)))
        for rule in plan.rules
    ]


def _exchanged(rule: RulePlan, plan: LinkagePlan) -> Iterator[int]:
    """Positions of the comparisons that a rule's pairs do not identify: its fields are present and agree straight."""
    for q, swap in zip(plan.swapped, plan.swaps, strict=True):
        if set(swap) & set(rule.fields):
            yield q
    for q, name in zip(plan.presence, plan.present, strict=True):
        if name in rule.fields:
            yield q


def _recall(
    mask: NDArray[np.uint32],
    matches: NDArray[np.float64],
    model: Model,
    missing: dict[str, tuple[float, float]],
    plan: LinkagePlan,
) -> BlockingRecall:
    """What blocking lost, as far as it can be estimated."""
    agreement = np.array(
        [
            (1 - missing[field.name][0]) * (1 - missing[field.name][1]) * model.m[q, field.n_levels - 1]
            for q, field in enumerate(model.fields)
        ]
    )
    # The statistics of a field's levels hold where it was not exchanged.
    position = {field.name: q for q, field in enumerate(model.fields)}
    for q, swap in zip(plan.swapped, plan.swaps, strict=True):
        agreement[[position[name] for name in swap]] *= model.m[q, 0]
    agreement[model.matches_behind_m < FEW_MATCHES] = np.nan
    return blocking_recall(mask, matches, rule_fields(plan), agreement)


def _per_rule(patterns: PatternCounts, plan: LinkagePlan) -> dict[str, int]:
    """Pairs that satisfy each rule, each pair once."""
    return {
        rule.name: int(patterns.count[(patterns.mask >> np.uint32(r)) & np.uint32(1) == 1].sum())
        for r, rule in enumerate(plan.rules)
    }


def _floor(weight: NDArray[np.float64], kept: NDArray[np.int64]) -> float:
    """Weight above which every pair was kept; the choice was made by the weights of an earlier fit."""
    left_out = np.ones(len(weight), dtype=np.bool_)
    left_out[kept] = False
    highest = weight[left_out].max(initial=-np.inf)
    return float(weight[weight > highest].min(initial=np.inf))
