"""A first specification, proposed from the columns that two files share, with a comment on each choice.

It is a starting point for a person: it reads both files, so it belongs where both may be read, on test data or on
samples. No value of theirs gets into the specification or a comment: kinds, shares and counts only.

The choices are those that linked best on files of which the truth is known; see `common.specification.defaults` for
what a kind brings, `draft_columns` for how kinds are told, `draft_blocking` for the rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from carole.coordinator.draft_blocking import PAIRS_PER_ROW, propose_rules
from carole.coordinator.draft_columns import (
    LONG,
    NEARLY_EMPTY,
    Pair,
    Shape,
    date_orders,
    field_name,
    hint_of,
    identifier_of,
    is_own_number,
    kind_of,
    overlap,
    pair_columns,
    shape_of,
    text_of,
)
from common.cleaning import clean
from common.errors import ErrorCode, TrystError
from common.parties import Side
from common.specification import (
    BlockingRule,
    Columns,
    Custodian,
    Custodians,
    DateFormat,
    FieldSpec,
    Retention,
    Specification,
)
from common.specification.defaults import KINDS, LEVELS, Kind, Mode
from common.specification.model import PROJECT_PATTERN
from common.specification.section import MAX_COLUMN_NAME
from common.specification.widening import widened

ALL_PAIRS = 50_000_000
"""Up to so many pairs all are compared: it takes seconds, and blocking loses matches."""
MAX_FIELDS = 15
"""More say nothing new, and their comparison patterns no longer fit."""

_RETENTION = Retention(uploads_days=7, results_days=30, maps_days=90)

_HEAD = """\
A draft by `tryst spec draft`, from the columns both files share. Every choice has its reason above it; read them, \
change what you know better, then `tryst spec check` it and try it out with `tryst rehearse`.
What a kind means, unless the field says otherwise:
{defaults}"""
_MODE = (
    "open: who receives the signatures can tell equal and similar values, though not read them. `tryst spec check` says"
    " more."
)
_MODE_BLOCK_KEYED = (
    "block_keyed: who receives the signatures can compare two values inside a block of a blocking rule only. `tryst"
    " spec check` says more, and `tryst alice leakage` measures what is left."
)
_RETENTION_REMARK = "After how many days what is kept is erased. These numbers are placeholders: agree on your own."


@dataclass
class _Draft:
    """The draft while it grows."""

    bits: int | None
    flip: float
    fields: list[FieldSpec] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """One per field."""
    left_out: list[str] = field(default_factory=list)


def draft(
    alice: pl.DataFrame,
    bob: pl.DataFrame,
    project: str,
    block: bool | None = None,
    mode: Mode | None = "open",
    *,
    bits: int | None = None,
    flip: float = 0.0,
) -> tuple[Specification, dict[str, str]]:
    """Propose a specification for linking two files.

    Parameters
    ----------
    alice, bob
        The two files, or samples of them with the same columns.
    project
        The project's name.
    block
        Whether to propose blocking rules; None: when there are more than `ALL_PAIRS` pairs, or the mode needs them.
    mode
        open; or block_keyed, which is nothing without blocking rules; None: block_keyed where rules are proposed.
    bits, flip
        Length of the signatures of names and texts (None: as their kind has it) and the probability with which their
        bits are flipped. Their levels are those that can then be told apart.

    Returns
    -------
    Specification
        A valid specification.
    dict of str
        Comments by path, for `dump_specification`.

    Raises
    ------
    TrystError
        SPECIFICATION if the files share no column worth comparing, one has no column of identifiers, or such bits tell
        nothing; PARAMETER if `bits` is no length of signatures; EMPTY_SOURCE if one has no rows. In mode block_keyed
        also if no blocking rule can be found.
    """
    if not re.fullmatch(PROJECT_PATTERN, project):
        raise TrystError(
            ErrorCode.PARAMETER,
            "this cannot be a project's name",
            where="project",
            got=repr(project[:80]),
            remedy="use 1 to 64 of a-z, 0-9 and -, beginning with a letter or digit",
        )
    if mode == "block_keyed" and block is False:
        raise TrystError(
            ErrorCode.PARAMETER,
            "mode block_keyed needs blocking rules",
            where="mode",
            got="no blocking",
            remedy="let it propose rules, or draft for mode open",
        )
    if bits is not None and (bits % 64 or not 64 <= bits <= 8192):
        raise TrystError(
            ErrorCode.PARAMETER,
            "signatures have a multiple of 64 bits, from 64 to 8192",
            where="bits",
            got=str(bits),
            remedy="give 1024, or 256 to let Carole see less",
        )
    alice, bob = _with_usable_names(alice, Side.ALICE), _with_usable_names(bob, Side.BOB)
    ours = {column: text_of(alice[column]) for column in alice.columns}
    theirs = {column: text_of(bob[column]) for column in bob.columns}
    identifiers = {Side.ALICE: _identifier(alice, ours, Side.ALICE), Side.BOB: _identifier(bob, theirs, Side.BOB)}
    drafted = _Draft(bits, flip)
    for pair in pair_columns(alice.columns, bob.columns):
        if identifiers[Side.ALICE] == pair.alice or identifiers[Side.BOB] == pair.bob:
            drafted.left_out.append(f"{pair.alice}: an identifier of a custodian's own.")
            continue
        _consider(drafted, pair, ours[pair.alice], theirs[pair.bob])
    _name_unpaired(drafted, alice.columns, bob.columns, identifiers)
    if not drafted.fields:
        raise TrystError(
            ErrorCode.SPECIFICATION,
            "the files share no column that is worth comparing",
            got=f"alice's {', '.join(alice.columns[:40])}; bob's {', '.join(bob.columns[:40])}",
            remedy="give columns that hold the same the same name, or write the specification by hand",
        )
    unblocked = _specification(project, identifiers, drafted.fields, (), "open")
    comments = _comments(drafted, identifiers)
    pairs = alice.height * bob.height
    if not (pairs > ALL_PAIRS or mode == "block_keyed" if block is None else block):
        why = f"up to {ALL_PAIRS:,} that is quick" if pairs <= ALL_PAIRS else "that takes long"
        comments["blocking"] = (
            f"No rules: all {pairs:,} pairs are compared; {why}, and loses no match. `tryst spec draft --block`"
            " proposes rules."
        )
        return unblocked, comments
    proposals = propose_rules(
        drafted.fields,
        clean(alice, unblocked, Side.ALICE).columns,
        clean(bob, unblocked, Side.BOB).columns,
        block_keyed=mode != "open",
    )
    comments["blocking"] = _blocking_remark(pairs, len(proposals))
    for position, proposal in enumerate(proposals):
        comments[f"blocking[{position}]"] = f"{proposal.pairs:,} pairs."
    mode = mode or ("block_keyed" if proposals else "open")
    if mode == "block_keyed":
        comments["mode"] = _MODE_BLOCK_KEYED
    return _specification(project, identifiers, drafted.fields, tuple(p.rule for p in proposals), mode), comments


def _with_usable_names(frame: pl.DataFrame, side: Side) -> pl.DataFrame:
    if frame.is_empty():
        raise TrystError(
            ErrorCode.EMPTY_SOURCE, "the file has no rows", where=f"{side}'s file", got=f"{frame.width} columns, 0 rows"
        )
    return frame.select(column for column in frame.columns if 0 < len(column) <= MAX_COLUMN_NAME)


def _identifier(frame: pl.DataFrame, texts: dict[str, pl.Series | None], side: Side) -> str:
    identifier = identifier_of(frame, texts)
    if identifier is None:
        raise TrystError(
            ErrorCode.SPECIFICATION,
            "no column identifies the rows: none has a value of its own in every row",
            where=f"{side}'s file",
            got=f"the columns {', '.join(frame.columns[:40])}",
            remedy="add a column with a number of its own for each row, named id",
        )
    return identifier


def _consider(drafted: _Draft, pair: Pair, ours: pl.Series | None, theirs: pl.Series | None) -> None:
    """Add a pair of columns as a field, or say why not."""
    if ours is None or theirs is None:
        drafted.left_out.append(f"{pair.alice}: holds no single values.")
        return
    alice, bob = shape_of(ours), shape_of(theirs)
    hint = hint_of(pair.alice) or hint_of(pair.bob)
    kind, reason = kind_of(hint, alice, bob)
    why_not = _useless(pair, hint, alice, bob)
    if not why_not and kind != "date" and not overlap(ours, theirs):
        why_not = "no value of it occurs in both files"
    if not why_not and len(drafted.fields) == MAX_FIELDS:
        why_not = f"{MAX_FIELDS} fields are enough"
    order, doubt = None, ""
    if not why_not and kind == "date":
        orders = date_orders(alice, bob)
        if not orders:
            why_not = (
                "the two files write dates in different orders, and a field has one; write them year first"
                " (YYYY-MM-DD) in one of the files"
            )
        elif len(orders) > 1 and "ymd" not in orders:
            doubt = f" CHECK THE ORDER: every value can be read as {' and as '.join(orders)}."
        order = orders[0] if orders else None
    if why_not:
        drafted.left_out.append(f"{pair.alice}: {why_not}.")
        return
    name = field_name(pair.alice, [known.name for known in drafted.fields])
    same = pair.alice == pair.bob
    drafted.fields.append(
        FieldSpec(
            name=name,
            kind=kind,
            column=pair.alice if same and pair.alice != name else None,
            columns=None if same else Columns(alice=pair.alice, bob=pair.bob),
            date=DateFormat(order=order) if order is not None else None,
            **_signature(kind, drafted),
        )
    )
    renamed = "" if pair.same_name else f" {pair.alice} and {pair.bob} seem to mean the same: check."
    drafted.remarks.append(f"{kind.capitalize()}: {reason}. {_filled(alice, bob)}{doubt}{renamed}")


def _signature(kind: Kind, drafted: _Draft) -> dict[str, Any]:
    """Attributes of a field that decide what its signatures tell, where names and texts are not to have the default."""
    if kind not in ("name", "text") or (drafted.bits is None and not drafted.flip):
        return {}
    default = KINDS[kind]
    bits, table = drafted.bits or default.bits, LEVELS[default.levels]
    bounds = widened(table, bits, drafted.flip)
    return {"bits": bits, "flip": drafted.flip, "levels": default.levels if bounds == table else bounds}


def _useless(pair: Pair, hint: str, alice: Shape, bob: Shape) -> str:
    """Why a column does not help, or nothing."""
    if min(alice.filled, bob.filled) <= 1 - NEARLY_EMPTY:
        return f"nearly empty, {alice.filled:.0%} and {bob.filled:.0%} of the rows have a value"
    if alice.distinct <= 1 or bob.distinct <= 1:
        return "all rows of a file have the same value"
    if hint == "own":
        return "says when a row was written, not who the person is"
    if (
        is_own_number(pair.alice)
        and is_own_number(pair.bob)
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


def _name_unpaired(drafted: _Draft, alice: list[str], bob: list[str], identifiers: dict[Side, str]) -> None:
    pairs = pair_columns(alice, bob)
    paired = {Side.ALICE: {pair.alice for pair in pairs}, Side.BOB: {pair.bob for pair in pairs}}
    for side, columns in ((Side.ALICE, alice), (Side.BOB, bob)):
        alone = [column for column in columns if column not in paired[side] and column != identifiers[side]]
        if alone:
            drafted.left_out.append(
                f"Only in {side}'s file: {', '.join(alone)}. If the other has it under another name, add it with"
                " `columns: {alice: ..., bob: ...}`."
            )


def _specification(
    project: str,
    identifiers: dict[Side, str],
    fields: list[FieldSpec],
    rules: tuple[BlockingRule, ...],
    mode: Mode,
) -> Specification:
    return Specification(
        version=1,
        project=project,
        mode=mode,
        custodians=Custodians(
            alice=Custodian(identifier=identifiers[Side.ALICE]), bob=Custodian(identifier=identifiers[Side.BOB])
        ),
        fields=tuple(fields),
        blocking=rules,
        retention=_RETENTION,
    )


def _comments(drafted: _Draft, identifiers: dict[Side, str]) -> dict[str, str]:
    kinds = {known.kind: known.defaults for known in drafted.fields}
    defaults = "\n".join(
        f"- {kind}: {d.meaning}; cleaned by {', '.join(d.clean)}; tokens {d.tokens}, {d.bits} bits, levels {d.levels}"
        for kind, d in kinds.items()
    )
    left_out = "\n".join(f"Left out: {line}" if not line.startswith("Only") else line for line in drafted.left_out)
    return {
        "": _HEAD.format(defaults=defaults),
        "mode": _MODE,
        "custodians": "The columns with each custodian's own identifiers. They stay with the custodian.",
        "fields": left_out,
        "retention": _RETENTION_REMARK,
        **{f"fields[{position}]": remark for position, remark in enumerate(drafted.remarks)},
    }


def _blocking_remark(pairs: int, rules: int) -> str:
    if not rules:
        return f"No rule could be found: none of the fields can block. All {pairs:,} pairs are compared."
    return (
        f"Of {pairs:,} pairs, those are compared that agree on the keys of at least one rule. A rule is taken when it"
        f" compares at most {PAIRS_PER_ROW} pairs per row; rules on different fields catch each other's losses."
    )
