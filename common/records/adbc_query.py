"""The rows of a database query as Arrow columns, through ADBC, in a transaction that may not write.

``postgresql+adbc://`` and ``sqlite+adbc:///`` give the same text as SQLAlchemy's drivers (`database_cells`), by columns
instead of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import polars as pl

from gemel.common.missing_module import missing_module
from gemel.common.records.adbc_databases import DATABASES, Database
from gemel.common.records.database_cells import WHERE, query_table, refused_query
from gemel.common.records.database_url import bad_url, parts
from gemel.common.records.table import SourceTable, require_columns


def adbc_batches(url: str, query: str, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Run the query and read the selected columns, or all, as text, some rows at a time."""
    database = database_of(url)
    dbapi = _module(f"{database.driver}.dbapi")
    # It may end in a comment, which is to end before what the drivers and we put behind it.
    query = query.rstrip().rstrip(";") + "\n"
    with _refusing(dbapi), dbapi.connect(database.uri(url)) as connection:
        with connection.cursor() as cursor:
            for statement in database.first:
                cursor.execute(statement)
        available = [name.strip() for name in database.names(connection, query)]
        columns = available if columns is None else columns
        require_columns(available, columns, WHERE)
        chosen = {name: available.index(name) for name in columns}
        yield query_table(columns, [pl.Series(dtype=pl.String) for _ in columns], 0)
        before = 0
        for cells in database.cells(connection, query, len(available), chosen):
            table = query_table(columns, cells, before)
            yield table
            before += table.n_rows


def database_of(url: str) -> Database:
    """The database that a URL names, whose driver is installed; it is not called yet."""
    database = DATABASES.get(parts(url).drivername.partition("+")[0])
    if database is None:
        raise bad_url(f"ADBC reads {' and '.join(DATABASES)} alone", "name a driver of SQLAlchemy's in the URL")
    database.uri(url)
    for name in (f"{database.driver}.dbapi", "pyarrow"):
        _module(name)
    return database


@contextmanager
def _refusing(dbapi: Any) -> Iterator[None]:
    """Errors of the driver, at first its own and later those of Arrow's reader, without their messages."""
    try:
        yield
    except dbapi.Error as error:
        raise refused_query(f"{type(error).__name__} {error.sqlstate or error.status_code.name}") from None
    except (OSError, _module("pyarrow").ArrowException, UnicodeDecodeError) as error:
        raise refused_query(f"{type(error).__name__} while rows were read") from None


def _module(name: str) -> Any:
    """A library; MODULE_MISSING if it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
