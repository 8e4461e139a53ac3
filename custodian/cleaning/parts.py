"""The parts of a field's cleaned values that blocking keys and salts use."""

from __future__ import annotations

import polars as pl

from gemel.common.arrays import Columns
from gemel.common.specification import BlockingKey, FieldSpec, Specification
from gemel.custodian.cleaning.definition import clean_value

_PLACES = {"year": (0, 4), "month": (4, 2), "day": (6, 2)}  # in YYYYMMDD: start, length


def part_of(key: BlockingKey, field: FieldSpec) -> pl.Expr:
    """The part of a field's column that a key uses, null where that is missing.

    A date of which a part that the specification compares is unknown is missing as a whole.
    """
    value = pl.col(field.name)
    if key.part is not None:
        return _date_part(value, key.part)
    if field.date is not None:
        known = [_date_part(value, part).is_not_null() for part in field.date.parts]
        value = pl.when(pl.all_horizontal(known)).then(value)
    return value if key.prefix is None else value.str.head(key.prefix)


def salt_text(columns: Columns, spec: Specification, field: FieldSpec) -> pl.Series | None:
    """The attribute that each row's value of a field is salted by, null where it is missing; None without a salt."""
    if field.salt is None:
        return None
    frame = columns[field.salt.field].alias(field.salt.field).to_frame()
    salt = part_of(field.salt, spec.field(field.salt.field))
    return frame.select(pl.when(salt != "").then(salt).alias("salt")).to_series()


def _date_part(value: pl.Expr, part: str) -> pl.Expr:
    start, length = _PLACES[part]
    digits = value.str.slice(start, length)
    return pl.when(digits != "0" * length).then(digits)


def similar_values(field: FieldSpec) -> frozenset[str] | None:
    """The cleaned values of a field whose similarity can be estimated; None where that is all of them.

    Some 20 microseconds a value.
    """
    if not field.only_similar:
        return None
    return frozenset(cleaned for value in field.only_similar if (cleaned := clean_value(value, field)) is not None)


def listed_in(column: pl.Series, field: FieldSpec) -> pl.Series | None:
    """Which of a field's cleaned values are on its list `only_similar`, null where missing; None without a list."""
    similar = similar_values(field)
    return None if similar is None else column.is_in(pl.Series(sorted(similar), dtype=pl.String).implode())
