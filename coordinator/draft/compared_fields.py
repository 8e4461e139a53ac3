"""Which columns of two files become compared fields of a draft, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import polars as pl

from gemel.common.parties import Side
from gemel.common.specification import Columns, DateFormat, FieldSpec
from gemel.common.specification.model.column_words import bare, described_by, meaning_of
from gemel.common.specification.model.defaults import IN_BLOCKS, KINDS, LEVELS, Assignment, Describes, Kind, Mode
from gemel.common.specification.model.fields import DateOrders
from gemel.common.specification.model.leakage import tolerant_bounds
from gemel.coordinator.draft.column_pairs import Pair, overlap_of_values, overlap_of_words, pair_columns, shares_value
from gemel.coordinator.draft.placeholders import placeholders
from gemel.coordinator.draft.repeated_columns import repeated_columns
from gemel.coordinator.draft.shared_columns import (
    LONG,
    NEARLY_EMPTY,
    Shape,
    date_orders,
    field_name,
    hint_of,
    is_own_number,
    kind_of,
    latest_year,
    shape_of,
)
from gemel.custodian.cleaning.own_copies import OwnCopies

MAX_FIELDS = 15
"""More add no information, and their comparison patterns no longer fit."""
MIN_NUMBERS = 0.02
"""Overlap of two columns of identifiers from which they may be the same numbers."""
BITS_IN_BLOCKS: Mapping[Kind, int] = MappingProxyType(
    {"name": 256, "text": 256, "date": 128, "number": 128, "code": 128}
)
"""Bits in mode block_keyed, in which a record is signed for every rule: with them it is linked as with 1024, in a
quarter of the bytes and of the time (``python -m benchmarks bits``). Names and texts have many similarities to tell
apart; of dates, numbers and codes, which have few tokens, few similarities are possible at all."""
MIN_WORDS = 0.05
"""Overlap of the words of names or texts of which no whole value is in both files."""


@dataclass
class ProposedFields:
    bits: int | None
    randomised_response: float
    separate: bool
    fields: list[FieldSpec] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    """One per field."""
    pairs: list[Pair] = field(default_factory=list, repr=False)
    """The columns of each field."""
    left_out: list[str] = field(default_factory=list)
    """Columns that are no fields, and why."""


def propose_fields(
    alice: Mapping[str, pl.Series | None],
    bob: Mapping[str, pl.Series | None],
    identifiers: Mapping[Side, str],
    bits: int | None,
    randomised_response: float,
    *,
    separate: bool = False,
) -> ProposedFields:
    """The fields worth comparing, in the order of Alice's columns.

    The columns are texts, None for one of no single values. `separate`: records are signed for every rule, in
    `BITS_IN_BLOCKS` unless `bits` are given.
    """
    drafted = ProposedFields(bits, randomised_response, separate)
    pairs = pair_columns(alice, bob)
    has_birth = any(pair.meaning == "" and meaning_of(pair.alice[0]) == "birth_date" for pair in pairs)
    for pair in pairs:
        if identifiers[Side.ALICE] in pair.alice or identifiers[Side.BOB] in pair.bob:
            drafted.left_out.append(f"{pair.labels[0]}: an identifier of a custodian's own{_if_shared(pair)}.")
        elif pair.meaning == "birth" and has_birth:
            drafted.left_out.append(f"{pair.labels[0]}: of a date that is compared.")
        else:
            _consider(drafted, pair)
    for position, reason in sorted(repeated_columns(drafted.pairs).items(), reverse=True):
        drafted.left_out.append(
            f"{drafted.pairs[position].labels[0]}: {reason}; compared as well it would count twice."
        )
        for kept in (drafted.fields, drafted.comments, drafted.pairs):
            del kept[position]
    paired = {Side.ALICE: {c for pair in pairs for c in pair.alice}, Side.BOB: {c for pair in pairs for c in pair.bob}}
    for side, columns in ((Side.ALICE, alice), (Side.BOB, bob)):
        alone = [column for column in columns if column not in paired[side] and column != identifiers[side]]
        if alone:
            drafted.left_out.append(
                f"Only in {side}'s file: {', '.join(alone)}. If the other has it under another name, add it with"
                " `columns: {alice: ..., bob: ...}`."
            )
    return drafted


def _if_shared(pair: Pair) -> str:
    """What to do where two columns of identifiers may hold the same numbers."""
    if pair.alice_text is None or pair.bob_text is None:
        return ""
    if shape_of(pair.alice_text).running or overlap_of_values(pair.alice_text, pair.bob_text) < MIN_NUMBERS:
        return ""
    return "; its values are in both files: add it, as a code, if both use the same numbers"


def _consider(drafted: ProposedFields, pair: Pair) -> None:
    ours, theirs = pair.alice_text, pair.bob_text
    if ours is None or theirs is None:
        drafted.left_out.append(f"{pair.labels[0]}: holds no single values.")
        return
    alice, bob = shape_of(ours), shape_of(theirs)
    hint = next(filter(None, (hint_of(columns[0]) for columns in (pair.alice, pair.bob) if len(columns) == 1)), "")
    kind, reason = kind_of(hint, alice, bob) if pair.by != "part" else ("number", "it is a part of a date")
    why_not = _useless(pair, hint, alice, bob)
    if not why_not and kind != "date" and not _shared(kind, ours, theirs):
        why_not = "no value of it occurs in both files"
    if not why_not and len(drafted.fields) == MAX_FIELDS:
        why_not = f"{MAX_FIELDS} fields are enough"
    date, doubt = _date(ours, theirs, alice, bob) if kind == "date" else (None, "")
    if why_not:
        drafted.left_out.append(f"{pair.labels[0]}: {why_not}.")
        return
    described = _describes(pair, kind)
    missing, frequent = _missing({Side.ALICE: ours, Side.BOB: theirs}, kind, described, date)
    name = field_name(_named_after(pair), [known.name for known in drafted.fields])
    drafted.fields.append(
        FieldSpec(
            name=name,
            kind=kind,
            missing=missing,
            date=date,
            **_columns(pair, name, date),
            describes=described,
            **_signature(kind, drafted),
        )
    )
    drafted.pairs.append(pair)
    drafted.comments.append(f"{kind.capitalize()}: {reason}. {_filled(alice, bob)}{doubt}{frequent}{_pairing(pair)}")


def _date(ours: pl.Series, theirs: pl.Series, alice: Shape, bob: Shape) -> tuple[DateFormat, str]:
    """How the dates of both files are read, and what is to be checked of it."""
    orders = date_orders(alice, bob)
    doubts = []
    for k, side in enumerate(Side):
        possible = list(dict.fromkeys(each[k] for each in orders))
        if len(possible) > 1 and "ymd" not in possible:
            doubts.append((side, f"every value can be read as {' and as '.join(possible)}"))
    doubt = "".join(f" CHECK THE ORDER of {side}'s file: {what}." for side, what in doubts)
    if len(doubts) == len(Side) and doubts[0][1] == doubts[1][1]:
        doubt = f" CHECK THE ORDER: {doubts[0][1]}."
    first, second = orders[0]
    year, sure = latest_year(ours, theirs, orders[0])
    if year is not None:
        doubt += (
            f" Years of two digits are no later than {year}, and later dates are not read{'' if sure else ': CHECK'}."
        )
    return DateFormat(order=first if first == second else DateOrders(alice=first, bob=second), latest_year=year), doubt


def _describes(pair: Pair, kind: Kind) -> Describes:
    """What the field describes by its columns' names, and otherwise by its kind."""
    if pair.meaning == "birth":
        return "birth"
    return next(filter(None, map(described_by, (*pair.alice, *pair.bob))), KINDS[kind].describes)


