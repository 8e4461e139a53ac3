"""The connection to the database: SQLite in a file, or PostgreSQL by URL, with the same guarantees.

A write is serialisable where it matters: on SQLite by BEGIN IMMEDIATE, which allows one writer at a time; on
PostgreSQL by locking the project's row before anything is decided about it. A read sees one state of the database.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, bindparam, create_engine, event, insert, select, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from gemel.carole.store import tenure
from gemel.carole.store.migrations import schema_version
from gemel.carole.store.tables import meta
from gemel.common.durable import StandingFile
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.missing_module import installing
from gemel.common.versions import STORE

# SQLite's file: never made by accident, and never written to after it has been moved or replaced.
#
# SQLite opens a missing file as a new, empty database, and goes on writing to a file that has been renamed or removed.
# So the file is opened as an existing one, and its place is compared with it around every write.

BUSY_SECONDS = 15
"""How long a writer waits for another one."""

_VANISHED = "nothing more is written: put the same file back, or stop Carole and restore a backup"


class DatabaseFile:
    """`require`: refuses to go on unless the file that was opened is still where it was; DATABASE."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = path
        if create:
            path.touch(mode=0o600)
        try:
            self.require = StandingFile(path, "the database", _VANISHED).require
        except OSError as error:
            remedy = (
                "find out where it is: a volume that is not mounted or a mistyped path looks like this; for a new "
                "store, 'gemel carole init'"
            )
            raise file_error(ErrorCode.DATABASE, "there is no database", path, error, remedy) from None

    def connect(self) -> sqlite3.Connection:
        """A connection to the file, which must exist."""
        place = f"file:{quote(str(self._path))}?mode=rw"
        return sqlite3.connect(place, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)


