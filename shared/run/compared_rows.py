"""The levels of all pairs of a run of mode shared, in an order that no party knows, and what Carole reads of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.engine.pairs.preparation import pairs_in_groups
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import MemoryBudget, packing_of
from gemel.common.arrays import U64, Flags
from gemel.common.parties import ComputeParty
from gemel.common.progress import Progress, StageProgress
from gemel.common.signatures.layout import GROUPS, SetLayout
from gemel.common.signatures.party_sets import PartyContribution
from gemel.shared.gates.gates import Shared
from gemel.shared.gates.output_bits import Opened, OutputBits
from gemel.shared.gates.pair_levels import compare_pairs, presence_of_rows
from gemel.shared.gates.party import Party
from gemel.shared.gates.permutation import permuted
from gemel.shared.run.candidate_rows import CandidateRows, Contributions, row_words, rows_of_unit
from gemel.shared.run.comparisons import comparison_of
from gemel.shared.run.opened_levels import (
    CHANCE,
    LEVELS,
    VALUES_OF_ROWS,
    VALUES_OF_SAMPLES,
    OpenedRun,
    lacking_fields,
    opened_pairs,
)

# The rows of one custodian's sets, for one compute party: one set at a time, and which values the rows have.


class SetRows:
    """Reads a contribution's sets for as long as their pairs are compared."""

    def __init__(self, part: PartyContribution, names: tuple[str, ...]) -> None:
        self._part, self._names = part, names
        self._newest: tuple[int, Shared, U64] | None = None
        self._largest = part.sets_of(part.largest_rule)
        self._present: dict[int, Shared] = {}

    def of(self, number: int) -> tuple[Shared, U64]:
        """Shares of a set's rows, and the digests of their blocks; the set before it is given up."""
        if self._newest is None or self._newest[0] != number:
            self._newest = None
            rows = self._part.rows(number)
            self._newest = number, rows, self._part.digests(number)
        rows, digests = self._newest[1:]
        if number in self._largest and number not in self._present:
            names = shared_names(self.layout, self._names)
            self._present[number] = presence_of_rows(rows, self._part.words(number), names)
        return rows, digests

    @property
    def layout(self) -> SetLayout:
        """Of the largest rule's first set: its fields are the same in each."""
        return self._part.sets[self._largest.start]

    def presence(self) -> Presence:
        """Of all rows of the largest rule which shared fields have a value: shape (2, n_rows, 1), by `shared_names`."""
        for number in self._largest:
            if number not in self._present:
                self.of(number)
        words = np.concatenate([self._present[number] for number in self._largest], axis=1)
        return Presence(words, self.layout, VALUES_OF_ROWS)


