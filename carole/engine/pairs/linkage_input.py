"""What a run needs of the two contributions, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gemel.carole.blocking.block_size_cap import Skew
from gemel.carole.blocking.candidates import Block
from gemel.carole.comparison.counting import Counts
from gemel.carole.engine.pairs.selection import FieldsPresent, Selection
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.carole.engine.run.resources import RunContext
from gemel.carole.fellegi_sunter.kinds.joint_model import OutsideBlocks
from gemel.carole.fellegi_sunter.recall import BlockingRecall
from gemel.common.arrays import F64, I64, U32
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.progress import StageProgress


class Blocked(Protocol):
    """What is known of the blocks of all rules, by their sizes."""

    @property
    def pairs_per_rule(self) -> tuple[int, ...]:
        """Pairs that satisfy each rule; a pair may satisfy several."""

    @property
    def rows_without_key(self) -> tuple[int, int]:
        """Rows of A and of B that have no key under any rule."""

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, the largest first."""


class ChanceAgreement(Protocol):
    """How random pairs of records agree, whichever blocks they are in."""

    def levels(self, progress: StageProgress) -> F64:
        """Numbers of pairs by comparison and level, shape (n_compared, maximum of levels), in any one unit."""

    def outside_blocks(self) -> OutsideBlocks:
        """Comparison vectors of pairs that blocking leaves out; MEMORY if they do not fit."""

    def missing(self) -> dict[str, tuple[float, float]]:
        """Per comparison the share of records of A and of B without a value."""

    def strangers(self, field: FieldPlan) -> float:
        """The share of pairs of records with the check field that agree in it; 0 if there is none."""


class ComparedPairs(Protocol):
    """The pairs of a run: counted in one pass, and kept in another (`WholePairs`, `ShardedPairs`, `SharedPairs`)."""

    n_rows: tuple[int, int]
    skews: tuple[Skew, ...]

    @property
    def by_chance(self) -> ChanceAgreement:
        """How random pairs of records agree."""

    @property
    def blocked(self) -> Blocked:
        """What is known of the blocks, where there are rules."""

    def count(self, progress: StageProgress) -> Counts:
        """Count the comparison vectors of all pairs; MEMORY if they do not fit."""

    def keep(self, code: I64, mask: U32, pattern: I64, progress: StageProgress) -> KeptPairs:
        """The pairs that have one of some vectors, with the number of each."""

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack, and how many records equal another."""


class LinkageInput(Protocol):
    """Two contributions: whole files (`WholeFiles`, modes open and trusted), block-keyed ones (`BlockKeyedFiles`), or
    what was opened of shared ones (`SharedFiles`).

    `within`: whether the files are one, compared with itself; `sides`: what warnings call them.
    """

    within: bool = False
    sides: tuple[str, ...] = ("Alice", "Bob")
    n_records: tuple[int, int]

    def check(self, plan: LinkagePlan) -> None:
        """Raise `GemelError` unless the contributions hold what the plan needs, and the mode supports it."""

    def pairs(self, context: RunContext, progress: StageProgress) -> ComparedPairs:
        """The pairs to compare; MEMORY where what they need does not fit."""

    def warnings(self) -> Iterator[ResultWarning]:
        """Warnings about the contributions beside those of every mode."""
        yield from ()


LARGE_BLOCK = 1_000_000
"""Pairs above which a block gets a warning."""


MANY_MISSING = 0.5
"""Share of rows without a value above which a field gets a warning."""


def run_warnings(
    plan: LinkagePlan,
    pairs: ComparedPairs,
    selection: Selection,
    missing: dict[str, tuple[float, float]],
    sides: tuple[str, ...],
) -> Iterator[ResultWarning]:
    """Warnings about the data, the blocks and what was kept; `sides` is what they call the files."""
    for name, shares in missing.items():
        for side, share in zip(sides, shares, strict=False):
            if share > MANY_MISSING:
                yield result_warning("field_mostly_missing", side=side, field=name, share=share)
    if plan.rules:
        yield from _skew_warnings(plan, pairs.skews)
        yield from _block_warnings(plan, pairs.blocked, pairs.n_rows, sides)
    if selection.raised:
        yield result_warning("pairs_not_kept", floor=selection.floor, pairs=selection.n_pairs)


def recall_warnings(blocking: BlockingRecall) -> Iterator[ResultWarning]:
    if blocking.recall is None:
        yield result_warning("blocking_recall_unknown", reason="; ".join(blocking.assumptions))


def number_warnings(links: int, n_a: int, n_b: int) -> Iterator[ResultWarning]:
    """Warnings where there are more links than people can explain, unless they are in a file many times."""
    smaller, larger = min(n_a, n_b), max(n_a, n_b)
    if links > larger:
        yield result_warning("links_exceed_both_files", links=links, records=larger)
    elif links > smaller:
        yield result_warning("links_exceed_smaller_file", links=links, records=smaller, times=links / smaller)


def without_key_warnings(side: str, n_records: int, rows: int) -> Iterator[ResultWarning]:
    """A warning where records of a file may have no row under any rule; the largest rule has so many rows."""
    if n_records > rows:
        number = f"Up to {n_records - rows:,}"
        yield result_warning("records_without_key", number=number, side=side, total=n_records, unit="records")


def _block_warnings(
    plan: LinkagePlan, blocked: Blocked, n_rows: tuple[int, int], sides: tuple[str, ...]
) -> Iterator[ResultWarning]:
    large = blocked.blocks_above(LARGE_BLOCK)
    for number, rule in enumerate(plan.rules):
        blocks = [block for block in large if block.rule == number]
        if blocks:
            yield result_warning(
                "large_blocks", rule=rule.name, blocks=len(blocks), limit=LARGE_BLOCK, rows_a=blocks[0].rows_a,
                rows_b=blocks[0].rows_b,
            )  # fmt: skip
        if blocked.pairs_per_rule[number] == 0:
            yield result_warning("rule_without_pairs", rule=rule.name)
    for side, rows, total in zip(sides, blocked.rows_without_key, n_rows, strict=False):
        if rows:
            yield result_warning("records_without_key", number=f"{rows:,}", side=side, total=total, unit="rows")


def _skew_warnings(plan: LinkagePlan, skews: tuple[Skew, ...]) -> Iterator[ResultWarning]:
    for rule, skew in zip(plan.rules, skews, strict=False):
        if skew.largest_split is not None:
            rows_a, rows_b = skew.largest_split
            yield result_warning(
                "blocks_split", rule=rule.name, blocks=skew.split, limit=rule.limit, field=str(rule.split),
                rows_a=rows_a, rows_b=rows_b,
            )  # fmt: skip
        if skew.largest_dropped is not None:
            rows_a, rows_b = skew.largest_dropped
            yield result_warning(
                "blocks_left_out", rule=rule.name, blocks=skew.dropped, limit=rule.limit, pairs=skew.pairs_dropped,
                rows_a=rows_a, rows_b=rows_b,
            )  # fmt: skip
