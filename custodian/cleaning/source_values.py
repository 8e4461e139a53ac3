"""The columns of a custodian's file as text, whatever their types in the source."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.language.message_words import nearest
from gemel.common.parties import Side
from gemel.common.specification import FieldSpec, Specification
from gemel.common.specification.model.defaults import DateOrder

MAX_CHARACTERS = 10_000
"""A longer value is not a name or address: an unclosed quote makes one value of half a file."""
_SHOWN_COLUMNS = 40
_WRITES_ITSELF = (pl.String, pl.Null, pl.Boolean, pl.Date, pl.Categorical, pl.Enum)
"""Types whose values are cast to text as they are."""
_PART_OF_DATE = r"^([0-9]{1,4}|[A-Za-z]{3,9})$"


def texts_of(frame: pl.DataFrame, spec: Specification, side: Side) -> Iterator[tuple[FieldSpec, pl.Series]]:
    """Each field with its values as text: those of its column, or of several joined by a blank.

    Raises `GemelError`: EMPTY_SOURCE if the file has no rows; FIELD_MISSING for a column that the file lacks, one
    error for each.
    """
    present = set(frame.columns)
    lacking = [(field, name) for field in spec.fields for name in field.columns_of(side) if name not in present]
    raise_all([_lacks(field, name, side, frame.columns) for field, name in lacking])
    if frame.is_empty():
        got = f"{frame.width} columns, 0 rows"
        remedy = "check that the export or query gives rows"
        raise GemelError(ErrorCode.EMPTY_SOURCE, "the file has no rows", where=f"{side}'s file", got=got, remedy=remedy)
    for field in spec.fields:
        parts = [as_text(frame[name], name, field, side) for name in field.columns_of(side)]
        read = field.read_in(side)
        yield read, _joined(parts, None if read.date is None else read.date.read_order)


def raise_all(errors: list[GemelError]) -> None:
    """Raise an error, or several as one, if there are any."""
    if errors:
        raise errors[0] if len(errors) == 1 else GemelErrors(errors[0].code, errors)


def _joined(parts: list[pl.Series], order: DateOrder | None) -> pl.Series:
    """Several columns as one, values joined by a blank; null where none has a value.

    Of the three parts of a date one that is not known is written as zeros: without its place, the day of a date of no
    known month would be read as the month.
    """
    if len(parts) == 1:
        return parts[0]
    # A blank value is no value: it leaves no blank behind.
    table = pl.DataFrame({str(place): part.str.strip_chars() for place, part in enumerate(parts)})
    table = table.select(pl.when(pl.all() != "").then(pl.all()))
    there = pl.any_horizontal(pl.all().is_not_null())
    joined = pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)
    if order is not None and len(parts) == len(order):
        are_parts = pl.all_horizontal(pl.all().str.contains(_PART_OF_DATE).fill_null(value=True))
        filled = [pl.col(str(place)).fill_null("0000" if part == "y" else "0") for place, part in enumerate(order)]
        dated = pl.concat_str(filled, separator=" ")
        joined = pl.when(are_parts).then(dated).otherwise(joined)
    return table.select(pl.when(there).then(joined)).to_series()


def as_text(column: pl.Series, name: str, field: FieldSpec, side: Side) -> pl.Series:
    """A column of a field as text; parameters and errors are those of `text_values`."""
    return text_values(column, f"field {field.name}", f"{side}'s column {name!r}")


def text_values(column: pl.Series, of: str, where: str) -> pl.Series:
    """A column's values as they would be written in a text file, null where there is none.

    Dates become ISO, which every date order reads. Numbers that a program made floating-point because some are missing
    become whole again: a postcode 2612.0 is 2612.
    """
    kind = column.dtype
    if kind.is_float():
        column = column.fill_nan(None)
        present = column.drop_nulls()
        whole = present.is_finite() & (present == present.round()) & (present.abs() < 2**53)
        if whole.all():
            column = column.cast(pl.Int64)
        text = column.cast(pl.String)
    elif kind in _WRITES_ITSELF or kind.is_integer() or kind.is_decimal():
        text = column.cast(pl.String)
    elif kind == pl.Datetime:
        text = column.dt.strftime("%Y-%m-%dT%H:%M:%S")
    else:
        what = f"the column of {of} does not hold single values"
        remedy = "export it as text, a number or a date"
        raise GemelError(ErrorCode.SOURCE, what, where=where, got=f"type {kind}", remedy=remedy)
    too_long = int((text.str.len_chars() > MAX_CHARACTERS).sum())
    if too_long:
        what = f"a value of {of} is longer than {MAX_CHARACTERS:,} characters"
        remedy = "look for a quote that is not closed or a wrong separator in the file"
        raise GemelError(ErrorCode.SOURCE, what, where=where, got=f"{too_long:,} such values", remedy=remedy)
    return text


def _lacks(field: FieldSpec, column: str, side: Side, columns: list[str]) -> GemelError:
    shown = ", ".join(columns[:_SHOWN_COLUMNS]) + (", ..." if len(columns) > _SHOWN_COLUMNS else "")
    likely = nearest(column, columns)
    hint = f"{likely} If so, " if likely.startswith("did") else ""
    what = f"there is no column {column!r} for field {field.name}"
    got = f"the columns {shown}" if columns else "no columns"
    remedy = f"{hint}name its column in the specification with `columns: {{{side}: ...}}`, or add it to the file"
    return GemelError(ErrorCode.FIELD_MISSING, what, where=f"{side}'s file", got=got, remedy=remedy)