def _missing(
    texts: Mapping[Side, pl.Series], kind: Kind, describes: Describes, date: DateFormat | None
) -> tuple[tuple[str, ...], str]:
    """Values proposed as missing, and what is said of frequent ones."""
    values: list[str] = []
    said = ""
    for side, text in texts.items():
        order = None if date is None else date.model_copy(update={"order": date.order_of(side)})
        found = placeholders(text, kind, describes, order)
        values += found.values
        if found.values:
            said += f" Placeholders in {found.share:.1%} of {side}'s rows are taken as missing: CHECK."
        if found.other:
            said += (
                f" One value is in {found.other:.1%} of {side}'s rows: if it stands for one that is not known, list it"
                " in `missing`."
            )
    return tuple(dict.fromkeys(values)), said


def _shared(kind: Kind, ours: pl.Series, theirs: pl.Series) -> bool:
    """Whether the files share values of a column; of names and texts words count, in whatever order they stand."""
    return shares_value(ours, theirs) or (kind in ("name", "text") and overlap_of_words(ours, theirs) >= MIN_WORDS)


def _named_after(pair: Pair) -> str:
    """What a field is named after: a column, Alice's if she has one, or what several mean."""
    single = [columns[0] for columns in (pair.alice, pair.bob) if len(columns) == 1]
    if single:
        return single[0]
    return "date_of_birth" if pair.meaning == "birth" else f"{pair.meaning}_date".lstrip("_")


