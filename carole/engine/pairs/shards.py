"""What a run in mode block_keyed is divided into: shards, which are two sets of a rule, and units of work.

A set has the rows of an interval of a rule's blocks, so that its rows are compared with those of the other file's sets
whose intervals overlap, and with no others. A unit is a stretch of the pairs of a shard. What is counted and kept in
the units, one after the other, is what the whole would give, however it is cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import NamedTuple, Protocol

import numpy as np

from gemel.carole.arrays import I8, I64, U32
from gemel.carole.blocking.candidates import Block, BlockKeyedPairs, shared_blocks
from gemel.carole.comparison.counting import Counts
from gemel.carole.engine.pairs.check_agreement import agreement
from gemel.carole.engine.pairs.selection import FieldsPresent, equal_records, fields_present
from gemel.carole.engine.pairs.stream import ComparisonVectors, KeptPairs, PairStream
from gemel.carole.engine.run.contribution import Contribution, SetReference
from gemel.carole.engine.run.plan import LinkagePlan, RulePlan
from gemel.carole.engine.run.resources import quiet
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.signatures.layout import SetLayout
from gemel.common.signatures.signature_sets import SignatureSet

UNIT_PAIRS = 1 << 22
"""Pairs of a unit, at most: about a second of work, so that all threads have some."""


class Shard(NamedTuple):
    """Two sets of a rule, of overlapping intervals: the rule's number, and that of A's and of B's set."""

    rule: int
    set_a: int
    set_b: int


@dataclass(frozen=True)
class ShardReference:
    """A shard for whoever works on it."""

    place: Shard
    a: SetReference
    b: SetReference
    before: tuple[int, int]

    @classmethod
    def of(cls, a: Contribution, b: Contribution, shard: Shard) -> ShardReference:
        before = a.starts[shard.set_a], b.starts[shard.set_b]
        return cls(shard, a.reference(shard.set_a), b.reference(shard.set_b), before)


class Unit(NamedTuple):
    """A stretch of the pairs of a shard.

    `pairs`: of the whole shard, as planned: whoever reads other sets than the plan was made of finds another number.
    """

    shard: Shard
    pairs: int
    start: int
    stop: int


class SetsByRule(Protocol):
    """A contribution, as far as its sets are divided among shards."""

    @property
    def sets(self) -> tuple[SetLayout, ...]: ...

    def sets_of(self, rule: str) -> range:
        """The numbers of a rule's sets."""


def shards_of(a: SetsByRule, b: SetsByRule, rules: Sequence[str]) -> Iterator[Shard]:
    """The shards of two contributions: by rule, and by ascending digests."""
    for number, rule in enumerate(rules):
        of_a, of_b = list(a.sets_of(rule)), list(b.sets_of(rule))
        i = j = 0
        while i < len(of_a) and j < len(of_b):
            yield Shard(number, of_a[i], of_b[j])
            in_a, in_b = a.sets[of_a[i]].interval, b.sets[of_b[j]].interval
            end_a, end_b = (in_a.number + 1) * in_b.of, (in_b.number + 1) * in_a.of
            i, j = i + (end_a <= end_b), j + (end_b <= end_a)


def units_of(shard: Shard, pairs: int) -> Iterator[Unit]:
    for start in range(0, pairs, UNIT_PAIRS):
        yield Unit(shard, pairs, start, min(start + UNIT_PAIRS, pairs))


def refuse_above_limit(block: Block, rule: RulePlan) -> None:
    if block.pairs > rule.limit:
        raise parameter(
            f"blocking.{rule.name}",
            f"a block may have at most {rule.limit:,} pairs",
            f"a block of {block.rows_a:,} by {block.rows_b:,} rows",
            "raise its limit, or name a field to split the rule by and contribute again",
        )


# The units of work of a run in mode block_keyed: functions of a reference to a shard and a place in it.
#
# Each reads the two sets of its shard, keeps nothing, and returns numbers that do not depend on how the pairs are
# cut: counts of comparison vectors, or the kept pairs by their rows' numbers in the contributions. A reference names
# where the sets are and has no key, so that a unit can be worked on by any process that may read them.


