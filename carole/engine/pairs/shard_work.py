"""The units of work of a run in mode block_keyed: functions of a reference to a shard and a place in it.

Each reads the two sets of its shard, keeps nothing, and returns numbers that do not depend on how the pairs are cut:
counts of comparison vectors, or the kept pairs by their rows' numbers in the contributions. A reference names where the
sets are and has no key, so that a unit can be worked on by any process that may read them.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking.candidates import Block, BlockKeyedPairs, shared_blocks
from gemel.carole.comparison.counting import Counts
from gemel.carole.engine.pairs.check_agreement import agreement
from gemel.carole.engine.pairs.duplicates import equal_records
from gemel.carole.engine.pairs.shards import ShardReference, Unit
from gemel.carole.engine.pairs.stream import KeptPairs, PairStream
from gemel.carole.engine.pairs.unlinkable import FieldsPresent, fields_present
from gemel.carole.engine.pairs.vectors import ComparisonVectors
from gemel.carole.engine.run.contribution import Contribution, SetReference
from gemel.carole.engine.run.packing import Packing
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import SignatureSet

Selected = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]
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
    """A unit, and the shard that it is of."""

    shard: ShardReference
    unit: Unit


def shard_size(shard: ShardReference, above: int) -> ShardSize:
    """Count the pairs of a shard; only digests are read."""
    return ShardSize(*shared_blocks(shard.place.rule, shard.a.digests(), shard.b.digests(), above))


def digest_of_blocks(part: Contribution, number: int) -> bytes:
    """SHA-256 of the digests of the blocks of a set's rows."""
    return hashlib.sha256(np.ascontiguousarray(part.digests(number), dtype="<u8").tobytes()).digest()


def record_facts(part: SetReference, plan: LinkagePlan) -> RecordFacts:
    """Of a set of the rule with most rows, in which each row is a different record."""
    rows = part.read()
    # Of a field that the rule fixes all rows have the same code, whatever their block: the block tells them apart.
    return RecordFacts(fields_present(rows, plan), equal_records(rows, plan, rows.blocks[rows.rule]))


def count_unit(unit: UnitReference, plan: LinkagePlan, packing: Packing, max_patterns: int) -> Counts:
    """Count the comparison vectors of a unit's pairs."""
    with ThreadPoolExecutor(1) as pool:
        stream, _ = _stream(unit, plan, packing, pool, max_patterns)
        return stream.count(_quiet)


def keep_unit(unit: UnitReference, selected: Selected, plan: LinkagePlan, packing: Packing) -> KeptPairs:
    """Find those of a unit's pairs that have one of some comparison vectors; errors as `count_unit`."""
    with ThreadPoolExecutor(1) as pool:
        stream, (in_a, in_b) = _stream(unit, plan, packing, pool, 1)
        kept = stream.keep(*selected, _quiet)
    agrees = None
    if plan.check_field is not None:
        agrees = agreement(in_a, in_b, plan.check_field, kept.row_a, kept.row_b)
    before_a, before_b = unit.shard.before
    return replace(kept, row_a=kept.row_a + np.int32(before_a), row_b=kept.row_b + np.int32(before_b), agrees=agrees)


def _stream(
    unit: UnitReference, plan: LinkagePlan, packing: Packing, pool: ThreadPoolExecutor, max_patterns: int
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
    vectors = ComparisonVectors(in_a, in_b, plan, packing, _fixed_levels(in_a, plan))
    return PairStream(pairs, vectors, pool, 1, max_patterns=max_patterns, store=False), (in_a, in_b)


def _fixed_levels(part: SignatureSet, plan: LinkagePlan) -> dict[str, NDArray[np.int8]]:
    """Level tables of fixed fields: every pair has the highest level."""
    return {
        field.name: np.full((1, 1), len(field.bounds) - 1, dtype=np.int8)
        for field in plan.fields
        if part.fields[field.name].content == "fixed"
    }


def _quiet(fraction: float) -> None:
    """No progress: a unit takes a second."""
