"""Blocking rules for a drafted specification, chosen by counting the pairs that each would compare.

Rules on disjoint fields are sought, since each then catches what the others lose, and each field's agreement among
matches can be estimated from a rule that does not involve it. Per subject (a date, the names, a code, a text) there is
a ladder of rules, the widest first; the first that compares few enough pairs is taken.

Where values compare inside blocks only, a block made of the beginnings of names is large where the names are common,
and its size, counts and similarities show which. So there the beginnings are joined by the year of birth, or are no
rule; and the names by each other as wholes, for the records whose date is wrong or missing: in such a block all values
are equal, and nothing can be compared.

Where nothing distinguishes a person by itself, as in a survey's categories, whole fields are joined until few pairs are
left, at each step the field that leaves the fewest; and again with the fields used least so far, since rules of four
fields and more lose many matches each.

What a rule finds is told by pairs that are matches for certain; no truth is needed. Two records that agree exactly on
so many fields that chance would hardly make one such pair in the two files are a match. Families agree on surname and
address too: where fields are personal, some of the agreement must be theirs. Of these pairs, those that a rule compares
tell what it is worth beside the others. They have fewer errors than matches have on average, so that a rule made of
whole values finds somewhat less of the others.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.parties import Side
from gemel.common.specification import BlockingKey, BlockingRule, FieldSpec
from gemel.common.specification.model.column_words import meaning_of
from gemel.common.specification.model.defaults import DatePart
from gemel.coordinator.draft.shared_columns import hint_of

PAIRS_PER_ROW = 10
"""A rule may compare so many pairs per row of the larger file."""
MAX_KEYS = 8
"""A rule has no more keys."""
JOINED_RULES = 4
"""Most rules of whole fields, where nothing else can block."""
_PART = {"year": (0, 4), "month": (4, 2), "day": (6, 2)}


@dataclass(frozen=True)
class Proposal:
    """A rule, and how many pairs it compares."""

    rule: BlockingRule
    pairs: int


def propose_rules(
    fields: Sequence[FieldSpec],
    alice: dict[str, pl.Series],
    bob: dict[str, pl.Series],
    *,
    block_keyed: bool = False,
    pairs_per_row: int = PAIRS_PER_ROW,
) -> list[Proposal]:
    """Blocking rules for two cleaned files, the most selective kind of field first; one grouping of each per rule."""
    limit = pairs_per_row * max((len(column) for frame in (alice, bob) for column in frame.values()), default=0)
    chosen: list[Proposal] = []
    narrowest: Proposal | None = None

    def large_blocks(rule: BlockingRule) -> bool:
        """Whether a file has large blocks, which disclose their values, though the pairs with a small file be few."""
        return any(count_pairs(rule, own, own) > pairs_per_row * len(own[rule.keys[0].field]) for own in (alice, bob))

    for ladder in _ladders(fields, block_keyed):
        for rung in ladder:
            proposals = [Proposal(rule, count_pairs(rule, alice, bob)) for rule in rung]
            new = [p for p in proposals if p.pairs and not is_within_any(p, chosen)]
            for proposal in new:
                if narrowest is None or proposal.pairs < narrowest.pairs:
                    narrowest = proposal
            if new and all(p.pairs <= limit and not (block_keyed and large_blocks(p.rule)) for p in new):
                chosen += new
                break
    names = [field.name for field in fields]
    if not chosen:
        chosen = _of_whole_fields(names, alice, bob, limit)
    if not chosen:
        widest = narrowest or _joined(names, Counter(), alice, bob, sys.maxsize)
        chosen = [] if widest is None else [widest]
    used = [set(proposal.rule.fields) for proposal in chosen]
    if used and not any(one.isdisjoint(other) for one, other in combinations(used, 2)):
        # Two such rules are needed to estimate what blocking loses: the matches that one finds are a sample for the
        # other.
        other = _joined([name for name in names if name not in used[0]], Counter(), alice, bob, limit)
        chosen += [] if other is None else [other]
    return chosen


def is_within_any(proposal: Proposal, others: Sequence[Proposal]) -> bool:
    return any(_within(proposal.rule, other.rule) for other in others)


def _within(narrow: BlockingRule, wide: BlockingRule) -> bool:
    return all(any(_implies(mine, key) for mine in narrow.keys) for key in wide.keys)


def _implies(mine: BlockingKey, key: BlockingKey) -> bool:
    if mine.field != key.field or (mine.part, mine.prefix) == (None, None):
        return mine.field == key.field
    if mine.part is not None:
        return mine.part == key.part
    return key.prefix is not None and mine.prefix is not None and mine.prefix >= key.prefix


def _of_whole_fields(
    names: Sequence[str], alice: dict[str, pl.Series], bob: dict[str, pl.Series], limit: int
) -> list[Proposal]:
    """Some rules of whole fields, each made of the fields that the ones before it use least."""
    used: Counter[str] = Counter()
    chosen: list[Proposal] = []
    for _ in range(JOINED_RULES):
        found = _joined(names, used, alice, bob, limit)
        if found is None:
            break
        used.update(found.rule.fields)
        if not is_within_any(found, chosen):
            chosen = [other for other in chosen if not is_within_any(other, [found])] + [found]
    return chosen


def _joined(
    names: Sequence[str], used: Counter[str], alice: dict[str, pl.Series], bob: dict[str, pl.Series], limit: int
) -> Proposal | None:
    """A rule of whole fields, joined until few enough pairs are left, at each step the best of those used least."""
    free = list(names)
    keys: list[str] = []
    while free and len(keys) < MAX_KEYS:
        fewest = min(used[name] for name in free)
        rules = [_rule(*_whole(keys, name)) for name in free if used[name] == fewest]
        best = min((Proposal(rule, count_pairs(rule, alice, bob)) for rule in rules), key=lambda option: option.pairs)
        if best.pairs == 0:
            return None
        if best.pairs <= limit:
            return best
        keys = [key.field for key in best.rule.keys]
        free = [name for name in free if name not in keys]
    return None


def _whole(keys: Sequence[str], name: str) -> list[Key]:
    return [(key, None) for key in (*keys, name)]


def count_pairs(rule: BlockingRule, alice: dict[str, pl.Series], bob: dict[str, pl.Series]) -> int:
    ours, theirs = _key_counts(rule, alice), _key_counts(rule, bob)
    joined = ours.join(theirs, on=[column for column in ours.columns if column != "n"], how="inner")
    return int((joined["n"] * joined["n_right"]).sum())


def _key_counts(rule: BlockingRule, values: Mapping[str, pl.Series]) -> pl.DataFrame:
    table = pl.DataFrame(key_columns(rule, values)).drop_nulls()
    return table.group_by(table.columns).agg(pl.len().cast(pl.Int64).alias("n"))


def key_columns(rule: BlockingRule, values: Mapping[str, pl.Series]) -> list[pl.Series]:
    """What each key of a rule takes of cleaned values; null where it takes nothing."""
    columns = []
    for position, key in enumerate(rule.keys):
        column = values[key.field]
        if key.part is not None:
            start, length = _PART[key.part]
            part = column.str.slice(start, length)
            column = part.set(part == "0" * length, None)  # an unknown part agrees with nothing
        elif key.prefix is not None:
            column = column.str.slice(0, key.prefix)
        columns.append(column.alias(f"key{position}"))
    return columns


Rung = list[BlockingRule]
Key = tuple[str, int | DatePart | None]
"""A field, whole, by its first characters, or by a part of a date."""


def _ladders(fields: Sequence[FieldSpec], block_keyed: bool) -> list[list[Rung]]:
    """Per subject, the rungs from the widest rule to the narrowest."""
    dates, names, codes, texts = (
        [field.name for field in fields if field.kind == kind] for kind in ("date", "name", "code", "text")
    )
    names = _first_names_first(fields, names)
    ladders: list[list[Rung]] = []
    for date in dates:
        rungs = [[_rule((date, None))]]
        rungs += [[_rule((date, None), (name, length))] for length in (1, 3) for name in names[1:2] or names[:1]]
        rungs += [[_rule((date, None), (code, None))] for code in codes[:1]]
        ladders.append(rungs)
    ladders += _of_names(names[:2], _year_of_birth(fields), block_keyed)
    # A house number is written like a code and blocks like none; a year of birth is too few values.
    years = [field.name for field in fields if _meaning(field) == "birth_year"]
    codes = [code for code in codes if code not in years]
    codes = [code for code in codes if hint_of(code) != "number"] or codes
    for code in codes:
        rungs = [[_rule((code, None))]]
        rungs += [[_rule((name, n), (code, None)) for name in names[:2]] for n in (3, 5, None) if names]
        ladders.append(rungs)
    for text in texts[:1]:
        rungs = [[_rule((text, None))]]
        rungs += [[_rule((text, 4), (code, None))] for code in codes[:1]]
        rungs += [[_rule((text, None), (name, 3))] for name in names[:1]]
        ladders.append(rungs)
    if not ladders:
        # A name alone loses much, and is better than nothing.
        lengths = (None,) if block_keyed else (4, None)
        ladders = [[[_rule((name, n)) for name in names for n in lengths]]]
    return ladders


def _of_names(names: Sequence[str], year: Key | None, block_keyed: bool) -> list[list[Rung]]:
    """The ladders of the two names that distinguish people most, or of the one there is."""
    if not names:
        return []
    lengths = (3, 4, 6, None) if len(names) > 1 else (4, 6, None)
    wholes = [[_rule(*((name, None) for name in names))]] if len(names) > 1 else []
    if year is not None and (block_keyed or len(names) == 1):
        dated = [[_rule(*((name, n) for name in names), year)] for n in lengths]
        return [dated, wholes] if wholes else [dated]
    if block_keyed:
        return [wholes] if wholes else []
    return [[[_rule(*((name, n) for name in names))] for n in lengths]] if wholes else []


def _first_names_first(fields: Sequence[FieldSpec], names: Sequence[str]) -> list[str]:
    """Names as they stand, but middle and maiden names, which most people lack, after the others."""
    further = {field.name for field in fields if _meaning(field) in ("middle_name", "maiden_name")}
    return sorted(names, key=lambda name: name in further)


def _year_of_birth(fields: Sequence[FieldSpec]) -> Key | None:
    dates = sorted((f for f in fields if f.kind == "date"), key=lambda field: _meaning(field) != "birth_date")
    if dates and _meaning(dates[0]) == "birth_date":
        return dates[0].name, "year"
    alone = next((field.name for field in fields if _meaning(field) == "birth_year"), None)
    if alone is not None:
        return alone, None
    return (dates[0].name, "year") if dates else None


def _meaning(field: FieldSpec) -> str:
    columns = [column for side in Side for column in field.columns_of(side)]
    return next(filter(None, map(meaning_of, columns)), "")


def _rule(*keys: Key) -> BlockingRule:
    """A rule on fields, each whole, by its first characters, or by a part of a date."""
    name = "-".join(field if taken is None else f"{field}_{taken}" for field, taken in keys)
    if len(name) > 64:
        name = f"{name[:55]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return BlockingRule(
        name=name,
        keys=tuple(
            BlockingKey(field=field, part=taken) if isinstance(taken, str) else BlockingKey(field=field, prefix=taken)
            for field, taken in keys
        ),
    )


ROWS = 10_000
"""Alice's records whose pairs are looked at."""
CERTAIN = 10.0
"""Bits beyond the number of pairs from which agreement is no chance: one in a thousand files has such a pair."""
PERSONAL = 5.0
"""Of these bits, those of personal fields at least: what a common given name and a sex bring."""
Columns = Mapping[str, pl.Series]


