"""The pairs of a run in mode block_keyed, compared shard by shard, in memory that does not grow with the files.

Nothing of a contribution is held but the sets of the units under way. What needs a whole file is summed over its sets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gemel.carole.arrays import I32, I64, U32
from gemel.carole.blocking.block_size_cap import Skew
from gemel.carole.comparison.counting import Counts, Tally
from gemel.carole.engine.pairs.check_agreement import SampledAgreement
from gemel.carole.engine.pairs.linkage_input import LARGE_BLOCK
from gemel.carole.engine.pairs.preparation import Samples
from gemel.carole.engine.pairs.selection import FieldsPresent, summed_fields_present
from gemel.carole.engine.pairs.shards import (
    Shard,
    ShardReference,
    UnitReference,
    count_unit,
    digest_of_blocks,
    keep_unit,
    record_facts,
    refuse_above_limit,
    shard_size,
    shards_of,
    units_of,
)
from gemel.carole.engine.pairs.stream import KeptPairs, PairStream, joined
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.resources import BlocksBySize, LostUnitError, RunContext, in_order, quiet
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.bulk import numbers
from gemel.common.keys.suite import Suite
from gemel.common.progress import StageProgress
from gemel.common.signatures.layout import SetLayout

Result = TypeVar("Result")


class Task(NamedTuple):
    """What a function works on, wherever it does: its name in errors, and its share of the progress."""

    name: str
    size: int
    reference: Any


class ShardedPairs:
    """The pairs within the blocks of each rule of two contributions."""

    def __init__(
        self, a: Contribution, b: Contribution, samples: Samples, context: RunContext, progress: StageProgress
    ) -> None:
        self._a, self._b, self._context = a, b, context
        # The samples have signatures of their own, and it is not known which rules their pairs satisfy.
        self.by_chance = SampledAgreement(samples, context, {}, _mark_nothing)
        self.skews: tuple[Skew, ...] = ()
        self.n_rows = a.starts[-1], b.starts[-1]
        rules = context.plan.rules
        shards = [ShardReference.of(a, b, shard) for shard in shards_of(a, b, [rule.name for rule in rules])]
        self._in_flight = self._room_for([shard.place for shard in shards])
        above = min(LARGE_BLOCK, *(rule.limit for rule in rules))
        tasks = [Task(self._named(shard), 1, shard) for shard in shards]
        sizes = list(self._each(partial(shard_size, above=above), tasks, progress))
        large = tuple(block for size in sizes for block in size.large)
        for block in large:
            refuse_above_limit(block, rules[block.rule])
        per_rule = [0] * len(rules)
        self._units: list[Task] = []
        for task, size in zip(tasks, sizes, strict=True):
            per_rule[task.reference.place.rule] += size.pairs
            for unit in units_of(task.reference.place, size.pairs):
                self._units.append(Task(task.name, unit.stop - unit.start, UnitReference(task.reference, unit)))
        self.blocked = BlocksBySize(tuple(per_rule), large)

    @property
    def n_pairs(self) -> int:
        return sum(self.blocked.pairs_per_rule)

    def count(self, progress: StageProgress) -> Counts:
        maximum = self._context.max_patterns(self.n_pairs)
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
        return joined(list(self._each(keep, self._units, progress, selected)))

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack, and how many records equal another; by the rule with most rows."""
        plan, found = self._context.plan, []
        for part in (self._a, self._b):
            rule = part.largest_rule
            sets = [Task(f"rule {rule}, set {number}", 1, part.reference(number)) for number in part.sets_of(rule)]
            found.append(list(self._each(partial(record_facts, plan=plan), sets, quiet)))
        present = [summed_fields_present([facts.present for facts in of_file]) for of_file in found]
        equal = [sum(facts.equal for facts in of_file) for of_file in found]
        return (present[0], present[1]), (equal[0], equal[1])

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

    def _named(self, shard: ShardReference) -> str:
        rule, set_a, set_b = shard.place
        return f"rule {self._context.plan.rules[rule].name}, sets {set_a} and {set_b}"


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
    return GemelError(
        ErrorCode.INTERNAL,
        "the work on a shard was begun as often as is allowed, and not finished",
        where=place,
        got=str(error),
        remedy="see the logs of the workers: one that was killed needs more memory",
    )


# The order in which candidate pairs are sent to custodians and resolver: it discloses nothing, and can be had again.
#
# Carole finds pairs block by block, and their order would disclose which are of one block. They are sent in a
# pseudo-random order, whose key is a digest of the blocks' keyed digests of both files: none of the parties who receive
# the pairs has these of both. The same contributions and the same pairs have the same order, so that all sums over them
# are made in the same order too, and a run can be repeated to the last bit.


_VERSION = b"gemel request order 1"


def request_order(a: Contribution, b: Contribution, kept: KeptPairs, suite: Suite = Suite.DEFAULT) -> I64:
    """Which kept pair comes at each place of a request: int64, shape (n_kept,).

    `kept`: the candidate pairs; another choice of them has another order.

    Notes
    -----
    SHA-256 of 8 bytes for each row, and a sort of the pairs.
    """
    digest = hashlib.sha256(_VERSION)
    for part in (a, b):
        for number in range(len(part.sets)):
            digest.update(part.sets[number].rows.to_bytes(8, "little") + digest_of_blocks(part, number))
    for which in (kept.row_a, kept.row_b, kept.pattern):
        digest.update(np.ascontiguousarray(which, dtype="<i4").tobytes())
    place = np.arange(len(kept.pattern))
    return np.argsort(numbers(digest.digest(), place, suite=suite), kind="stable").astype(np.int64)
