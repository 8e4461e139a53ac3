"""What a linkage costs Carole: bytes stored, memory, seconds; of what she reserves, by the engine's own figures.

Memory is what a run reserves of `limits.memory`: it is refused if that is less than the minimum, and takes more where
it may, for threads and for tables. The interpreter of the worker comes on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from gemel.carole.blocking.candidates import CandidatePairs
from gemel.carole.engine.pairs.preparation import SAMPLE_PAIRS
from gemel.carole.engine.pairs.selection import MAX_PAIRS
from gemel.carole.engine.pairs.shards import set_memory
from gemel.carole.engine.pairs.stream import PairStream
from gemel.carole.engine.run.resources import KEPT_BYTES, PATTERN_BYTES, PATTERN_BYTES_PER_THREAD, PATTERNS_SHARE
from gemel.carole.engine.run.specified import plan_of
from gemel.common.signatures.layout import GROUPS, SAMPLES, Layout
from gemel.common.specification import Specification
from gemel.coordinator.estimate.custodian_cost import (
    CHANCE_SECONDS,
    DECISION_SECONDS,
    GATE_BYTES,
    GATE_SECONDS,
    GROUPS_SECONDS,
    KEPT_PAIR_SECONDS,
    PAIR_FIELD_SECONDS,
    PAIR_SECONDS,
    PAIR_WORD_SECONDS,
    PERMUTED_WORD_SECONDS,
    SET_ROW_SECONDS,
    VECTORS,
    WORKER_BASE,
    CustodianCost,
)
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.shared.gates.output_bits import PairComparison
from gemel.shared.run.compared_rows import PERMUTED_COPIES
from gemel.shared.run.comparisons import comparison_of


@dataclass(frozen=True)
class RulePairs:
    """The candidate pairs of a rule: its name, their number, and the pairs of its largest block."""

    rule: str
    pairs: int
    largest: int

    def of_size(self, factor_a: float, factor_b: float) -> RulePairs:
        """Of files so many times as large: an upper bound, since a larger file has more different keys."""
        factor = factor_a * factor_b
        return RulePairs(self.rule, math.ceil(self.pairs * factor), math.ceil(self.largest * factor))


def candidate_pairs(
    alice: Mapping[str, pl.Series], bob: Mapping[str, pl.Series], spec: Specification
) -> tuple[RulePairs, ...]:
    """Of each rule with keys, on cleaned values by field; a pair of several rules is in each."""
    split = spec.in_blocks
    found = []
    for rule in spec.keyed_rules:
        both = [
            key_text(columns, spec, rule, split=split).drop_nulls().alias("key").value_counts(name=side)
            for side, columns in (("a", alice), ("b", bob))
        ]
        pairs = both[0].join(both[1], on="key").select(pl.col("a").cast(pl.Int64) * pl.col("b")).to_series()
        found.append(RulePairs(rule.name, int(pairs.sum()), int(pairs.max() or 0)))  # type: ignore[arg-type]
    return tuple(found)


# What mode shared costs each of the three who compute: gates, bytes sent, seconds; the same for all three.
#
# The gates of a pair are those of the circuits that a run would use, by the layouts that it would have.

_WORD_BYTES = 8
_THREADS = 2


@dataclass(frozen=True)
class SharedCost:
    """What a run of mode shared costs each of the three.

    Attributes
    ----------
    pair_gates
        Gates of a pair of each rule, by its name.
    chance_pairs
        Pairs of the samples.
    gates
        Of all pairs, the samples' with them; None where the pairs are not known.
    sent
        Bytes that each party sends, and receives; None likewise.
    seconds
        Of each party, on one core; None likewise.
    memory
        That it holds at a time for all pairs, in bytes; None likewise.
    """

    pair_gates: dict[str, int]
    chance_pairs: int
    gates: int | None = None
    sent: int | None = None
    seconds: float | None = None
    memory: int | None = None


def shared_cost(
    custodians: Sequence[CustodianCost], spec: Specification, rules: tuple[RulePairs, ...] = ()
) -> SharedCost | None:
    """The cost of computing on two contributions; None in another mode."""
    if spec.mode != "shared":
        return None
    plan = plan_of(spec)
    # A set of each rule, and the samples: all sets of a rule have the same words.
    first, second = ({part.rule: part for part in each.layout.sets} for each in custodians)
    comparisons = {
        rule.name: comparison_of(plan, first[rule.name], second[rule.name], rule.name) for rule in plan.rules
    }
    of_samples = comparison_of(plan, first[SAMPLES], second[SAMPLES], None)
    chance = first[SAMPLES].rows * second[SAMPLES].rows // GROUPS
    pair_gates = {name: comparison.gates for name, comparison in comparisons.items()}
    if len(rules) != len(comparisons):
        return SharedCost(pair_gates, chance)
    width = max(map(_permuted_words, comparisons.values()))
    pairs = sum(rule.pairs for rule in rules)
    gates = sum(rule.pairs * pair_gates[rule.rule] for rule in rules) + chance * of_samples.gates
    words = pairs * width + chance * of_samples.output.total_words
    return SharedCost(
        pair_gates,
        chance,
        gates,
        round(gates * GATE_BYTES) + 2 * _WORD_BYTES * (words + pairs + chance),
        gates * GATE_SECONDS + words * PERMUTED_WORD_SECONDS,
        PERMUTED_COPIES * 2 * _WORD_BYTES * pairs * (width + 1),
    )


def _permuted_words(comparison: PairComparison) -> int:
    """Of a pair: its levels, and its row numbers."""
    return comparison.output.total_words + 1


PASSES = 2
"""Over the pairs: they are counted, then kept."""


@dataclass(frozen=True)
class LinkageCost:
    """What a run of two contributions costs Carole.

    Attributes
    ----------
    stored
        Bytes of both contributions, encrypted.
    held
        Memory that is held for the whole run, with that of a unit of work, in bytes.
    minimum
        Memory that a run must be granted, in bytes, on one thread, with a kept pair for each record.
    maximum
        Memory that it takes at most, with two threads where it may, if all pairs are kept, up to `MAX_PAIRS`.
    process
        The same with the worker's interpreter.
    rules
        Pairs of each rule; none without files.
    pairs
        Of all rules, or of both files without rules; None where they cannot be known.
    seconds
        Of linking on one core, at most; None where the pairs are not known. In mode shared without the comparisons.
    computing
        In mode shared: what the comparisons cost each of the three who compute.
    """

    stored: int
    held: int
    minimum: int
    maximum: int
    process: int
    rules: tuple[RulePairs, ...]
    pairs: int | None
    seconds: float | None
    computing: SharedCost | None = None


def linkage_cost(
    custodians: Sequence[CustodianCost], spec: Specification, rules: tuple[RulePairs, ...] = ()
) -> LinkageCost:
    records = [each.records for each in custodians]
    of_a, of_b = (each.layout for each in custodians)
    pairs = _pairs(spec, rules, records)
    kept = min(MAX_PAIRS if pairs is None else pairs, MAX_PAIRS)
    held, work = _held(of_a, of_b, spec), PairStream.workspace_bytes(1)
    unit = (_largest(of_a, len(spec.blocking)) + _largest(of_b, len(spec.blocking)) if of_a.records else 0) + work
    vectors = min(VECTORS, VECTORS if pairs is None else pairs)
    computing = shared_cost(custodians, spec, rules)
    if computing is not None and computing.memory is not None:
        held += computing.memory
    minimum = held + unit + _counted(vectors * _vector_bytes(spec, 1), KEPT_BYTES * min(records))
    maximum = held + _THREADS * unit + vectors * _vector_bytes(spec, _THREADS) + KEPT_BYTES * kept
    rows = sum(each.rows for each in custodians)
    seconds = None
    if pairs is not None:
        seconds = PASSES * pairs * _pair_seconds(spec) + SET_ROW_SECONDS * rows + KEPT_PAIR_SECONDS * kept
        seconds += DECISION_SECONDS * min(records)
        seconds += _chance_seconds(spec) * min(1.0, math.prod(records) / SAMPLE_PAIRS)
    return LinkageCost(
        stored=sum(each.upload for each in custodians),
        held=held + unit,
        minimum=minimum,
        maximum=max(minimum, maximum),
        process=max(minimum, maximum) + WORKER_BASE,
        rules=rules,
        pairs=pairs,
        seconds=seconds,
        computing=computing,
    )


def _held(of_a: Layout, of_b: Layout, spec: Specification) -> int:
    """What is in memory for the whole run: samples in mode block_keyed, otherwise all rows and the index of keys."""
    if of_a.records:
        return sum(part.total_bytes for layout in (of_a, of_b) for part in layout.sets if part.rule == SAMPLES)
    keys = len(spec.keyed_rules) + sum(rule.lsh.bands for rule in spec.blocking if rule.lsh is not None)
    index = CandidatePairs.index_bytes(of_a.sets[0].rows, of_b.sets[0].rows, keys)
    return of_a.total_bytes + of_b.total_bytes + index


def _vector_bytes(spec: Specification, threads: int) -> int:
    """Memory of a comparison vector, as a run's context reserves it."""
    return PATTERN_BYTES + 2 * len(spec.compared) + PATTERN_BYTES_PER_THREAD * threads


def _counted(vectors: int, kept: int) -> int:
    """Memory that must be left for the vectors, which may take a share of it, and afterwards for the kept pairs."""
    return max(round(vectors / PATTERNS_SHARE), vectors + kept)


def _chance_seconds(spec: Specification) -> float:
    if not spec.blocking:
        return 0.0
    return (GROUPS_SECONDS if spec.in_blocks else CHANCE_SECONDS) * len(spec.compared)


def _largest(layout: Layout, n_rules: int) -> int:
    return max(set_memory(part, n_rules) for part in layout.sets if part.blocks)


def _pairs(spec: Specification, rules: tuple[RulePairs, ...], records: Sequence[int]) -> int | None:
    if not spec.blocking:
        return records[0] * records[1]
    if rules and len(rules) == len(spec.blocking):
        return sum(rule.pairs for rule in rules)
    return None


def _pair_seconds(spec: Specification) -> float:
    if spec.mode == "shared":  # the three compute them (`SharedCost`), and Carole counts what is opened
        return PAIR_SECONDS / PASSES
    words = sum(field.bits for field in spec.compared) / 64
    return PAIR_SECONDS + PAIR_FIELD_SECONDS * len(spec.compared) + PAIR_WORD_SECONDS * words
