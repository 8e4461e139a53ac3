"""What a run in mode block_keyed is divided into: shards, which are two sets of a rule, and units of work.

A set has the rows of an interval of a rule's blocks, so that its rows are compared with those of the other file's sets
whose intervals overlap, and with no others. A unit is a stretch of the pairs of a shard. What is counted and kept in
the units, one after the other, is what the whole would give, however it is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gemel.carole.blocking.candidates import Block
from gemel.carole.engine.run.contribution import Contribution, SetReference
from gemel.carole.engine.run.plan_parts import RulePlan
from gemel.common.errors import parameter
from gemel.common.signatures.layout import SetLayout

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
        """The reference to a shard of two contributions."""
        before = a.starts[shard.set_a], b.starts[shard.set_b]
        return cls(shard, a.reference(shard.set_a), b.reference(shard.set_b), before)


class Unit(NamedTuple):
    """A stretch of the pairs of a shard.

    Attributes
    ----------
    shard
    pairs
        Of the whole shard, as planned: whoever reads other sets than the plan was made of finds another number.
    start, stop
        The stretch.
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
    """The units of a shard with so many pairs."""
    for start in range(0, pairs, UNIT_PAIRS):
        yield Unit(shard, pairs, start, min(start + UNIT_PAIRS, pairs))


def refuse_above_limit(block: Block, rule: RulePlan) -> None:
    """Refuse a block of more pairs than its rule allows."""
    if block.pairs > rule.limit:
        raise parameter(
            f"blocking.{rule.name}",
            f"a block may have at most {rule.limit:,} pairs",
            f"a block of {block.rows_a:,} by {block.rows_b:,} rows",
            "raise its limit, or name a field to split the rule by and contribute again",
        )