def shared_names(layout: SetLayout, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some fields that are shared in a set."""
    shared = {field.name for field in layout.fields if field.content == "shared"}
    return tuple(name for name in names if name in shared)


def values_there(words: U64, layout: SetLayout, names: tuple[str, ...]) -> Flags:
    """Which values rows have, from opened words of presence, shape (n_rows, 1): bool, shape (n_rows, n_fields).

    There is a bit for each of `shared_names`; a field that the rule fixes is there in every row, one withheld in none.
    """
    shared = shared_names(layout, names)
    content = {field.name: field.content for field in layout.fields}
    there = np.empty((len(words), len(names)), dtype=np.bool_)
    for q, name in enumerate(names):
        if name in shared:
            there[:, q] = words[:, 0] >> np.uint64(shared.index(name)) & np.uint64(1)
        else:
            there[:, q] = content[name] == "fixed"
    return there


PERMUTED_COPIES = 3
"""Copies of all pairs' words that are there while they are permuted, with their tags."""
READ_PAIRS = 1 << 20
"""Opened pairs that Carole reads at a time."""


@dataclass(frozen=True)
class ComparedRows:
    """The pairs of a run in an order that no party knows.

    `rows`: this party's shares of each pair's row numbers, shape (2, n_pairs); `check`: those of its agreement in the
    check field, shape (2, n_pairs, 1); None without one; `opened`: at Carole what was opened to her.
    """

    rows: Shared = dataclass_field(repr=False)
    check: Shared | None = dataclass_field(repr=False)
    opened: OpenedRun | None

    @property
    def n_pairs(self) -> int:
        """Pairs of all rules."""
        return int(self.rows.shape[1])


@dataclass(frozen=True)
class Presence:
    """Shares of the words that tell which values rows of one side have: of its samples, or of its largest rule."""

    words: Shared = dataclass_field(repr=False)
    layout: SetLayout
    opening: str
    """As what it is opened."""

    def opened(self, party: Party, names: tuple[str, ...]) -> Flags:
        """At Carole which values there are, shape (n_rows, n_fields); at the others without rows."""
        words = party.opened_to(ComputeParty.CAROLE, self.words, self.opening)
        return values_there(np.empty((0, 1), dtype=np.uint64) if words is None else words, self.layout, names)


def compared_rows(
    party: Party,
    contributions: Contributions,
    candidates: CandidateRows,
    plan: LinkagePlan,
    budget: MemoryBudget,
    progress: Progress,
) -> ComparedRows:
    """Compare, put each list into an order that no party knows, and open to Carole what she reads of them, checked."""
    names = tuple(field.name for field in plan.fields)
    readers = SetRows(contributions[0], names), SetRows(contributions[1], names)
    a, b = contributions
    rule = plan.rules[0].name
    bits = comparison_of(plan, a.sets[a.sets_of(rule)[0]], b.sets[b.sets_of(rule)[0]], rule).output
    chance_bits = comparison_of(plan, a.sample_layout, b.sample_layout, None).output
    pairs = _pairs(party, readers, contributions, candidates, plan, bits, budget, progress)
    random = _random_pairs(party, contributions, plan, lambda done: progress("chance", done))
    values = [_of_sample(a, names), _of_sample(b, names), readers[0].presence(), readers[1].presence()]
    progress("permute", 0.0)
    pairs = _permuted(party, pairs)
    progress("permute", 0.5)
    random = _permuted(party, random)
    values = [replace(each, words=_permuted(party, each.words)) for each in values]
    progress("open", 0.0)
    party.stage = "open"
    levels = party.opened_to(ComputeParty.CAROLE, np.ascontiguousarray(pairs[:, :, : bits.words]), LEVELS)
    by_chance = party.opened_to(ComputeParty.CAROLE, random, CHANCE)
    sample_a, sample_b, rows_a, rows_b = (each.opened(party, names) for each in values)
    party.check("open")
    opened = None
    if levels is not None and by_chance is not None:
        of_pairs = opened_pairs(_read(levels, bits), len(levels), plan, packing_of(plan))
        lacking = lacking_fields(rows_a), lacking_fields(rows_b)
        opened = OpenedRun(of_pairs, chance_bits.read(by_chance), (sample_a, sample_b), lacking)
    progress("open", 1.0)
    check = np.ascontiguousarray(pairs[:, :, bits.words : -1]) if plan.check_field is not None else None
    return ComparedRows(np.ascontiguousarray(pairs[:, :, -1]), check, opened)


def _of_sample(part: PartyContribution, names: tuple[str, ...]) -> Presence:
    shared = shared_names(part.sample_layout, names)
    return Presence(presence_of_rows(part.sample, part.sample_words, shared), part.sample_layout, VALUES_OF_SAMPLES)


def _pairs(
    party: Party,
    readers: tuple[SetRows, SetRows],
    contributions: Contributions,
    candidates: CandidateRows,
    plan: LinkagePlan,
    bits: OutputBits,
    budget: MemoryBudget,
    progress: Progress,
) -> Shared:
    """Levels, agreement in the check field and row numbers of all candidate pairs: shape (2, n_pairs, words)."""
    width, n = bits.total_words + 1, candidates.n_pairs
    budget.take(PERMUTED_COPIES * 2 * 8 * n * (width + 1), "the shares of all pairs' levels", "block more finely")
    pairs = np.empty((2, n, width), dtype=np.uint64)
    a, b = contributions
    at = 0
    for unit in candidates.units:
        shard = unit.shard
        rows_a, digests_a = readers[0].of(shard.set_a)
        rows_b, digests_b = readers[1].of(shard.set_b)
        pair_a, pair_b = rows_of_unit(unit, digests_a, digests_b)
        rule = plan.rules[shard.rule].name
        size = len(pair_a)

        def done(fraction: float, before: int = at, size: int = size) -> None:
            progress("compare", (before + fraction * size) / n)

        stretch = pairs[:, at : at + size]
        stretch[:, :, :-1] = compare_pairs(
            party, rows_a, rows_b, pair_a.astype(np.int64), pair_b.astype(np.int64),
            comparison_of(plan, a.sets[shard.set_a], b.sets[shard.set_b], rule), f"compare, rule {rule}", done,
        )  # fmt: skip
        numbers = row_words(pair_a + a.starts[shard.set_a], pair_b + b.starts[shard.set_b])
        stretch[:, :, -1] = party.public(numbers)
        at += size
    return pairs


def _random_pairs(party: Party, contributions: Contributions, plan: LinkagePlan, progress: StageProgress) -> Shared:
    """Levels of the pairs of the samples' rows that are in one group, and their agreement in the check field."""
    a, b = contributions
    rows_a, rows_b = a.sample, b.sample
    rows_of_pairs = pairs_in_groups(rows_a.shape[1], rows_b.shape[1], GROUPS)
    pair_a, pair_b = (rows.astype(np.int64) for rows in rows_of_pairs)
    comparison = comparison_of(plan, a.sample_layout, b.sample_layout, None)
    return compare_pairs(party, rows_a, rows_b, pair_a, pair_b, comparison, "chance", progress)


def _permuted(party: Party, rows: Shared) -> Shared:
    return permuted(party, np.ascontiguousarray(rows), "permute") if rows.shape[1] else rows


def _read(levels: U64, bits: OutputBits) -> list[tuple[int, Opened]]:
    """Opened pairs some at a time, without the check field, each part with its first place."""
    levels_alone = replace(bits, has_check=False)
    starts = range(0, len(levels), READ_PAIRS)
    return [(begin, levels_alone.read(levels[begin : begin + READ_PAIRS])) for begin in starts]
