"""The database of a custodian's state: one process at a time, every change atomic and durable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.orm import Session

from tryst.common.custodian.state.state_tables import Base
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.versions import CUSTODIAN_STATE


class Database:
    """The open database.

    Raises
    ------
    TrystError
        DATABASE if it is of another version or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._engine = _opened(path)

    def close(self) -> None:
        """Close it."""
        self._engine.dispose()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction that ends with the block, and is undone by an error; its rows can be read afterwards."""
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            yield session


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
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version == 0:
                Base.metadata.create_all(connection)
                connection.exec_driver_sql(f"PRAGMA user_version = {CUSTODIAN_STATE}")
            elif version != CUSTODIAN_STATE:
                raise TrystError(
                    ErrorCode.DATABASE,
                    f"the state was written by another version of Tryst (this one reads schema {CUSTODIAN_STATE})",
                    where=str(path),
                    got=f"schema {version}",
                    remedy="run the version that wrote it, or finish its projects there first",
                )
    except sqlalchemy.exc.DatabaseError as error:
        engine.dispose()
        raise TrystError(
            ErrorCode.DATABASE,
            "the state database cannot be read",
            where=str(path),
            got=type(error.orig or error).__name__,
            remedy="restore the state folder from its backup",
        ) from None
    return engine
