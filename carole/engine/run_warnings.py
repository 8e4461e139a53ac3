"""What a reader of a run's results must know, in sentences; sizes and names only, never a value or a key."""

from __future__ import annotations

from collections.abc import Iterator

from tryst.carole.blocking import AllPairs
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.result import ScoredPairs
from tryst.carole.engine.selection import Selection
from tryst.carole.engine.sources import BlockedPairs, Source
from tryst.carole.fellegi_sunter import BlockingRecall
from tryst.common.encoding.signature_sets import SignatureSet

LARGE_BLOCK = 1_000_000
"""Pairs beyond which a block is worth a word."""

MANY_MISSING = 0.5
"""Share of rows without a value beyond which a field is."""


def run_warnings(
    a: SignatureSet,
    b: SignatureSet,
    plan: LinkagePlan,
    source: Source,
    selection: Selection,
    missing: dict[str, tuple[float, float]],
) -> Iterator[str]:
    """Warnings about the data, the blocks and what was kept."""
    for name, shares in missing.items():
        for side, share in zip(("Alice", "Bob"), shares, strict=True):
            if share > MANY_MISSING:
                yield f"{side} has no value of {name} in {share:.0%} of the rows"
    if not isinstance(source.pairs, AllPairs):
        yield from _skew_warnings(plan, source)
        yield from _block_warnings(a, b, plan, source.pairs)
    if selection.raised:
        yield (
            f"only the pairs of match weight {selection.floor:.1f} and more were kept ({selection.n_pairs:,}); "
            "weaker ones are in the counts only"
        )


def recall_warnings(blocking: BlockingRecall) -> Iterator[str]:
    """What to say where nothing tells what blocking lost."""
    if blocking.recall is None:
        yield f"what blocking lost cannot be estimated: {'; '.join(blocking.assumptions)}"


def rival_warnings(pairs: ScoredPairs, plan: LinkagePlan) -> Iterator[str]:
    """What to say where a record of A's may have one match, and the model gives it several.

    Estimation takes each pair by itself then, and a household is as good a match class as a person.
    """
    if plan.assignment != "many_to_one":
        return
    alone, allowed = float(pairs.match_probability.sum()), float(pairs.link_probability.sum())
    if alone > 1.25 * allowed + 5:
        less = "" if plan.dependence == "none" else "; otherwise model.dependence: none errs less"
        yield (
            f"pair by pair {alone:,.0f} matches seem to be there, but with one for each of Alice's records it is "
            f"{allowed:,.0f} at most: something else than matching, such as one household, makes pairs agree, and "
            "nothing in them tells the two apart; where no record has two matches, links.assignment: one_to_one "
            f"does{less}"
        )


def _block_warnings(a: SignatureSet, b: SignatureSet, plan: LinkagePlan, source: BlockedPairs) -> Iterator[str]:
    large = source.blocks_above(LARGE_BLOCK)
    for number, rule in enumerate(plan.rules):
        blocks = [block for block in large if block.rule == number]
        if blocks:
            yield (
                f"blocking rule {rule.name} has {len(blocks)} blocks of more than {LARGE_BLOCK:,} pairs; the largest "
                f"is {blocks[0].rows_a:,} by {blocks[0].rows_b:,} rows: add a field to the rule"
            )
        if source.pairs_per_rule[number] == 0:
            yield f"blocking rule {rule.name} proposes no pairs"
    for side, rows, n_rows in zip(("Alice's", "Bob's"), source.rows_without_key, (a.n_rows, b.n_rows), strict=True):
        if rows:
            yield f"{rows:,} of {side} {n_rows:,} rows have no blocking key under any rule and cannot be linked"


def _skew_warnings(plan: LinkagePlan, source: Source) -> Iterator[str]:
    """What became of blocks above a rule's limit, by their sizes."""
    for rule, skew in zip(plan.rules, source.skews, strict=True):
        if skew.largest_split is not None:
            yield (
                f"blocking rule {rule.name}: {skew.split:,} blocks of more than {rule.limit:,} pairs were split by "
                f"{rule.split}; the largest was {skew.largest_split[0]:,} by {skew.largest_split[1]:,} rows"
            )
        if skew.largest_dropped is not None:
            yield (
                f"blocking rule {rule.name}: {skew.dropped:,} blocks of more than {rule.limit:,} pairs "
                f"({skew.pairs_dropped:,} pairs) were left to the other rules; the largest was "
                f"{skew.largest_dropped[0]:,} by {skew.largest_dropped[1]:,} rows: add a field to the rule"
            )
