"""The rows of a database query, read through SQLAlchemy in a transaction that may not write.

A driver's own message is never passed on: databases quote the value that did not fit. Cells become text one by one, by
their own type: `polars.read_database` infers a type for each batch, so that a number's text would depend on its
neighbours, and a value that fits no type (a date in a column of text, a decimal that is not a number) ends in a
message, or in a panic written to standard error, with the value in it.
"""

from __future__ import annotations

import datetime
import decimal
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.private_files import read_private
from tryst.common.missing_module import missing_module
from tryst.common.records.sources import DatabaseSource
from tryst.common.records.table import SourceTable, require_columns, trimmed

_ROWS_AT_ONCE = 20_000
_WHERE = "the database query"


def database_batches(source: DatabaseSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Run the query and read the selected columns, or all, as text, some rows at a time.

    Yields
    ------
    SourceTable
        At least one, which may be without rows.

    Raises
    ------
    TrystError
        CONFIGURATION for a missing or malformed URL, MODULE_MISSING for a missing driver, SOURCE when the database
        refuses, FIELD_MISSING for a column that the query does not give.
    """
    engine = open_engine(source)
    try:
        with engine.connect() as connection:
            # no_parameters: a % or : in the query is the query's own.
            options: dict[str, Any] = {"stream_results": True, "no_parameters": True}
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            elif engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
            result = connection.execution_options(**options).exec_driver_sql(source.query)
            available = [name.strip() for name in result.keys()]  # noqa: SIM118 - a result, no mapping
            columns = available if columns is None else columns
            require_columns(available, columns, _WHERE)
            places = [available.index(name) for name in columns]
            yield _table(_frame(columns, [[] for _ in columns]), 0)
            before = 0
            for rows in result.partitions(_ROWS_AT_ONCE):
                cells = [[_text(row[place], name) for row in rows] for name, place in zip(columns, places, strict=True)]
                yield _table(_frame(columns, cells), before)
                before += len(rows)
    except SQLAlchemyError as error:
        raise TrystError(
            ErrorCode.SOURCE,
            "the database refused the connection or the query",
            where=_WHERE,
            got=_kind(error),
            remedy="run the query with the database's own client to see why",
        ) from None
    finally:
        engine.dispose()


def _table(frame: pl.DataFrame, before: int) -> SourceTable:
    """Rows of the query after so many."""
    return SourceTable(frame, np.arange(before + 1, before + frame.height + 1, dtype=np.int64), "row", _WHERE)


def open_engine(source: DatabaseSource) -> sqlalchemy.Engine:
    """An engine for the source's database; it is not called yet.

    Raises
    ------
    TrystError
        CONFIGURATION, MODULE_MISSING.
    """
    return _engine(_url(source))


def _frame(columns: Sequence[str], cells: list[list[str | None]]) -> pl.DataFrame:
    return pl.DataFrame(
        {name: trimmed(pl.Series(name, values, dtype=pl.String)) for name, values in zip(columns, cells, strict=True)}
    )


def _url(source: DatabaseSource) -> str:
    if source.url_file is not None:
        return read_private(source.url_file, "the database's URL").decode("utf-8", errors="replace").strip()
    if source.url_variable is not None:
        url = os.environ.get(source.url_variable, "").strip()
        if not url:
            raise TrystError(
                ErrorCode.CONFIGURATION,
                f"the environment variable {source.url_variable} is not set",
                where="source.database.url_variable",
                remedy="set it to the database's URL where the service is started",
            )
        return url
    assert source.url is not None  # noqa: S101
    return source.url


def _engine(url: str) -> sqlalchemy.Engine:
    try:
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError):
        what = "the database's URL is not one that SQLAlchemy knows"
        remedy = "write it as dialect+driver://user:password@host:port/database"
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    except ImportError:
        # PostgreSQL's driver without the library that it calls.
        what, remedy = "the database's driver cannot be loaded", "pip install 'tryst[postgres]', which has all of it"
    raise TrystError(ErrorCode.CONFIGURATION, what, where="source.database", remedy=remedy)


def _kind(error: SQLAlchemyError) -> str:
    """What may be shown of a database's error: its class and its SQLSTATE."""
    original = getattr(error, "orig", None)
    state = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    name = type(original or error).__name__
    return f"{name} {state}" if isinstance(state, str) else name


def _text(value: object, column: str) -> str | None:
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
            return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
        case decimal.Decimal():
            whole = value == value.to_integral_value() if value.is_finite() else False
            return str(int(value)) if whole else str(value)
        case datetime.datetime():
            midnight = value.time() == datetime.time()
            return value.strftime("%Y-%m-%d") if midnight else value.strftime("%Y-%m-%dT%H:%M:%S")
        case datetime.date():
            return value.isoformat()
        case _:
            # UUIDs and the like write themselves; bytes and containers do not.
            if isinstance(value, bytes | bytearray | memoryview | list | dict | tuple):
                raise TrystError(
                    ErrorCode.SOURCE,
                    f"column '{column}' is of a type that has no text form",
                    where=_WHERE,
                    got=type(value).__name__,
                    remedy="cast it to text, number or date in the query",
                )
            return str(value)
