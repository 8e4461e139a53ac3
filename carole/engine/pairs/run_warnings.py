"""Warnings about a run's results, in sentences; sizes and names only, never a value or a key."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.carole.blocking.block_size_cap import Skew
from gemel.carole.engine.pairs.linkage_input import Blocked, ComparedPairs
from gemel.carole.engine.pairs.selection import Selection
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter import BlockingRecall
from gemel.common.documents.result_warning import ResultWarning, result_warning

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
    """Warnings where what blocking lost cannot be estimated."""
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
            largest = blocks[0]
            yield result_warning(
                "large_blocks",
                rule=rule.name,
                blocks=len(blocks),
                limit=LARGE_BLOCK,
                rows_a=largest.rows_a,
                rows_b=largest.rows_b,
            )
        if blocked.pairs_per_rule[number] == 0:
            yield result_warning("rule_without_pairs", rule=rule.name)
    for side, rows, total in zip(sides, blocked.rows_without_key, n_rows, strict=False):
        if rows:
            yield result_warning("records_without_key", number=f"{rows:,}", side=side, total=total, unit="rows")


def _skew_warnings(plan: LinkagePlan, skews: tuple[Skew, ...]) -> Iterator[ResultWarning]:
    """Warnings about blocks above a rule's limit, by their sizes."""
    for rule, skew in zip(plan.rules, skews, strict=False):
        if skew.largest_split is not None:
            rows_a, rows_b = skew.largest_split
            yield result_warning(
                "blocks_split",
                rule=rule.name,
                blocks=skew.split,
                limit=rule.limit,
                field=str(rule.split),
                rows_a=rows_a,
                rows_b=rows_b,
            )
        if skew.largest_dropped is not None:
            rows_a, rows_b = skew.largest_dropped
            yield result_warning(
                "blocks_left_out",
                rule=rule.name,
                blocks=skew.dropped,
                limit=rule.limit,
                pairs=skew.pairs_dropped,
                rows_a=rows_a,
                rows_b=rows_b,
            )