def agreement_bits(fields: Sequence[FieldSpec], alice: Columns, bob: Columns) -> dict[str, float]:
    """Bits that exact agreement on each field brings a pair: the logarithm of how rarely unrelated records agree."""
    found = {}
    for name in (field.name for field in fields):
        ours, theirs = (
            side[name].alias("value").drop_nulls().value_counts(normalize=True, name="share").sort("value")
            for side in (alice, bob)
        )
        both = ours.join(theirs, on="value", maintain_order="left")
        chance = float((both["share"] * both["share_right"]).sum())
        found[name] = float(-np.log2(chance)) if chance > 0 else 0.0
    return found


class CertainMatches:
    """Pairs of two files that are matches for certain, by a join of `ROWS` records with Bob's file per rule, once."""

    def __init__(self, fields: Sequence[FieldSpec], alice: Columns, bob: Columns) -> None:
        self._bits = agreement_bits(fields, alice, bob)
        self._alice, self._bob = alice, bob
        self._personal = {field.name for field in fields if field.personal}
        n_a, n_b = (len(next(iter(side.values()))) for side in (alice, bob))
        self._needed = float(np.log2(max(1, n_a)) + np.log2(max(1, n_b))) + CERTAIN
        self._drawn = np.sort(np.random.default_rng(1).permutation(n_a)[:ROWS])
        self._n_b = n_b
        self._of: dict[tuple[object, ...], NDArray[np.int64]] = {}

    def found_by(self, rule: BlockingRule) -> NDArray[np.int64]:
        """The certain matches that a rule compares, as numbers in ascending order."""
        if rule.keys not in self._of:
            self._of[rule.keys] = self._certain(rule)
        return self._of[rule.keys]

    def lost(self, before: Sequence[BlockingRule], after: Sequence[BlockingRule]) -> float | None:
        """Share of the certain matches of some rules that others do not compare; None if there are too few."""
        of_all = self._union(before)
        return None if len(of_all) < 20 else 1 - float(np.isin(of_all, self._union(after)).mean())

    def bits_of(self, field: str) -> float:
        return self._bits[field]

    def _union(self, rules: Sequence[BlockingRule]) -> NDArray[np.int64]:
        found = [self.found_by(rule) for rule in rules]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

    def _certain(self, rule: BlockingRule) -> NDArray[np.int64]:
        drawn = {name: column.gather(self._drawn) for name, column in self._alice.items()}
        ours, theirs = (
            pl.DataFrame(key_columns(rule, values)).with_row_index(row).drop_nulls()
            for values, row in ((drawn, "a"), (self._bob, "b"))
        )
        pairs = ours.join(theirs, on=[column for column in ours.columns if column != "a"], how="inner")
        a, b = (pairs[row].to_numpy().astype(np.int64) for row in ("a", "b"))
        bits, personal = np.zeros(len(a)), np.zeros(len(a))
        for name, worth in self._bits.items():
            equal = drawn[name].gather(a).rename("x") == self._bob[name].gather(b).rename("x")
            agreed = worth * equal.fill_null(value=False).to_numpy()
            bits += agreed
            personal += agreed * (name in self._personal)
        certain = (bits >= self._needed) & ((personal >= PERSONAL) | (not self._personal))
        numbers: NDArray[np.int64] = np.unique((a * self._n_b + b)[certain])
        return numbers
