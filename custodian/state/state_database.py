"""The database of a custodian's state: one process at a time, every change atomic and durable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
import structlog
from sqlalchemy import event
from sqlalchemy.orm import Session

from gemel.common.durable import StandingFile
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.versions import CUSTODIAN_STATE
from gemel.custodian.state.migrations import migrate, state_version

_VANISHED = "nothing more is kept: put the same file back, or stop the service and restore the state folder's backup"

log = structlog.get_logger()


class Database:
    """The open database, made if it is absent, and brought to this version if it is of an older one.

    Raises
    ------
    GemelError
        DATABASE if it is of a newer version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._engine = _opened(path)
        self._file = StandingFile(path, "the state database", _VANISHED)

    def close(self) -> None:
        """Close it."""
        self._engine.dispose()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction that ends with the block, and is undone by an error; its rows can be read afterwards.

        Raises
        ------
        GemelError
            DATABASE if the file has vanished: then nothing of the block counts.
        """
        self._file.require()
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            yield session
        self._file.require()


def _opened(path: Path) -> sqlalchemy.Engine:
    engine = sqlalchemy.create_engine(
        f"sqlite:///{path}", hide_parameters=True, connect_args={"timeout": 30.0, "check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # Transactions are begun here and not by the driver, which would begin them too late.
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        path.touch(mode=0o600)
        with engine.begin() as connection:
            _upgrade(connection, path)
    except sqlalchemy.exc.DatabaseError as error:
        engine.dispose()
        raise GemelError(
            ErrorCode.DATABASE,
            "the state database cannot be read",
            where=str(path),
            got=type(error.orig or error).__name__,
            remedy="restore the state folder from its backup",
        ) from None
    return engine


def _upgrade(connection: sqlalchemy.Connection, path: Path) -> None:
    version = state_version(connection)
    if version == CUSTODIAN_STATE:
        return
    if version is not None and version > CUSTODIAN_STATE:
        raise GemelError(
            ErrorCode.DATABASE,
            "the state was written by a newer version of Gemel",
            where=str(path),
            got=f"schema {version}; this version has {CUSTODIAN_STATE}",
            remedy="install the version that wrote it, or restore the folder's copy from before its upgrade",
        )
    migrate(connection)
    if version is not None:
        log.info("the state was upgraded", before=version, after=CUSTODIAN_STATE)
