"""Blocking rules for a drafted specification, chosen by counting the pairs that each would compare.

Rules on disjoint fields are sought, since each then catches what the others lose, and each field's agreement among
matches can be estimated from a rule that does not involve it. Per subject (a date, the names, a code, a text) there is
a ladder of rules, the widest first; the first that compares few enough pairs is taken.

Where values compare inside blocks only, a block made of the beginnings of names is large where the names are common,
and its size, counts and similarities show which. So there the beginnings are joined by the year of birth, or are no
rule; and the names by each other as wholes, for the records whose date is wrong or missing: in such a block all values
are equal, and nothing can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from tryst.common.parties import Side
from tryst.common.specification import BlockingKey, BlockingRule, FieldSpec
from tryst.common.specification.model.defaults import DatePart
from tryst.coordinator.draft.column_meanings import meaning_of
from tryst.coordinator.draft.shared_columns import hint_of

PAIRS_PER_ROW = 10
"""A rule may compare so many pairs per row of the larger file."""
_PART = {"year": (0, 4), "month": (4, 2), "day": (6, 2)}


@dataclass(frozen=True)
class Proposal:
    """A rule, and how many pairs it compares."""

    rule: BlockingRule
    pairs: int


def propose_rules(
    fields: Sequence[FieldSpec], alice: dict[str, pl.Series], bob: dict[str, pl.Series], *, block_keyed: bool = False
) -> list[Proposal]:
    """Blocking rules for two cleaned files, the most selective kind of field first.

    Parameters
    ----------
    fields
        The compared fields.
    alice, bob
        Their cleaned values by field name.
    block_keyed
        Whether the rules are for mode block_keyed, where blocks should not disclose names.

    Returns
    -------
    list of Proposal
        At most one or two rules per subject. If no rule compares few enough pairs, the one that compares the fewest;
        empty if no field can block.

    Notes
    -----
    A rule costs one grouping of each file.
    """
    limit = PAIRS_PER_ROW * max((len(column) for frame in (alice, bob) for column in frame.values()), default=0)
    chosen: list[Proposal] = []
    narrowest: Proposal | None = None
    for ladder in _ladders(fields, block_keyed):
        for rung in ladder:
            proposals = [Proposal(rule, count_pairs(rule, alice, bob)) for rule in rung]
            new = [p for p in proposals if p.pairs and not any(_within(p.rule, other.rule) for other in chosen)]
            for proposal in new:
                if narrowest is None or proposal.pairs < narrowest.pairs:
                    narrowest = proposal
            if new and all(proposal.pairs <= limit for proposal in new):
                chosen += new
                break
    if not chosen and narrowest is not None:
        chosen = [narrowest]
    return chosen + _independent(chosen, fields, alice, bob, limit)


def _within(narrow: BlockingRule, wide: BlockingRule) -> bool:
    """Whether every pair of one rule is also one of another."""
    return all(any(_implies(mine, key) for mine in narrow.keys) for key in wide.keys)


def _implies(mine: BlockingKey, key: BlockingKey) -> bool:
    """Whether records that agree on one part of a key agree on another."""
    if mine.field != key.field or (mine.part, mine.prefix) == (None, None):
        return mine.field == key.field
    return mine.part == key.part and key.prefix is not None and mine.prefix is not None and mine.prefix >= key.prefix


def _independent(
    chosen: Sequence[Proposal],
    fields: Sequence[FieldSpec],
    alice: dict[str, pl.Series],
    bob: dict[str, pl.Series],
    limit: int,
) -> list[Proposal]:
    """A rule on none of the fields of the first rule, if no two rules are that different yet.

    Two such rules are needed to estimate what blocking loses: the matches that one finds are a sample for the other.
    Whole fields are joined, at each step the one that leaves the fewest pairs, until few enough are left.
    """
    used = [set(proposal.rule.fields) for proposal in chosen]
    if not used or any(one.isdisjoint(other) for one, other in combinations(used, 2)):
        return []
    free = [field.name for field in fields if field.name not in used[0]]
    keys: list[str] = []
    while free and len(keys) < 4:
        options = [
            Proposal(rule, count_pairs(rule, alice, bob)) for name in free for rule in [_rule(*_whole(keys, name))]
        ]
        best = min(options, key=lambda option: option.pairs)
        if best.pairs == 0:
            return []
        if best.pairs <= limit:
            return [best]
        keys = list(best.rule.fields)
        free = [name for name in free if name not in keys]
    return []


def _whole(keys: Sequence[str], name: str) -> list[Key]:
    return [(key, None) for key in (*keys, name)]


def count_pairs(rule: BlockingRule, alice: dict[str, pl.Series], bob: dict[str, pl.Series]) -> int:
    """How many pairs agree on all keys of a rule."""
    ours, theirs = _key_counts(rule, alice), _key_counts(rule, bob)
    joined = ours.join(theirs, on=[column for column in ours.columns if column != "n"], how="inner")
    return int((joined["n"] * joined["n_right"]).sum())


def _key_counts(rule: BlockingRule, values: dict[str, pl.Series]) -> pl.DataFrame:
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
    table = pl.DataFrame(columns).drop_nulls()
    return table.group_by(table.columns).agg(pl.len().cast(pl.Int64).alias("n"))


Rung = list[BlockingRule]
Key = tuple[str, int | DatePart | None]
"""A field, whole, by its first characters, or by a part of a date."""


def _ladders(fields: Sequence[FieldSpec], block_keyed: bool) -> list[list[Rung]]:
    """Per subject, the rungs from the widest rule to the narrowest."""
    dates, names, codes, texts, others = (
        [field.name for field in fields if field.kind in kinds]
        for kinds in (("date",), ("name",), ("code",), ("text",), ("category", "number"))
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
        # Names or categories alone: blocking on them loses much, and is better than nothing.
        lengths = (None,) if block_keyed else (4, None)
        singles = [_rule((name, n)) for name in names for n in lengths] + [_rule((other, None)) for other in others]
        ladders = [[[rule] for rule in singles]]
        if len(others) > 1:
            ladders.append([[_rule((others[0], None), (others[1], None))]])
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
    """The year of birth, of a date or by itself; of another date where no column names a birth."""
    dates = sorted((f for f in fields if f.kind == "date"), key=lambda field: _meaning(field) != "birth_date")
    if dates and _meaning(dates[0]) == "birth_date":
        return dates[0].name, "year"
    alone = next((field.name for field in fields if _meaning(field) == "birth_year"), None)
    if alone is not None:
        return alone, None
    return (dates[0].name, "year") if dates else None


def _meaning(field: FieldSpec) -> str:
    """What the names of a field's columns mean."""
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
