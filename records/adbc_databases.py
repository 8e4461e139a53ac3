"""What ADBC's drivers need, each in its own way, to give every cell the text that it has through SQLAlchemy.

- SQLite has types of values, not of columns. Its driver takes a column's type from the first batch, refuses a text in
  a column that was empty until then, and writes numbers among text in another way. Therefore each column is asked for
  as three whose types are certain: its text, its floating-point number, and which of the two holds.
- PostgreSQL's types are known by their names: an amount of money arrives as whole hundredths, which a number does not
  tell. What is not in the list of types is refused, and can be cast to text in the query. Text comes in the encoding of
  the database unless another is asked for.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.database_cells import (
    WHERE,
    bad_url,
    column_text,
    decimal_text,
    no_text,
    out_of_range,
    parts,
    uuid_text,
    zoned_text,
)

_ROWS_AT_ONCE = 20_000
_BYTES_AT_ONCE = 1 << 22
"""Of a batch of PostgreSQL, as its driver estimates it: some ten thousand rows."""
_BY_COLUMN = frozenset({"bool", "int2", "int4", "int8", "float4", "float8", "date", "timestamp", "time"})
"""PostgreSQL's types whose Arrow columns are the values."""

Cells = Iterator[list[pl.Series]]


# What differs from database to database. `driver` is the package of its driver, whose `dbapi` makes a connection;
# `first` are statements by which the transaction may not write.


class Sqlite:
    """A file of SQLite."""

    driver = "adbc_driver_sqlite"
    first: tuple[str, ...] = ("PRAGMA query_only = ON",)

    def uri(self, url: str) -> str:
        """The file, which is not made if it is not there."""
        stated = parts(url)
        if not stated.database or stated.query:
            raise bad_url("the URL of a file of SQLite is its path and no more", "write it as sqlite+adbc:////path")
        return f"file:{quote(stated.database)}?mode=rw"

    def names(self, connection: Any, query: str) -> list[str]:
        """Without running the query, unless SQLite may have numbered them, as it does where one occurs twice."""
        names = self._described(connection, f"SELECT * FROM (\n{query}) WHERE 0")  # noqa: S608
        if any(name.rpartition(":")[2].isdecimal() for name in names):
            return self._described(connection, query)
        return names

    def cells(self, connection: Any, query: str, width: int, chosen: Mapping[str, int]) -> Cells:
        """Of each column its text, or whole number as text, its floating-point number, and what it is."""
        selected = ", ".join(
            f"CASE typeof(c{place}) WHEN 'text' THEN c{place} WHEN 'integer' THEN CAST(c{place} AS TEXT) ELSE '' END, "
            f"CASE typeof(c{place}) WHEN 'real' THEN c{place} ELSE 0.0 END, "
            f"(typeof(c{place}) = 'real') + 2 * (typeof(c{place}) = 'blob')"
            for place in chosen.values()
        )
        columns = ", ".join(f"c{place}" for place in range(width))
        # With LIMIT and OFFSET the query is evaluated once a row, not again in each expression, and keeps its order.
        typed = (
            f"WITH gemel_rows_read({columns}) AS (SELECT * FROM (\n{query}) LIMIT -1 OFFSET 0) "  # noqa: S608
            f"SELECT {selected} FROM gemel_rows_read"
        )
        before = 0
        for batch in _batches(connection, typed, {"adbc.sqlite.query.batch_rows": str(_ROWS_AT_ONCE)}):
            yield [
                _one_of([_series(batch.column(3 * place + part), name, before) for part in range(3)], name, before)
                for place, name in enumerate(chosen)
            ]
            before += batch.num_rows

    @staticmethod
    def _described(connection: Any, query: str) -> list[str]:
        with connection.cursor(adbc_stmt_kwargs={"adbc.sqlite.query.batch_rows": "1"}) as cursor:
            cursor.execute(query)
            return [name for name, *_ in cursor.description]


