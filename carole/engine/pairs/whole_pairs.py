"""The pairs of a run of whole files, compared in two passes over rows that are in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gemel.carole.blocking.block_size_cap import Skew, value_keys, without_large_blocks
from gemel.carole.blocking.candidates import AllPairs, AscendingPairs, CandidatePairs
from gemel.carole.blocking.rules import KeyedRule, Rule, UnionPairs, ValueRule, band_keys
from gemel.carole.blocking.value_relation import BYTES_EACH, canopy_pairs, similar_pairs
from gemel.carole.comparison.counting import Counts
from gemel.carole.engine.pairs.check_agreement import SampledAgreement, agreement
from gemel.carole.engine.pairs.preparation import BothSets, Samples, level_tables
from gemel.carole.engine.pairs.selection import FieldsPresent, equal_records, fields_present
from gemel.carole.engine.pairs.stream import ComparisonVectors, KeptPairs, PairStream, StreamedPairs
from gemel.carole.engine.run.plan import LinkagePlan, RulePlan
from gemel.carole.engine.run.resources import PATTERNS_SHARE, MemoryBudget, RunContext
from gemel.common.arrays import I64, U32, U64
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification.model.blocking import Bands, SimilarValues

BlockedPairs = CandidatePairs | UnionPairs

VALUE_PAIRS_SHARE = 0.25
"""Share of the memory left that one rule's pairs of similar values may take."""


def _source(
    a: SignatureSet, b: SignatureSet, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress
) -> tuple[AllPairs | BlockedPairs, tuple[Skew, ...]]:
    """The pairs to compare, by contributed keys and rules formed from signatures, and each rule's large blocks."""
    if not plan.rules:
        return AllPairs(a.n_rows, b.n_rows), ()
    if all(rule.formed is None for rule in plan.rules):
        take_index(a, b, len(plan.rules), budget)
        keys_a, keys_b, treated = zip(*(_keys(a, b, rule) for rule in plan.rules), strict=True)
        return CandidatePairs(keys_a, keys_b), treated

    def made(number: int, rule: RulePlan) -> tuple[Rule, Skew]:
        return _rule(a, b, rule, plan, budget, lambda done: progress((number + done) / len(plan.rules)))

    rules, skews = zip(*(made(number, rule) for number, rule in enumerate(plan.rules)), strict=True)
    return UnionPairs(rules), skews


def _rule(
    a: SignatureSet, b: SignatureSet, rule: RulePlan, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress
) -> tuple[Rule, Skew]:
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
        capped = (without_large_blocks(in_a, in_b, rule.limit) for in_a, in_b in bands)
        of_a, of_b, treated = zip(*capped, strict=True)
        return KeyedRule(of_a, of_b), _together(treated)
    maximum = int(VALUE_PAIRS_SHARE * budget.free) // BYTES_EACH
    if isinstance(formed, SimilarValues):
        related = similar_pairs(side_a, side_b, formed.minimum, maximum, progress, randomised_response)
    else:
        related = canopy_pairs(
            side_a, side_b, formed.tight, formed.loose, plan.seed, maximum, progress, randomised_response
        )
    budget.take(BYTES_EACH * len(related.partner), f"the similar values of rule {rule.name}", "require more similarity")
    return ValueRule(related, side_a.codes, side_b.codes), Skew()


def _keys(a: SignatureSet, b: SignatureSet, rule: RulePlan) -> tuple[U64, U64, Skew]:
    by = None if rule.split is None else (value_keys(a.fields[rule.split]), value_keys(b.fields[rule.split]))
    return without_large_blocks(a.blocks[rule.name], b.blocks[rule.name], rule.limit, by)


def _together(skews: Sequence[Skew]) -> Skew:
    """How the large blocks of all bands of a rule were treated."""
    sizes = [skew.largest_dropped for skew in skews if skew.largest_dropped is not None]
    largest = max(sizes, key=math.prod, default=None)
    return Skew(0, None, sum(skew.dropped for skew in skews), largest, sum(skew.pairs_dropped for skew in skews))


def take_index(a: SignatureSet, b: SignatureSet, n_keys: int, budget: MemoryBudget) -> None:
    index = CandidatePairs.index_bytes(a.n_rows, b.n_rows, n_keys)
    budget.take(index, "the index of blocking keys", "use fewer blocking rules")


STORED_SHARE = 0.5
"""Share of the memory left that packed vectors may take between the passes."""


class WholePairs:
    """The pairs of a source of two sets of rows."""

    def __init__(self, rows: BothSets, records: Samples, context: RunContext, progress: StageProgress) -> None:
        self._rows, self._records, self._context = rows, records.rows, context
        self.n_rows = rows[0].n_rows, rows[1].n_rows
        plan, budget = context.plan, context.budget
        self._source, self.skews = _source(*rows, plan, budget, lambda done: progress(0.5 * done))
        work = PairStream.workspace_bytes(context.threads)
        budget.take(work, "the threads' working space", "use fewer threads")
        n_pairs = self._source.n_pairs
        tables = level_tables(*rows, plan, n_pairs, budget, context.pool, lambda done: progress(0.5 + 0.5 * done))
        maximum = context.max_patterns(n_pairs)
        # A packed vector has eight bytes.
        store = budget.try_take(8 * n_pairs, STORED_SHARE * (1 - PATTERNS_SHARE))
        vectors = ComparisonVectors(*rows, plan, tables)
        self.by_chance = SampledAgreement(records, context, tables, lambda *pairs: self.blocked.mark(*pairs))
        pairs = AscendingPairs(self._source) if records.within else self._source
        self._stream = PairStream(pairs, vectors, context.pool, context.threads, max_patterns=maximum, store=store)

    @property
    def blocked(self) -> BlockedPairs:
        """What is known of the blocks; there are none without rules."""
        assert not isinstance(self._source, AllPairs)  # noqa: S101
        return self._source

    def count(self, progress: StageProgress) -> Counts:
        return self._stream.count(progress)

    def keep(self, code: I64, mask: U32, pattern: I64, progress: StageProgress) -> KeptPairs:
        plan = self._context.plan
        kept = self._stream.keep(code, mask, pattern, progress, last=plan.latent is None)
        if plan.check_field is None:
            return kept
        return replace(kept, agrees=agreement(*self._rows, plan.check_field, kept.row_a, kept.row_b))

    def again(self, code: I64, mask: U32, n_pairs: int) -> StreamedPairs:
        """Further passes, for the extended latent step."""
        return StreamedPairs(self._stream, code, mask, n_pairs)

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        a, b = self._records
        plan = self._context.plan
        return (fields_present(a, plan), fields_present(b, plan)), (equal_records(a, plan), equal_records(b, plan))
