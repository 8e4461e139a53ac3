"""The source of the pairs that a plan compares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking import AllPairs, CandidatePairs, KeyedRule, Rule, UnionPairs, ValueRule
from gemel.carole.blocking.bands import band_keys
from gemel.carole.blocking.block_size_cap import Skew, value_keys, without_large_blocks
from gemel.carole.blocking.value_relation import BYTES_EACH, canopy_pairs, similar_pairs
from gemel.carole.engine.run.memory import MemoryBudget
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import Bands, RulePlan, Similar
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import SignatureSet

BlockedPairs = CandidatePairs | UnionPairs

VALUE_PAIRS_SHARE = 0.25
"""Share of the memory left that one rule's pairs of similar values may take."""


@dataclass(frozen=True)
class Source:
    """Pairs to compare, and how each rule's large blocks were treated."""

    pairs: AllPairs | BlockedPairs
    skews: tuple[Skew, ...]


def pair_source(
    a: SignatureSet, b: SignatureSet, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress
) -> Source:
    """Make the source of pairs: contributed keys, and rules formed from signatures."""
    if not plan.rules:
        return Source(AllPairs(a.n_rows, b.n_rows), ())
    if all(rule.formed is None for rule in plan.rules):
        take_index(a, b, len(plan.rules), budget)
        keyed = [_keys(a, b, rule) for rule in plan.rules]
        pairs = CandidatePairs([in_a for in_a, _, _ in keyed], [in_b for _, in_b, _ in keyed])
        return Source(pairs, tuple(skew for _, _, skew in keyed))
    rules: list[Rule] = []
    skews: list[Skew] = []
    for number, rule in enumerate(plan.rules):
        share = 1 / len(plan.rules)
        made, skew = _rule(a, b, rule, plan, budget, lambda done, n=number, s=share: progress((n + done) * s))  # type: ignore[misc]
        rules.append(made)
        skews.append(skew)
    return Source(UnionPairs(rules), tuple(skews))


def _rule(
    a: SignatureSet, b: SignatureSet, rule: RulePlan, plan: LinkagePlan, budget: MemoryBudget,
    progress: StageProgress,
) -> tuple[Rule, Skew]:  # fmt: skip
    formed = rule.formed
    if formed is None:
        take_index(a, b, 1, budget)
        keys_a, keys_b, skew = _keys(a, b, rule)
        return KeyedRule([keys_a], [keys_b]), skew
    side_a, side_b = a.fields[formed.field], b.fields[formed.field]
    randomised_response = plan.field(formed.field).randomised_response
    if isinstance(formed, Bands):
        take_index(a, b, formed.bands, budget)
        bands = zip(*(band_keys(side, formed.bands, formed.bits) for side in (side_a, side_b)), strict=True)
        capped = [without_large_blocks(in_a, in_b, rule.limit) for in_a, in_b in bands]
        return KeyedRule([keys for keys, _, _ in capped], [keys for _, keys, _ in capped]), _together(capped)
    maximum = int(VALUE_PAIRS_SHARE * budget.free) // BYTES_EACH
    if isinstance(formed, Similar):
        related = similar_pairs(side_a, side_b, formed.minimum, maximum, progress, randomised_response)
    else:
        related = canopy_pairs(
            side_a, side_b, formed.tight, formed.loose, plan.seed, maximum, progress, randomised_response
        )
    budget.take(BYTES_EACH * len(related.partner), f"the similar values of rule {rule.name}", "require more similarity")
    return ValueRule(related, side_a.codes, side_b.codes), Skew()


def _keys(a: SignatureSet, b: SignatureSet, rule: RulePlan) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Skew]:
    by = None
    if rule.split is not None:
        by = value_keys(a.fields[rule.split]), value_keys(b.fields[rule.split])
    return without_large_blocks(a.blocks[rule.name], b.blocks[rule.name], rule.limit, by)


def _together(capped: list[tuple[NDArray[np.uint64], NDArray[np.uint64], Skew]]) -> Skew:
    """How the large blocks of all bands of a rule were treated."""
    skews = [skew for _, _, skew in capped if skew.dropped]
    if not skews:
        return Skew()
    largest = max((skew.largest_dropped for skew in skews if skew.largest_dropped), key=lambda size: size[0] * size[1])
    return Skew(0, None, sum(s.dropped for s in skews), largest, sum(s.pairs_dropped for s in skews))


def take_index(a: SignatureSet, b: SignatureSet, n_keys: int, budget: MemoryBudget) -> None:
    """Reserve the memory of an index of keys."""
    index = CandidatePairs.index_bytes(a.n_rows, b.n_rows, n_keys)
    budget.take(index, "the index of blocking keys", "use fewer blocking rules")
