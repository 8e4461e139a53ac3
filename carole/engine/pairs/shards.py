"""What a run in mode block_keyed is divided into: shards, which are two sets of a rule, and units of work.

A set has the rows of an interval of a rule's blocks, so that its rows are compared with those of the other file's sets
whose intervals overlap, and with no others. A unit is a stretch of the pairs of a shard. What is counted and kept in
the units, one after the other, is what the whole would give, however it is cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from gemel.carole.blocking.block_size_cap import Skew
from gemel.carole.blocking.candidates import Block, BlockKeyedPairs, shared_blocks
from gemel.carole.comparison.counting import Counts, Tally
from gemel.carole.engine.pairs.check_agreement import SampledAgreement, agreement
from gemel.carole.engine.pairs.linkage_input import LARGE_BLOCK
from gemel.carole.engine.pairs.preparation import Samples
from gemel.carole.engine.pairs.selection import FieldsPresent, equal_records, fields_present, summed_fields_present
from gemel.carole.engine.pairs.stream import NONE_KEPT, ComparisonVectors, KeptPairs, PairStream
from gemel.carole.engine.run.contribution import Contribution, SetReference, joined
from gemel.carole.engine.run.plan import LinkagePlan, RulePlan
from gemel.carole.engine.run.resources import BlocksBySize, LostUnitError, RunContext, in_order, quiet
from gemel.common.arrays import I8, I32, I64, U32
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.bulk import numbers
from gemel.common.keys.suite import Suite
from gemel.common.progress import StageProgress
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
        what, where = f"a block may have at most {rule.limit:,} pairs", f"blocking.{rule.name}"
        got = f"a block of {block.rows_a:,} by {block.rows_b:,} rows"
        raise parameter(where, what, got, "raise its limit, or name a field to split the rule by and contribute again")


# The units of work of a run in mode block_keyed: functions of a reference to a shard and a place in it.
#
# Each reads the two sets of its shard, keeps nothing, and returns numbers that do not depend on how the pairs are
# cut: counts of comparison vectors, or the kept pairs by their rows' numbers in the contributions. A reference names
# where the sets are and has no key, so that a unit can be worked on by any process that may read them.


Selected = tuple[I64, U32, I64]
"""Packed vectors, masks, and the number of each in the result."""


@dataclass(frozen=True)
class UnitReference:
    shard: ShardReference
    unit: Unit


def shard_size(shard: ShardReference, above: int) -> tuple[int, list[Block]]:
    """The pairs within the blocks of a shard, and its blocks of more than `above`; only digests are read."""
    return shared_blocks(shard.place.rule, shard.a.digests(), shard.b.digests(), above)


def record_facts(part: SetReference, plan: LinkagePlan) -> tuple[FieldsPresent, int]:
    """Which fields the rows of a set lack, and how many equal another: of a set of the rule with most rows, in which
    each row is a different record."""
    rows = part.read()
    # Of a field that the rule fixes all rows have the same code, whatever their block: the block tells them apart.
    return fields_present(rows, plan), equal_records(rows, plan, rows.blocks[rows.rule])


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
        what = f"the plan of the run has {stretch.pairs:,} pairs for this shard"
        remedy = "start the run again; if that fails too, check the store's disk and contribute again"
        raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, got=f"{pairs.of_blocks:,} pairs", remedy=remedy)
    vectors = ComparisonVectors(in_a, in_b, plan, _fixed_levels(in_a, plan))
    return PairStream(pairs, vectors, pool, 1, max_patterns=max_patterns, store=False), (in_a, in_b)


def _fixed_levels(part: SignatureSet, plan: LinkagePlan) -> dict[str, I8]:
    """Level tables of fixed fields: every pair has the highest level."""
    return {
        field.name: np.full((1, 1), len(field.bounds) - 1, dtype=np.int8)
        for field in plan.fields
        if part.fields[field.name].content == "fixed"
    }


Result = TypeVar("Result")


class Task(NamedTuple):
    """What a function works on, wherever it does: its name in errors, and its share of the progress."""

    name: str
    size: int
    reference: Any


class ShardedPairs:
    """The pairs within the blocks of each rule of two contributions, in memory that does not grow with the files.

    Nothing of a contribution is held but the sets of the units under way. What needs a whole file is summed over its
    sets.
    """

    def __init__(
        self, a: Contribution, b: Contribution, samples: Samples, context: RunContext, progress: StageProgress
    ) -> None:
        self._a, self._b, self._context = a, b, context
        # The samples have signatures of their own, and it is not known which rules their pairs satisfy.
        self.by_chance = SampledAgreement(samples, context, {}, _mark_nothing)
        self.skews: tuple[Skew, ...] = ()
        self.n_rows = a.starts[-1], b.starts[-1]
        rules = context.plan.rules
        shards = list(shards_of(a, b, [rule.name for rule in rules]))
        self._in_flight = self._room_for(shards)
        above = min(LARGE_BLOCK, *(rule.limit for rule in rules))
        tasks = []
        for place in shards:
            name = f"rule {rules[place.rule].name}, sets {place.set_a} and {place.set_b}"
            of_a, of_b = a.reference(place.set_a), b.reference(place.set_b)
            before = a.starts[place.set_a], b.starts[place.set_b]
            tasks.append(Task(name, 1, ShardReference(place, of_a, of_b, before)))
        sizes = list(self._each(partial(shard_size, above=above), tasks, progress))
        large = tuple(block for _, blocks in sizes for block in blocks)
        for block in large:
            refuse_above_limit(block, rules[block.rule])
        per_rule = [0] * len(rules)
        self._units: list[Task] = []
        for task, (pairs, _) in zip(tasks, sizes, strict=True):
            per_rule[task.reference.place.rule] += pairs
            for unit in units_of(task.reference.place, pairs):
                self._units.append(Task(task.name, unit.stop - unit.start, UnitReference(task.reference, unit)))
        self.blocked = BlocksBySize(tuple(per_rule), large)

    def count(self, progress: StageProgress) -> Counts:
        maximum = self._context.max_patterns(sum(self.blocked.pairs_per_rule))
        tally = Tally()
        count = partial(count_unit, plan=self._context.plan, max_patterns=maximum)
        for counts in self._each(count, self._units, progress):
            tally.add(counts)
        counted = tally.total()
        if len(counted[0]) > maximum:
            raise PairStream.too_many_patterns(maximum)
        return counted

    def keep(self, code: I64, mask: U32, pattern: I64, progress: StageProgress) -> KeptPairs:
        """The pairs that have one of some vectors, by rows of the contributions: as `PairStream.keep`."""
        selected = self._context.units.shared((code, mask, pattern))
        keep = partial(keep_unit, plan=self._context.plan)
        return joined(list(self._each(keep, self._units, progress, selected)) or [NONE_KEPT])

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack, and how many records equal another; by the rule with most rows."""
        plan, found = self._context.plan, []
        for part in (self._a, self._b):
            rule = part.largest_rule
            sets = [Task(f"rule {rule}, set {number}", 1, part.reference(number)) for number in part.sets_of(rule)]
            found.append(list(self._each(partial(record_facts, plan=plan), sets, quiet)))
        lacking_a, lacking_b = (summed_fields_present([lacking for lacking, _ in of_file]) for of_file in found)
        equal_a, equal_b = (sum(equal for _, equal in of_file) for of_file in found)
        return (lacking_a, lacking_b), (equal_a, equal_b)

    def _room_for(self, shards: list[Shard]) -> int:
        """Reserve the memory of as many units as fit, one for each thread at most; their number."""
        context = self._context
        rules = len(context.plan.rules)
        largest = max(
            (set_memory(self._a.sets[one.set_a], rules) + set_memory(self._b.sets[one.set_b], rules) for one in shards),
            default=0,
        )
        return context.units.room_for(largest + PairStream.workspace_bytes(1), context.budget)

    def _each(
        self, function: Callable[..., Result], tasks: Sequence[Task], progress: StageProgress, *shared: Any
    ) -> Iterator[Result]:
        """The results of `function` for the reference of each task, in their order."""
        total, done = max(1, sum(task.size for task in tasks)), 0
        references = (task.reference for task in tasks)
        results = in_order(self._context.units.executor, function, references, self._in_flight, *shared)
        for task in tasks:
            try:
                result = next(results)
            except GemelError as error:
                raise _at(task.name, error) from None
            except LostUnitError as error:
                raise _lost(task.name, error) from None
            yield result
            done += task.size
            progress(done / total)