class Postgresql:
    """A PostgreSQL server."""

    driver = "adbc_driver_postgresql"
    first: tuple[str, ...] = ("SET TRANSACTION READ ONLY", "SET LOCAL client_encoding TO 'UTF8'")

    def uri(self, url: str) -> str:
        """What is behind the scheme is as libpq reads it."""
        return "postgresql" + url[url.index(":") :]

    def names(self, connection: Any, query: str) -> list[str]:
        """As the server prepares the query, without running it."""
        with connection.cursor() as cursor:
            return list(cursor.adbc_execute_schema(query).names)

    def cells(self, connection: Any, query: str, width: int, chosen: Mapping[str, int]) -> Cells:
        """By the types that the server names."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('TimeZone')")
            (zone,) = cursor.fetchone()
        before = 0
        for batch in _batches(connection, query, {"adbc.postgresql.batch_size_hint_bytes": str(_BYTES_AT_ONCE)}):
            yield [
                _typed_text(batch.column(place), batch.schema.field(place).metadata or {}, name, zone, before)
                for name, place in chosen.items()
            ]
            before += batch.num_rows


Database = Sqlite | Postgresql
DATABASES: dict[str, Database] = {"postgresql": Postgresql(), "sqlite": Sqlite()}


def _batches(connection: Any, query: str, options: dict[str, str]) -> Iterator[Any]:
    with connection.cursor(adbc_stmt_kwargs=options) as cursor:
        cursor.execute(query)
        yield from cursor.fetch_record_batch()


def _one_of(three: Sequence[pl.Series], column: str, before: int) -> pl.Series:
    """A column of SQLite from its text, its number, and which of them each value is."""
    text, number, kind = three
    if (kind == 2).any():
        raise no_text(column, "bytes")
    return text.zip_with(kind == 0, column_text(number, column, before)) if (kind == 1).any() else text


def _typed_text(values: Any, field: Mapping[bytes, bytes], column: str, zone: str, before: int) -> pl.Series:
    """A column of PostgreSQL by what its field states of it; `zone` is the session's."""
    kind = field.get(b"POSTGRESQL:type", b"").decode()
    # JSON and others are text in an extension type, which versions of Arrow that do not know it give as plain text.
    extended = hasattr(values, "storage") or b"ARROW:extension:name" in field
    values = values.storage if hasattr(values, "storage") else values
    if values.null_count == len(values):
        return pl.Series(column, [None] * len(values), dtype=pl.String)
    if kind == "numeric":
        return decimal_text(_series(values, column, before), column)
    if kind == "uuid":
        return uuid_text(_series(values, column, before))
    if kind == "timestamptz":
        return zoned_text(_series(values, column, before), column, _known(zone, column), before)
    if kind in _BY_COLUMN or (str(values.type) == "string" and not extended):
        return column_text(_series(values, column, before), column, before)
    raise no_text(column, kind or str(values.type))


def _known(zone: str, column: str) -> zoneinfo.ZoneInfo:
    """The time zone in which the server would write moments."""
    try:
        return zoneinfo.ZoneInfo(zone)
    except (LookupError, ValueError, OSError):
        what = f"column '{column}' has moments, and the session's time zone is not a known one"
        remedy = "write `AT TIME ZONE` in the query, or give the session a time zone such as Europe/Berlin"
        raise GemelError(ErrorCode.SOURCE, what, where=WHERE, got=zone, remedy=remedy) from None


def _series(values: Any, column: str, before: int) -> pl.Series:
    """An Arrow column as one of polars, which takes text for UTF-8 without looking."""
    try:
        if str(values.type) == "string":
            values.validate(full=True)
    except ValueError:
        what = f"column '{column}' has text that is not UTF-8"
        remedy = "correct it in the database, or convert it in the query"
        raise GemelError(ErrorCode.SOURCE, what, where=WHERE, remedy=remedy) from None
    series = pl.Series(column, values)
    if series.null_count() != values.null_count:
        # A time of day that polars does not know, such as 24:00.
        lost = series.is_null() & pl.Series(values.is_valid())
        raise out_of_range(column, before + int(lost.arg_true()[0]) + 1)
    return series
