"""The connection to the database: SQLite in a file, or PostgreSQL by URL, with the same guarantees.

A write is serialisable where it matters: on SQLite by BEGIN IMMEDIATE, which allows one writer at a time; on
PostgreSQL by locking the project's row before anything is decided about it. A read sees one state of the database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tryst.carole.store import tables
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.versions import STORE

BUSY_SECONDS = 15
"""How long a writer waits for another one."""

_POSTGRES_FULL, _POSTGRES_CONNECTIONS = "53100", "53300"
"""SQLSTATE: disk full, too many connections."""


class Database:
    """Transactions on Carole's database.

    Parameters
    ----------
    url
        ``sqlite:///path`` or ``postgresql+psycopg://...``. PostgreSQL's own ways to give a password (a password
        file, the environment) work and keep it out of the configuration.
    seal
        Called at the end of every writing transaction, within it: what it writes is committed with the rest.

    Raises
    ------
    TrystError
        CONFIGURATION for a URL that is neither; DATABASE if it cannot be opened or has another schema version.
    """

    def __init__(self, url: str, seal: Callable[[Connection], None] | None = None) -> None:
        parsed = _parse(url)
        self._seal = seal
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.where = Path(parsed.database or "").name if self.is_sqlite else f"{parsed.host or 'local'}"
        self._engine = _engine(parsed)
        # By PostgreSQL's default each statement of one transaction sees a different state.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reading = self._engine.execution_options(tryst_reading=True, **level)
        with self._translated(), self._engine.begin() as connection:
            _prepare(connection, self.where)
            if seal is not None:
                seal(connection)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one state."""
        with self._translated(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes; it is committed at the end of the block, or not at all."""
        with self._translated(), self._engine.begin() as connection:
            yield connection
            if self._seal is not None:
                self._seal(connection)

    def forget_deleted(self) -> None:
        """Remove overwritten content from SQLite's write-ahead log."""
        if self.is_sqlite:
            with self._translated(), self._engine.connect() as connection:
                raw = connection.connection.dbapi_connection
                assert raw is not None  # noqa: S101
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Convert the database's errors, which may quote a statement, to Tryst's, which do not."""
        try:
            yield
        except PoolTimeoutError:
            raise TrystError(
                ErrorCode.BUSY, "all connections to the database are in use", where=self.where, remedy="try again"
            ) from None
        except DBAPIError as error:
            code, what, remedy = _meaning(error)
            raise TrystError(code, what, where=self.where, got=type(error.orig).__name__, remedy=remedy) from None


def _meaning(error: DBAPIError) -> tuple[ErrorCode, str, str]:
    """The kind of a database's error, what it is, and what to do about it."""
    reason = error.orig
    state, number = getattr(reason, "sqlstate", None), getattr(reason, "sqlite_errorcode", None)
    if state == _POSTGRES_FULL or number == sqlite3.SQLITE_FULL:
        return ErrorCode.STORAGE_FULL, "the database's disk is full", "make room on it; nothing was lost"
    if state == _POSTGRES_CONNECTIONS or (isinstance(error, OperationalError) and "locked" in str(reason)):
        return ErrorCode.BUSY, "the database is busy", "try again"
    return (
        ErrorCode.DATABASE,
        "the database failed",
        "check that it runs, is reachable and has free space; then try again",
    )


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        known = parsed.get_backend_name() in ("sqlite", "postgresql")
    except (ArgumentError, NoSuchModuleError):
        known = False
    if not known or (parsed.get_backend_name() == "sqlite" and not parsed.database):
        # The URL itself is not shown: it may hold a password.
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "the database is given as sqlite:///path or postgresql+psycopg://user@host/name",
            where="store.database",
            got="another scheme",
        )
    return parsed


def _engine(url: URL) -> Engine:
    # Parameters are hidden because errors and logs would show them.
    options: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
    if url.get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": BUSY_SECONDS, "check_same_thread": False}
    try:
        engine = create_engine(url, pool_size=10, max_overflow=20, **options)
    except (ImportError, NoSuchModuleError, ArgumentError):
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "the driver of this database is not installed",
            where="store.database",
            got=url.drivername,
            remedy="install tryst[postgres] and write the URL as postgresql+psycopg://...",
        ) from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(raw: sqlite3.Connection, _record: object) -> None:
    # The driver's own transaction control is switched off; `_begin_sqlite` begins them.
    raw.isolation_level = None
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        # Deleted content is overwritten: a destroyed key must not remain.
        "secure_delete = ON",
    ):
        raw.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("tryst_reading")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _prepare(connection: Connection, where: str) -> None:
    """Create the tables of an empty database; refuse one of another version."""
    if connection.dialect.name != "sqlite":
        # Two first starts at once would both see an empty database.
        connection.execute(text("SELECT pg_advisory_xact_lock(7240191)"))
    if not inspect(connection).has_table(tables.meta.name):
        tables.metadata.create_all(connection)
        connection.execute(insert(tables.meta), [{"key": "schema", "value": STORE}, {"key": "audit", "value": 0}])
    version = connection.scalar(select(tables.meta.c.value).where(tables.meta.c.key == "schema"))
    if version != STORE:
        raise TrystError(
            ErrorCode.DATABASE,
            f"the database must have schema version {STORE}",
            where=where,
            got=str(version),
            remedy="run the version of Tryst that created it, or give this version a new database",
        )
