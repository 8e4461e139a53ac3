"""The database of a custodian's state: one process at a time, every change atomic and durable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
import structlog
from sqlalchemy import ForeignKey, event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from gemel.common.durable import StandingFile
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.versions import CUSTODIAN_STATE
from gemel.custodian.state.migrations import migrate, state_version

JOINED = "joined"
"""Kind of the secret that holds identifiers from maps: the records whose rows Carole has received."""
REQUESTED = "requested rows"
"""Kind of the secret that holds identifiers from maps: the rows, by rule, whose handles have been requested."""
REQUEST_COUNT = "request count"
"""Kind of the secret that holds how many these are and were, in numbers only."""
FROM_MAPS = (JOINED, REQUESTED)
"""Kinds of secrets that go with the last map that they come from, and not before: they count in every epoch."""
ALONE = "alone"
"""Kind of the secret that holds a run, and the operator's reason to fetch its share without the other's signature."""


class Base(DeclarativeBase):
    """Base of the tables."""


class Project(Base):
    """A project known to this custodian, and its progress in it."""

    __tablename__ = "project"

    name: Mapped[str] = mapped_column(primary_key=True)
    specification: Mapped[str] = mapped_column(default="")
    """The text as Carole sent it; used only if its digest was approved."""
    specification_digest: Mapped[bytes] = mapped_column(default=b"")
    mode: Mapped[str] = mapped_column(default="")
    carole_state: Mapped[int] = mapped_column(default=0)
    """As Carole last reported it."""
    epoch: Mapped[int] = mapped_column(default=0)
    decision: Mapped[str] = mapped_column(default="")
    """Empty, ``approved`` or ``declined``."""
    decided_digest: Mapped[bytes] = mapped_column(default=b"")
    """Digest of the specification that the decision is about: another one needs another decision."""
    decided_by: Mapped[str] = mapped_column(default="")
    """``operator`` or ``policy``."""
    decided_at: Mapped[float] = mapped_column(default=0.0)
    reason: Mapped[str] = mapped_column(default="")
    """Why it was declined."""
    stage: Mapped[str] = mapped_column(default="")
    blocking_error: Mapped[str] = mapped_column(default="")
    rows: Mapped[int] = mapped_column(default=0)
    links: Mapped[int] = mapped_column(default=0)
    results: Mapped[str] = mapped_column(default="")
    profile: Mapped[str] = mapped_column(default="")
    """Counts only, JSON."""
    timings: Mapped[str] = mapped_column(default="{}")
    """Seconds and sizes per stage, JSON."""


class Leakage(Base):
    """What Carole could learn of this custodian's records, measured before they were contributed."""

    __tablename__ = "leakage"

    project: Mapped[str] = mapped_column(ForeignKey("project.name"), primary_key=True)
    specification_digest: Mapped[bytes]
    """Digest of the specification it was measured under: another one is measured again."""
    worst: Mapped[float]
    field: Mapped[str]
    """The field with the largest share."""
    limit: Mapped[float]
    exceeds: Mapped[bool]
    report: Mapped[str]
    """Shares only, JSON."""
    reason: Mapped[str] = mapped_column(default="")
    """Why the operator contributes above the limit; empty unless overridden."""
    overridden_at: Mapped[float | None] = mapped_column(default=None)


class Secret(Base):
    """Something encrypted by the vault: the state of a seed agreement, or the seed."""

    __tablename__ = "secret"

    project: Mapped[str] = mapped_column(ForeignKey("project.name"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[bytes]


class OwnSecret(Base):
    """A secret of the custodian's own, of no project, encrypted by the vault."""

    __tablename__ = "own_secret"

    kind: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[bytes]


class Upload(Base):
    """A contribution: its payload until it is committed, its pseudonym map until the retention ends."""

    __tablename__ = "upload"

    id: Mapped[str] = mapped_column(primary_key=True)
    project: Mapped[str] = mapped_column(ForeignKey("project.name"), index=True)
    epoch: Mapped[int]
    manifest: Mapped[bytes]
    """The serialised message, so that a resumed upload announces the same one."""
    rows: Mapped[int]
    total_bytes: Mapped[int]
    digests: Mapped[bytes]
    """SHA-256 of every chunk, joined."""
    created_at: Mapped[float]
    committed_at: Mapped[float | None]
    payload_key: Mapped[bytes | None]
    """Wrapped; none once the payload is erased."""
    map_key: Mapped[bytes | None]
    """Wrapped; none once the map is erased."""
    map_until: Mapped[float]
    """Unix time at which the map is erased."""


class Result(Base):
    """A fetched share of a result."""

    __tablename__ = "result"

    project: Mapped[str] = mapped_column(ForeignKey("project.name"), primary_key=True)
    run: Mapped[str] = mapped_column(primary_key=True)
    root: Mapped[bytes]
    folder: Mapped[str]
    links: Mapped[int]
    fetched_at: Mapped[float]
    acknowledged: Mapped[bool] = mapped_column(default=False)


class Seen(Base):
    """A checkpoint of Carole's audit log that this custodian has verified. None is ever deleted; see `Lost`."""

    __tablename__ = "seen"

    size: Mapped[int] = mapped_column(primary_key=True)
    checkpoint: Mapped[str]
    """A signed note."""


class Lost(Base):
    """A verified checkpoint of a log that a restoration of Carole's store has cut: evidence, and no more `Seen`."""

    __tablename__ = "lost"

    restoration: Mapped[int] = mapped_column(primary_key=True)
    """Sequence number of the restoration's entry."""
    size: Mapped[int] = mapped_column(primary_key=True)
    checkpoint: Mapped[str]
    """A signed note."""


_VANISHED = "nothing more is kept: put the same file back, or stop the service and restore the state folder's backup"

log = structlog.get_logger()


class Database:
    """The open database, made if absent, brought to this version; DATABASE if it is of a newer one, or damaged."""

    def __init__(self, path: Path) -> None:
        self._engine = _opened(path)
        self._file = StandingFile(path, "the state database", _VANISHED)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction that ends with the block, and is undone by an error; its rows can be read afterwards.

        Raises `GemelError`: DATABASE if the file has vanished: then nothing of the block counts.
        """
        self._file.require()
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            yield session
        self._file.require()


def _opened(path: Path) -> sqlalchemy.Engine:
    arguments = {"timeout": 30.0, "check_same_thread": False}
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", hide_parameters=True, connect_args=arguments)

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
        what = "the state database cannot be read"
        got = type(error.orig or error).__name__
        remedy = "restore the state folder from its backup"
        raise GemelError(ErrorCode.DATABASE, what, where=str(path), got=got, remedy=remedy) from None
    return engine


def _upgrade(connection: sqlalchemy.Connection, path: Path) -> None:
    version = state_version(connection)
    if version == CUSTODIAN_STATE:
        return
    if version is not None and version > CUSTODIAN_STATE:
        what = "the state was written by a newer version of Gemel"
        got = f"schema {version}; this version has {CUSTODIAN_STATE}"
        remedy = "install the version that wrote it, or restore the folder's copy from before its upgrade"
        raise GemelError(ErrorCode.DATABASE, what, where=str(path), got=got, remedy=remedy)
    migrate(connection)
    if version is not None:
        log.info("the state was upgraded", before=version, after=CUSTODIAN_STATE)
