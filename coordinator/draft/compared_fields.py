"""Which columns of two files become compared fields of a draft, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tryst.common.parties import Side
from tryst.common.specification import Columns, DateFormat, FieldSpec
from tryst.common.specification.model.defaults import KINDS, LEVELS, Kind
from tryst.common.specification.model.noise_tolerance import tolerant_bounds
from tryst.coordinator.draft.shared_columns import (
    LONG,
    NEARLY_EMPTY,
    Pair,
    Shape,
    date_orders,
    field_name,
    hint_of,
    is_own_number,
    kind_of,
    overlap,
    pair_columns,
    shape_of,
)

MAX_FIELDS = 15
"""More add no information, and their comparison patterns no longer fit."""


@dataclass
class ProposedFields:
    """The fields of a draft."""

    bits: int | None
    randomised_response: float
    fields: list[FieldSpec] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    """One per field."""
    left_out: list[str] = field(default_factory=list)
    """Columns that are no fields, and why."""


def propose_fields(
    alice: Mapping[str, pl.Series | None],
    bob: Mapping[str, pl.Series | None],
    identifiers: Mapping[Side, str],
    bits: int | None,
    randomised_response: float,
) -> ProposedFields:
    """The fields worth comparing, in the order of Alice's columns.

    Parameters
    ----------
    alice, bob
        Each file's columns as texts, None for one of no single values.
    identifiers
        Each file's column of identifiers.
    bits, randomised_response
        As for `draft`.
    """
    drafted = ProposedFields(bits, randomised_response)
    pairs = pair_columns(alice, bob)
    for pair in pairs:
        if identifiers[Side.ALICE] == pair.alice or identifiers[Side.BOB] == pair.bob:
            drafted.left_out.append(f"{pair.alice}: an identifier of a custodian's own.")
            continue
        _consider(drafted, pair, alice[pair.alice], bob[pair.bob])
    paired = {Side.ALICE: {pair.alice for pair in pairs}, Side.BOB: {pair.bob for pair in pairs}}
    for side, columns in ((Side.ALICE, alice), (Side.BOB, bob)):
        alone = [column for column in columns if column not in paired[side] and column != identifiers[side]]
        if alone:
            drafted.left_out.append(
                f"Only in {side}'s file: {', '.join(alone)}. If the other has it under another name, add it with"
                " `columns: {alice: ..., bob: ...}`."
            )
    return drafted


def _consider(drafted: ProposedFields, pair: Pair, ours: pl.Series | None, theirs: pl.Series | None) -> None:
    """Add a pair of columns as a field, or note why it is left out."""
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
    drafted.comments.append(f"{kind.capitalize()}: {reason}. {_filled(alice, bob)}{doubt}{renamed}")


def _signature(kind: Kind, drafted: ProposedFields) -> dict[str, Any]:
    """Attributes of a field that decide what its signatures disclose, where names and texts differ from the default."""
    if kind not in ("name", "text") or (drafted.bits is None and not drafted.randomised_response):
        return {}
    default = KINDS[kind]
    bits, table = drafted.bits or default.bits, LEVELS[default.levels]
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