Selected = tuple[I64, U32, I64]
"""Packed vectors, masks, and the number of each in the result."""


@dataclass(frozen=True)
class ShardSize:
    """The pairs within the blocks of a shard, and its blocks of many pairs."""

    pairs: int
    large: list[Block] = dataclass_field(repr=False)


@dataclass(frozen=True)
class RecordFacts:
    """Of the rows of a set: which fields they lack, and how many equal another."""

    present: FieldsPresent
    equal: int


@dataclass(frozen=True)
class UnitReference:
    shard: ShardReference
    unit: Unit


def shard_size(shard: ShardReference, above: int) -> ShardSize:
    """Count the pairs of a shard; only digests are read."""
    return ShardSize(*shared_blocks(shard.place.rule, shard.a.digests(), shard.b.digests(), above))


def digest_of_blocks(part: Contribution, number: int) -> bytes:
    return hashlib.sha256(part.reference(number).digests().astype("<u8").tobytes()).digest()


def record_facts(part: SetReference, plan: LinkagePlan) -> RecordFacts:
    """Of a set of the rule with most rows, in which each row is a different record."""
    rows = part.read()
    # Of a field that the rule fixes all rows have the same code, whatever their block: the block tells them apart.
    return RecordFacts(fields_present(rows, plan), equal_records(rows, plan, rows.blocks[rows.rule]))


def count_unit(unit: UnitReference, plan: LinkagePlan, max_patterns: int) -> Counts:
    """Count the comparison vectors of a unit's pairs."""
    with ThreadPoolExecutor(1) as pool:
        stream, _ = _stream(unit, plan, pool, max_patterns)
        return stream.count(quiet)


def keep_unit(unit: UnitReference, selected: Selected, plan: LinkagePlan) -> KeptPairs:
    """Find those of a unit's pairs that have one of some comparison vectors; errors as `count_unit`."""
    with ThreadPoolExecutor(1) as pool:
        stream, (in_a, in_b) = _stream(unit, plan, pool, 1)
        kept = stream.keep(*selected, quiet)
    agrees = None
    if plan.check_field is not None:
        agrees = agreement(in_a, in_b, plan.check_field, kept.row_a, kept.row_b)
    before_a, before_b = unit.shard.before
    return replace(kept, row_a=kept.row_a + np.int32(before_a), row_b=kept.row_b + np.int32(before_b), agrees=agrees)


def _stream(
    unit: UnitReference, plan: LinkagePlan, pool: ThreadPoolExecutor, max_patterns: int
) -> tuple[PairStream, tuple[SignatureSet, SignatureSet]]:
    shard, stretch = unit.shard.place, unit.unit
    in_a, in_b = unit.shard.a.read(), unit.shard.b.read()
    keys_a, keys_b = ([part.blocks[rule.name] for rule in plan.rules] for part in (in_a, in_b))
    pairs = BlockKeyedPairs(shard.rule, keys_a, keys_b, stretch.start, stretch.stop)
    if pairs.of_blocks != stretch.pairs:
        raise GemelError(
            ErrorCode.UPLOAD_CORRUPT,
            f"the plan of the run has {stretch.pairs:,} pairs for this shard",
            got=f"{pairs.of_blocks:,} pairs",
            remedy="start the run again; if that fails too, check the store's disk and contribute again",
        )
    vectors = ComparisonVectors(in_a, in_b, plan, _fixed_levels(in_a, plan))
    return PairStream(pairs, vectors, pool, 1, max_patterns=max_patterns, store=False), (in_a, in_b)


def _fixed_levels(part: SignatureSet, plan: LinkagePlan) -> dict[str, I8]:
    """Level tables of fixed fields: every pair has the highest level."""
    return {
        field.name: np.full((1, 1), len(field.bounds) - 1, dtype=np.int8)
        for field in plan.fields
        if part.fields[field.name].content == "fixed"
    }
