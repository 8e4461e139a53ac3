"""From comparison results to links: the second half of a run, in which it must be known which rows are one record.

The first half compares signatures, counts and keeps pairs (`local`). This half estimates under the assignment and
decides, from counts of comparison vectors and from pairs of row numbers, and needs no signature. In block-keyed mode it
is done by a resolver who has none: rows are then handles from the custodians, the same for a record under every rule.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.duplicates import MANY_ALLOWED, duplicate_warnings, duplicates
from tryst.carole.engine.links import decide
from tryst.carole.engine.plan import LinkagePlan, RulePlan
from tryst.carole.engine.refinement import estimation, refine
from tryst.carole.engine.result import Linkage, ScoredPatterns
from tryst.carole.engine.run_warnings import number_warnings, recall_warnings
from tryst.carole.engine.stream import KeptPairs
from tryst.carole.engine.unlinkable import FieldsPresent, best_possible
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
from tryst.carole.fellegi_sunter.link_posterior import Copies, LinkPosterior
from tryst.carole.fellegi_sunter.model_warnings import FEW_MATCHES
from tryst.common.documents.result_warning import ResultWarning
from tryst.common.progress import Progress


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

    def counted(self, plan: LinkagePlan) -> Copies:
        """The copies that count as one under the plan: in a file that may have several records of a person none do."""
        allowed = MANY_ALLOWED.get(plan.assignment, ())
        copies_a, copies_b = self.copies
        return None if "Alice" in allowed else copies_a, None if "Bob" in allowed else copies_b

    def posterior(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], plan: LinkagePlan) -> LinkPosterior:
        """Of some pairs, under the plan's assignment."""
        return LinkPosterior(
            plan.assignment, row_a, row_b, self.n_a, self.n_b, self.counted(plan), plan.expected_matches
        )


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
    patterns = found.patterns
    if fitted is None:
        fitted = fitted_scheme(patterns, found.levels, found.n_a, found.n_b, plan)
    kept = KeptPairs(row_a, row_b, found.pattern)
    fitted, posterior = refine(
        fitted, patterns, kept, found.posterior(row_a, row_b, plan), plan, rule_fields(plan), found.levels,
        found.outside_blocks, lambda fraction: progress("decide", fraction),
    )  # fmt: skip
    scored = scored_patterns(fitted, patterns)
    if posterior is not None:
        # Estimation did without the probabilities of records that compete in a cycle, and without rarity.
        weight = scored.weight[kept.pattern] if found.rarity is None else scored.weight[kept.pattern] + found.rarity
        links = found.posterior(row_a, row_b, plan)
        posterior = links.probabilities(weight, near=posterior.expected_links)
    decision = decide(kept, scored, posterior, plan, found.rarity, fitted.model.p)
    twice = duplicates(found.equal, decision.pairs)
    model = fitted.model
    matches = scored.count * scored.probability
    blocking = _recall(patterns.mask, matches, model, found.missing, plan)
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
        matches_below_floor=float(matches.sum() - matches[found.selected].sum()),
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
        ),
        seconds={**found.seconds, "decide": time.perf_counter() - started},
        peak_bytes=found.peak_bytes,
        copies=found.counted(plan),
    )
    return linkage, decision.order


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
        dict(plan.m_prior),
        [field.name for field in plan.fields if field.personal],
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