def set_memory(part: SetLayout, n_rules: int) -> int:
    """Memory of a set while its pairs are compared: its arrays, keys row by row, and the index of its blocks."""
    fixed = sum(field.content == "fixed" for field in part.fields)
    return part.total_bytes + part.rows * (4 * fixed + 8 * n_rules + 56)


def _mark_nothing(row_a: I32, row_b: I32, n: int, mask: U32) -> None:
    mask[:n] = 0


def _at(place: str, error: GemelError) -> GemelError:
    """An error of reading a shard names it; one of a setting names that already."""
    if error.code not in (ErrorCode.UPLOAD_CORRUPT, ErrorCode.VAULT):
        return error
    where = f"{place}: {error.where}" if error.where else place
    return GemelError(error.code, error.what, where=where, got=error.got, remedy=error.remedy)


def _lost(place: str, error: LostUnitError) -> GemelError:
    what = "the work on a shard was begun as often as is allowed, and not finished"
    remedy = "see the logs of the workers: one that was killed needs more memory"
    return GemelError(ErrorCode.INTERNAL, what, where=place, got=str(error), remedy=remedy)


# The order in which candidate pairs are sent to custodians and resolver: it discloses nothing, and can be had again.
#
# Carole finds pairs block by block, and their order would disclose which are of one block. They are sent in a
# pseudo-random order, whose key is a digest of the blocks' keyed digests of both files: none of the parties who receive
# the pairs has these of both. The same contributions and the same pairs have the same order, so that all sums over them
# are made in the same order too, and a run can be repeated to the last bit.


_VERSION = b"gemel request order 1"


def request_order(a: Contribution, b: Contribution, kept: KeptPairs, suite: Suite = Suite.DEFAULT) -> I64:
    """Which kept pair comes at each place of a request: int64, shape (n_kept,).

    `kept`: the candidate pairs; another choice of them has another order. SHA-256 of 8 bytes for each row, and a sort
    of the pairs.
    """
    digest = hashlib.sha256(_VERSION)
    for part in (a, b):
        for number in range(len(part.sets)):
            blocks = part.reference(number).digests().astype("<u8").tobytes()
            digest.update(part.sets[number].rows.to_bytes(8, "little") + hashlib.sha256(blocks).digest())
    for which in (kept.row_a, kept.row_b, kept.pattern):
        digest.update(np.ascontiguousarray(which, dtype="<i4").tobytes())
    place = np.arange(len(kept.pattern))
    return np.argsort(numbers(digest.digest(), place, suite=suite), kind="stable").astype(np.int64)