def sqlite_file(url: str) -> Path | None:
    """The file of a database of SQLite; None for another database."""
    parsed = make_url(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


_FORGET_MS = 1000
"""How long an erasure waits for readers: its caller waits with it."""

Prepare = Callable[[Connection, str], None]
"""What to do with the schema of a database that is opened; the text names the database in errors."""


def newest_schema(connection: Connection, where: str) -> None:
    """Refuse a database whose schema is not the newest."""
    version = schema_version(connection)
    if version == STORE:
        return
    if version is None:
        remedy = "find out where the store is: a volume that is not mounted, a mistyped path or an empty PostgreSQL "
        remedy += "looks like this; for a new store, 'gemel carole init'"
    elif version < STORE:
        remedy = "stop Carole, back up, and 'gemel carole upgrade'"
    else:
        remedy = "run the version of Gemel that upgraded it"
    what = f"the database must have schema version {STORE}"
    got = "an empty database" if version is None else str(version)
    raise GemelError(ErrorCode.DATABASE, what, where=where, got=got, remedy=remedy)


# Statements are made once: making one costs as much as its execution.
_NUMBER = select(meta.c.value).where(meta.c.key == bindparam("of"))
_COUNT = update(meta).where(meta.c.key == bindparam("of")).values(value=meta.c.value + 1)
_SET = update(meta).where(meta.c.key == bindparam("of")).values(value=bindparam("number"))


def number_of(connection: Connection, key: str) -> int | None:
    """A number of the store's, from its row of `meta`; None without one."""
    found = connection.execute(_NUMBER, {"of": key}).scalar()
    return None if found is None else int(found)


def counter(connection: Connection, key: str) -> int:
    """A counter of the store's, which every store has."""
    return int(connection.execute(_NUMBER, {"of": key}).scalar_one())


def count(connection: Connection, key: str) -> int:
    """The next number of a counter, whose row is locked until the transaction ends."""
    connection.execute(_COUNT, {"of": key})
    return counter(connection, key)


def set_number(connection: Connection, key: str, number: int) -> None:
    if connection.execute(_SET, {"of": key, "number": number}).rowcount == 0:
        connection.execute(insert(meta).values(key=key, value=number))


STATE = "state"
"""A number that differs whenever something was written.

It is drawn, not counted: a standby that takes over may lack the last writes, and would count up to the same numbers
again.
"""


_POSTGRES_FULL, _POSTGRES_CONNECTIONS, _POSTGRES_READ_ONLY = "53100", "53300", "25006"
"""SQLSTATE: disk full, too many connections, a standby."""


class Database:
    """Transactions on Carole's database, ``sqlite:///path`` or ``postgresql+psycopg://...``.

    PostgreSQL's own ways to give a password (a password file, the environment) work and keep it out of the
    configuration. `seal` is called at the end of every writing transaction, within it; `prepare` at the opening, in a
    writing transaction: it refuses, makes or changes the schema. With `create` a missing file of SQLite is made; a
    `dry_run` takes back what `prepare` writes. `holder` is the name under which this process may write (see `tenure`),
    empty before it may; `where` names the database in errors and logs. Raises CONFIGURATION for a URL that is neither;
    DATABASE if it cannot be opened; errors of `prepare`.
    """

    def __init__(
        self,
        url: str,
        seal: Callable[[Connection], None] | None = None,
        *,
        prepare: Prepare = newest_schema,
        create: bool = False,
        dry_run: bool = False,
    ) -> None:
        parsed = _parse(url)
        self._seal = seal
        self.holder = ""
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.where = Path(parsed.database or "").name if self.is_sqlite else f"{parsed.host or 'local'}"
        self._file = DatabaseFile(Path(parsed.database or ""), create=create) if self.is_sqlite else None
        self._engine = _engine(parsed, self._file)
        # By PostgreSQL's default each statement of one transaction sees a different state.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reading = self._engine.execution_options(gemel_reading=True, **level)
        level = {} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._looking = self._engine.execution_options(gemel_reading=True, **level)
        with self._translated(), self._engine.begin() as connection:
            prepare(connection, self.where)
            if seal is not None:
                seal(connection)
            if dry_run:
                connection.rollback()

    def close(self, *, release: bool = False) -> None:
        """Close every connection; with `release` end the tenure first."""
        if release and self.holder:
            # Else it ends by itself.
            with suppress(GemelError), self._translated(), self._engine.begin() as connection:
                tenure.release(connection, self.holder)
        self._engine.dispose()

    def hold(self, place: str) -> None:
        """Become the holder of the store, as `tenure.take`."""
        with self._checked(), self._engine.begin() as connection:
            self.holder = tenure.take(connection, place, self.where)

    def renew(self) -> bool:
        with self._checked(), self._engine.begin() as connection:
            return tenure.renew(connection, self.holder)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one state."""
        with self._translated(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def glance(self) -> Iterator[Connection]:
        """For a single query that is sent often: on PostgreSQL without a transaction around it."""
        with self._translated(), self._looking.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes; it is committed at the end of the block, or not at all.

        Raises BUSY if this process does not hold the store; DATABASE if SQLite's file has vanished: then nothing of the
        block counts, even where it was committed to a file that is no longer the store.
        """
        with self._checked(), self._engine.begin() as connection:
            tenure.require(connection, self.holder, self.where)
            yield connection
            if self._seal is not None:
                self._seal(connection)
            # Last, so that writers wait for each other no longer than a commit takes.
            set_number(connection, STATE, secrets.randbits(62))

    def forget_deleted(self) -> None:
        """Remove overwritten content from SQLite's write-ahead log.

        A long reader, such as a backup, holds it back; then the next sweep does it.
        """
        if self.is_sqlite:
            with self._translated(), self._engine.connect() as connection:
                raw = connection.connection.dbapi_connection
                assert raw is not None  # noqa: S101
                raw.execute(f"PRAGMA busy_timeout = {_FORGET_MS}")
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                raw.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """A write, of which SQLite's file is the right one before it and after its commit."""
        if self._file is not None:
            self._file.require()
        with self._translated():
            yield
        if self._file is not None:
            self._file.require()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Convert the database's errors, which may quote a statement, to Gemel's, which do not."""
        try:
            yield
        except PoolTimeoutError:
            what = "all connections to the database are in use"
            raise GemelError(ErrorCode.BUSY, what, where=self.where, remedy="try again") from None
        except DBAPIError as error:
            code, what, remedy = _meaning(error)
            raise GemelError(code, what, where=self.where, got=type(error.orig).__name__, remedy=remedy) from None


def _meaning(error: DBAPIError) -> tuple[ErrorCode, str, str]:
    """The kind of a database's error, what it is, and what to do about it."""
    reason = error.orig
    state, number = getattr(reason, "sqlstate", None), getattr(reason, "sqlite_errorcode", None)
    if state == _POSTGRES_FULL or number == sqlite3.SQLITE_FULL:
        return ErrorCode.STORAGE_FULL, "the database's disk is full", "make room on it; nothing was lost"
    if state == _POSTGRES_CONNECTIONS or (isinstance(error, OperationalError) and "locked" in str(reason)):
        return ErrorCode.BUSY, "the database is busy", "try again"
    if state == _POSTGRES_READ_ONLY:
        remedy = "let store.database name the primary, not a standby"
        return ErrorCode.DATABASE, "the database can only be read", remedy
    remedy = "check that it runs, is reachable and has free space; then try again"
    return ErrorCode.DATABASE, "the database failed", remedy


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        known = parsed.get_backend_name() in ("sqlite", "postgresql")
    except (ArgumentError, NoSuchModuleError):
        known = False
    if not known or (parsed.get_backend_name() == "sqlite" and not parsed.database):
        # The URL itself is not shown: it may hold a password.
        what = "the database is given as sqlite:///path or postgresql+psycopg://user@host/name"
        raise GemelError(ErrorCode.CONFIGURATION, what, where="store.database", got="another scheme")
    return parsed


def _engine(url: URL, file: DatabaseFile | None) -> Engine:
    # Parameters are hidden because errors and logs would show them.
    options: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
    if file is not None:
        options["creator"] = file.connect
    try:
        engine = create_engine(url, pool_size=10, max_overflow=20, **options)
    except (ImportError, NoSuchModuleError, ArgumentError):
        what = "the driver of this database is not installed"
        remedy = f"write the URL as postgresql+psycopg://...; the driver: {installing('postgres')}"
        got = url.drivername
        raise GemelError(ErrorCode.CONFIGURATION, what, where="store.database", got=got, remedy=remedy) from None
    if file is not None:
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
    reading = connection.get_execution_options().get("gemel_reading")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
