"""The text of a database's cells: one definition, value by value, and the same for whole columns.

A database's types are finer than a file's, and each cell is written by its own value: a whole number without decimals
beside one with some. How the rows came, through a driver's Python objects or as Arrow columns, does not show.
"""

from __future__ import annotations

import datetime
import decimal
import os
import zoneinfo
from collections.abc import Callable
from functools import partial

import polars as pl
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import read_private
from gemel.records.sources import DatabaseSource


def stated_url(source: DatabaseSource) -> str:
    if source.url_file is not None:
        return read_private(source.url_file, "the database's URL").decode("utf-8", errors="replace").strip()
    if source.url_variable is not None:
        url = os.environ.get(source.url_variable, "").strip()
        if not url:
            what = f"the environment variable {source.url_variable} is not set"
            remedy = "set it to the database's URL where the service is started"
            raise GemelError(ErrorCode.CONFIGURATION, what, where="source.database.url_variable", remedy=remedy)
        return url
    assert source.url is not None  # noqa: S101
    return source.url


def parts(url: str) -> URL:
    """What a URL consists of; CONFIGURATION for a text that is no URL; it is not shown."""
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # ValueError: a port that is no number, which the message would show.
        raise unknown_url() from None


def unknown_url() -> GemelError:
    """The error (CONFIGURATION) for a URL that names no known database."""
    what = "the database's URL is not one that SQLAlchemy knows"
    return bad_url(what, "write it as dialect+driver://user:password@host:port/database")


def bad_url(what: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.CONFIGURATION, what, where="source.database", remedy=remedy)


WHERE = "the database query"
_WHOLE = 2**53
"""From here floating-point numbers are not every whole number."""
_PLAIN_DECIMAL = r"^-?[1-9]\d*(\.\d+)?$|^-?0\.\d{1,6}$|^0$"
"""Decimals that `str` of one writes as they are, without an exponent."""
_DAYS = (datetime.date.min.toordinal() - 719_163, datetime.date.max.toordinal() - 719_163)
_RANGES = {pl.Date: _DAYS, pl.Datetime: (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)}
"""Least and greatest count of what Python's own types hold; PostgreSQL has infinity and years after 9999."""


def refused_query(kind: str) -> GemelError:
    """The error (SOURCE) for a database that refuses; of its own message only the kind, as it quotes values."""
    what = "the database refused the connection or the query"
    remedy = "run the query with the database's own client to see why"
    return GemelError(ErrorCode.SOURCE, what, where=WHERE, got=kind, remedy=remedy)


def no_text(column: str, kind: str) -> GemelError:
    what = f"column '{column}' is of a type that has no text form"
    remedy = "cast it to text, number or date in the query"
    return GemelError(ErrorCode.SOURCE, what, where=WHERE, got=kind, remedy=remedy)


def cell_text(value: object, column: str) -> str | None:
    """A cell as the text a person would write."""
    match value:
        case None:
            return None
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else repr(value)
        case decimal.Decimal():
            whole = value == value.to_integral_value() if value.is_finite() else False
            # By way of `int` it could not have more than 4300 digits.
            return str(value) if not whole else f"{value.to_integral_value():f}" if value else "0"
        case datetime.datetime():
            midnight = value.time() == datetime.time()
            # Not `strftime`, which writes years before 1000 with fewer digits.
            return value.date().isoformat() if midnight else value.replace(tzinfo=None).isoformat(timespec="seconds")
        case datetime.date():
            return value.isoformat()
        case bytes() | bytearray() | memoryview() | list() | dict() | tuple():
            raise no_text(column, type(value).__name__)
        case _:
            # UUIDs and the like write themselves.
            return str(value)


def column_text(values: pl.Series, column: str, before: int = 0) -> pl.Series:
    """`cell_text` of each value of a column of text, numbers, booleans, dates or times without a zone."""
    kind, text_of = values.dtype, partial(cell_text, column=column)
    _check_range(values, column, before)
    if kind == pl.String:
        return values
    if kind.is_integer() or kind == pl.Boolean:
        return values.cast(pl.String)
    if kind == pl.Float32:
        # The number that its shortest text is, as PostgreSQL writes it, and not the nearest of twice the precision.
        return column_text(values.cast(pl.String).cast(pl.Float64), column, before)
    if kind == pl.Float64:
        whole = (values == values.floor()) & (values.abs() < _WHOLE)
        return _except(values.cast(pl.Int64, strict=False).cast(pl.String), ~whole, values, text_of)
    if kind == pl.Date:
        return values.dt.to_string("%Y-%m-%d")
    if isinstance(kind, pl.Datetime) and kind.time_zone is None:
        other = values.dt.time() != datetime.time()
        days = values.dt.to_string("%Y-%m-%d")
        return days.zip_with(~other, values.dt.to_string("%Y-%m-%dT%H:%M:%S"))
    if kind == pl.Time:
        return _each(values, text_of)
    raise no_text(column, str(kind.base_type()))


def decimal_text(values: pl.Series, column: str) -> pl.Series:
    """`cell_text` of decimals that are given in digits, as the database writes them."""
    whole = values.str.replace(r"^(-?\d+)\.0+$", "${1}")
    other = ~whole.str.contains(_PLAIN_DECIMAL)
    return _except(whole, other, values, lambda text: cell_text(decimal.Decimal(str(text)), column))


def uuid_text(values: pl.Series) -> pl.Series:
    """`cell_text` of UUIDs that are given as their 16 bytes."""
    digits = values.bin.encode("hex")
    return digits.str.replace(r"^(.{8})(.{4})(.{4})(.{4})(.{12})$", "${1}-${2}-${3}-${4}-${5}")


def zoned_text(values: pl.Series, column: str, zone: zoneinfo.ZoneInfo, before: int = 0) -> pl.Series:
    """`cell_text` of moments in UTC as a clock in a time zone showed them. By Python's own table of zones, which
    drivers use too; polars has another, which differs for years before 1970."""
    _check_range(values, column, before)
    texts: list[str | None] = []
    for row, moment in enumerate(values.to_list(), before + 1):
        try:
            texts.append(None if moment is None else cell_text(moment.astimezone(zone), column))
        except OverflowError:
            raise out_of_range(column, row) from None
    return pl.Series(values.name, texts, dtype=pl.String)


def _check_range(values: pl.Series, column: str, before: int) -> None:
    """Refuse (SOURCE) dates and times that Python's own types cannot hold."""
    if (limits := _RANGES.get(values.dtype.base_type())) is None:
        return
    outside = ~values.to_physical().is_between(*limits)
    if outside.any():
        raise out_of_range(column, before + int(outside.arg_true()[0]) + 1)


def out_of_range(column: str, row: int) -> GemelError:
    """The error (SOURCE) for a date or time that Python's own types cannot hold."""
    what = f"column '{column}' has a date outside of the years 1 to 9999, or a time that no clock shows"
    remedy = "leave such rows out of the query, or cast the column to text"
    return GemelError(ErrorCode.SOURCE, what, where=f"{WHERE}, row {row}", remedy=remedy)


def _except(texts: pl.Series, rest: pl.Series, values: pl.Series, text: Callable[[object], str | None]) -> pl.Series:
    """The texts, but of the rest of the values one by one."""
    places = rest.fill_null(False).arg_true()
    return texts.scatter(places, _each(values.gather(places), text)) if len(places) else texts


def _each(values: pl.Series, text: Callable[[object], str | None]) -> pl.Series:
    texts = [None if value is None else text(value) for value in values.to_list()]
    return pl.Series(values.name, texts, dtype=pl.String)
