"""The rows of a database query, read in a transaction that may not write: through SQLAlchemy, or through ADBC.

A driver's own message is never passed on: databases quote the value that did not fit. Cells become text one by one, by
their own type: `polars.read_database` infers a type for each batch, so that a number's text would depend on its
neighbours, and a value that fits no type (a date in a column of text, a decimal that is not a number) ends in a
message, or in a panic written to standard error, with the value in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from gemel.common.missing_module import imported, installing, missing_module
from gemel.records.adbc_databases import DATABASES, Cells, Database
from gemel.records.database_cells import WHERE, bad_url, cell_text, parts, refused_query, stated_url, unknown_url
from gemel.records.sources import DatabaseSource
from gemel.records.table import SourceTable, require_columns, trimmed

_ROWS_AT_ONCE = 20_000


def database_batches(source: DatabaseSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Run the query and read the selected columns, or all, as text, some rows at a time."""
    url = stated_url(source)
    if is_adbc(url):
        return adbc_batches(url, source.query, columns)
    return _batches(url, source.query, columns)


def check_database(source: DatabaseSource) -> None:
    """Find that the URL is well formed and its driver installed; the database is not called. Raises `GemelError`:
    CONFIGURATION, MODULE_MISSING."""
    url = stated_url(source)
    if is_adbc(url):
        database_of(url)
    else:
        _engine(url).dispose()


def is_adbc(url: str) -> bool:
    """Whether a URL asks for ADBC: ``postgresql+adbc://``, ``sqlite+adbc://``."""
    return parts(url).drivername.endswith("+adbc")


def _batches(url: str, query: str, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    engine = _engine(url)
    try:
        with engine.connect() as connection:
            # no_parameters: a % or : in the query is the query's own.
            options: dict[str, Any] = {"stream_results": True, "no_parameters": True}
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            elif engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
            result = connection.execution_options(**options).exec_driver_sql(query)
            available = [name.strip() for name in result.keys()]  # noqa: SIM118 - a result, no mapping

            def cells(chosen: Mapping[str, int]) -> Cells:
                for rows in result.partitions(_ROWS_AT_ONCE):
                    texts = {name: [cell_text(row[place], name) for row in rows] for name, place in chosen.items()}
                    yield [pl.Series(of_rows, dtype=pl.String) for of_rows in texts.values()]

            yield from _tables(available, columns, cells)
    except SQLAlchemyError as error:
        raise refused_query(_kind(error)) from None
    finally:
        engine.dispose()


def _tables(
    available: Sequence[str], columns: Sequence[str] | None, cells: Callable[[Mapping[str, int]], Cells]
) -> Iterator[SourceTable]:
    """The selected columns of a query, or all, from their `cells` as text, some rows at a time; first without rows."""
    columns = require_columns(available, columns, WHERE)
    before = 0
    nothing = [pl.Series(dtype=pl.String) for _ in columns]
    for part in chain([nothing], cells({name: available.index(name) for name in columns})):
        frame = pl.DataFrame({name: trimmed(texts) for name, texts in zip(columns, part, strict=True)})
        rows = np.arange(before + 1, before + frame.height + 1, dtype=np.int64)
        yield SourceTable(frame, rows, "row", WHERE)
        before += frame.height


def _engine(url: str) -> sqlalchemy.Engine:
    try:
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError):
        raise unknown_url() from None
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    except ImportError:
        # PostgreSQL's driver without the library that it calls.
        what, remedy = "the database's driver cannot be loaded", f"install all of it: {installing('postgres')}"
    raise bad_url(what, remedy)


def _kind(error: SQLAlchemyError) -> str:
    """What may be shown of a database's error: its class and its SQLSTATE."""
    original = getattr(error, "orig", None)
    state = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    name = type(original or error).__name__
    return f"{name} {state}" if isinstance(state, str) else name


# The rows of a database query as Arrow columns, through ADBC, in a transaction that may not write.
#
# `postgresql+adbc://` and `sqlite+adbc:///` give the same text as SQLAlchemy's drivers (`database_cells`), by columns
# instead of cells.


def adbc_batches(url: str, query: str, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Run the query and read the selected columns, or all, as text, some rows at a time."""
    database = database_of(url)
    dbapi = imported(f"{database.driver}.dbapi")
    # It may end in a comment, which is to end before what the drivers and we put behind it.
    query = query.rstrip().rstrip(";") + "\n"
    with _refusing(dbapi), dbapi.connect(database.uri(url)) as connection:
        with connection.cursor() as cursor:
            for statement in database.first:
                cursor.execute(statement)
        available = [name.strip() for name in database.names(connection, query)]
        yield from _tables(available, columns, partial(database.cells, connection, query, len(available)))


def database_of(url: str) -> Database:
    """The database that a URL names, whose driver is installed; it is not called yet."""
    database = DATABASES.get(parts(url).drivername.partition("+")[0])
    if database is None:
        raise bad_url(f"ADBC reads {' and '.join(DATABASES)} alone", "name a driver of SQLAlchemy's in the URL")
    database.uri(url)
    for name in (f"{database.driver}.dbapi", "pyarrow"):
        imported(name)
    return database


@contextmanager
def _refusing(dbapi: Any) -> Iterator[None]:
    """Errors of the driver, at first its own and later those of Arrow's reader, without their messages."""
    try:
        yield
    except dbapi.Error as error:
        raise refused_query(f"{type(error).__name__} {error.sqlstate or error.status_code.name}") from None
    except (OSError, imported("pyarrow").ArrowException, UnicodeDecodeError) as error:
        raise refused_query(f"{type(error).__name__} while rows were read") from None