def _columns(pair: Pair, name: str, date: DateFormat | None) -> dict[str, Any]:
    """Where the field's values are, as far as its name does not state it; parts of a date in the date's order."""
    found: list[str | tuple[str, ...]] = []
    for side, columns in zip(Side, (pair.alice, pair.bob), strict=True):
        order = date.order_of(side) if date is not None else ""
        if len(columns) == len(order):
            columns = tuple(columns["ymd".index(part)] for part in order)
        found.append(columns[0] if len(columns) == 1 else columns)
    if found[0] != found[1]:
        return {"columns": Columns(alice=found[0], bob=found[1])}
    return {} if found[0] == name else {"column": found[0]}


def _pairing(pair: Pair) -> str:
    """What the comment adds where columns of different names, or several columns, are taken for the same."""
    ours, theirs = pair.labels
    if pair.by in ("meaning", "part") and bare(ours) != bare(theirs):
        return f" {ours} and {theirs} seem to mean the same: check."
    if pair.by == "content":
        return f" {ours} and {theirs} hold much the same, by {pair.overlap:.0%} of their distributions: check."
    if pair.by == "parts":
        joined = [label for label, columns in zip(pair.labels, (pair.alice, pair.bob), strict=True) if len(columns) > 1]
        return f" {' and '.join(dict.fromkeys(joined))} {'are' if len(joined) == 1 else 'are each'} read as one: check."
    return ""


def _signature(kind: Kind, drafted: ProposedFields) -> dict[str, Any]:
    default = KINDS[kind]
    bits = BITS_IN_BLOCKS.get(kind, default.bits) if drafted.separate else default.bits
    if kind not in ("name", "text") or (drafted.bits is None and not drafted.randomised_response):
        return {} if bits == default.bits else {"bits": bits}
    bits, table = drafted.bits or bits, LEVELS[default.levels]
    bounds = tolerant_bounds(table, bits, drafted.randomised_response)
    return {
        "bits": bits,
        "randomised_response": drafted.randomised_response,
        "levels": default.levels if bounds == table else bounds,
    }


def _useless(pair: Pair, hint: str, alice: Shape, bob: Shape) -> str:
    """Why a column does not help, or nothing."""
    if min(alice.filled, bob.filled) <= 1 - NEARLY_EMPTY:
        return f"nearly empty, {alice.filled:.0%} and {bob.filled:.0%} of the rows have a value"
    if alice.distinct <= 1 or bob.distinct <= 1:
        return "all rows of a file have the same value"
    if hint == "own":
        return "is the time at which a row was written and does not describe the person"
    if (
        is_own_number(pair.alice[0])
        and is_own_number(pair.bob[0])
        and alice.filled > 0.99
        and alice.distinct > 0.9 * alice.rows
    ):
        return "looks like a custodian's own number; add it, as a code, if both use the same numbers"
    if alice.unique and bob.unique and alice.running and bob.running and hint not in ("shared_number", "code"):
        return "a running number; add it, as a code, if both use the same numbers"
    if min(alice.length, bob.length) > LONG:
        return "long texts"
    return ""


def _filled(alice: Shape, bob: Shape) -> str:
    if min(alice.filled, bob.filled) >= 0.995:
        return "Nearly always filled in."
    return f"Filled in {alice.filled:.0%} and {bob.filled:.0%} of the rows."


def propose_assignment(copies: Mapping[Side, OwnCopies], mode: Mode = "open") -> tuple[Assignment, str]:
    """The assignment and its reason, in counts."""
    several = [side for side in Side if copies[side].several]
    if not several:
        return "one_to_one", ""
    counted = "; ".join(
        f"{side.title()}'s file has {copies[side].equal:,} pairs of equal records and {copies[side].near:,} that are"
        " equal in all but one field"
        for side in several
    )
    counted += ": people who may be in it more than once."
    if len(several) > 1 and mode not in IN_BLOCKS:
        return "clusters", (
            f"{counted} With clusters the persons of each file are found, and all their records in both are linked;"
            " one_to_one would link one of each."
        )
    worse = max(several, key=lambda side: copies[side].equal + copies[side].near)
    assignment: Assignment = "many_to_one" if worse is Side.ALICE else "one_to_many"
    reason = (
        f"{counted} With {assignment} all their records in {worse.title()}'s file may be linked; one_to_one would link"
        " one of each."
    )
    if len(several) > 1:
        reason += (
            f" Mode {mode} has no assignment that allows several in both files: take those in"
            f" {worse.other.title()}'s out first, which `gemel duplicates` finds, or link in mode open by clusters."
        )
    return assignment, reason
