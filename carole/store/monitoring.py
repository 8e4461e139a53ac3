"""How the store is, for those who run it: figures of what it holds, and checks that it can be written to.

Everything is read in one transaction, and nothing is written. No figure tells of a record, and no result's number of
links is among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, update
from sqlalchemy.engine import make_url

from gemel.carole.projects.project import RunState, State
from gemel.carole.store.audit import last
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.carole.store.releases import counts_due
from gemel.carole.store.retention import results_due, uploads_due
from gemel.carole.store.runs import LEASE_MS, STAGE
from gemel.carole.store.tables import (
    audit_checkpoints,
    audit_witnesses,
    chunks,
    meta,
    payloads,
    projects,
    run_figures,
    runs,
    tenure,
    uploads,
)
from gemel.carole.store.tenure import not_held
from gemel.serving.machine_check import check_writable


@dataclass(frozen=True)
class ActiveRun:
    """A run that has not ended."""

    project: str
    state: RunState
    stage: str
    fraction: float
    queued_seconds: float
    """Since it was requested."""
    lease_seconds: float | None
    """Since its worker last renewed its lease; None if no worker has it."""


@dataclass(frozen=True)
class Witnessed:
    """The newest checkpoint that a member has countersigned."""

    entries: int
    seconds: float
    """Since Carole signed it."""


@dataclass(frozen=True)
class Figures:
    """What the store holds at one moment."""

    projects: dict[State, int]
    runs: dict[RunState, int]
    active: tuple[ActiveRun, ...]
    open_uploads: int
    open_bytes: int
    payloads: int
    stored_bytes: int
    audit_entries: int
    witnessed: dict[str, Witnessed]
    """By member."""
    due: int
    """Uploads and results whose retention is over."""
    last_run: LastRun = field(default_factory=lambda: LastRun({}, {}))


@dataclass(frozen=True)
class LastRun:
    """The run that ended last with a result, of a project that is not erased."""

    stages: dict[str, float]
    """Seconds by stage."""
    sizes: dict[str, float]
    """`candidate_pairs`, `patterns`, `peak_bytes`, `granted_bytes`."""


class _UndoneError(Exception):
    """Ends a transaction without its changes."""


class Monitoring:
    """Reads figures, and checks what the store needs.

    `check_blobs` refuses blobs that cannot be written to now; no file is left. `disks`: the folders that the store
    writes to: of the blobs, unless they are in a bucket, and of a SQLite database.
    """

    def __init__(self, database: Database, url: str, blobs: Blobs, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self.check_blobs = blobs.check
        self.disks = {} if blobs.folder is None else {"blobs": blobs.folder}
        if database.is_sqlite:
            self.disks["database"] = Path(make_url(url).database or "").absolute().parent

    def figures(self) -> Figures:
        """What the store holds now. Raises DATABASE or BUSY."""
        now = self._clock()
        with self._database.read() as connection:
            projects_by_state = _counts(connection, projects.c.state)
            runs_by_state = _counts(connection, runs.c.state)
            in_progress = uploads.c.committed_at.is_(None), uploads.c.ended.is_(None)
            readable = payloads.c.wrapped_key.is_not(None)
            return Figures(
                {state: projects_by_state.get(int(state), 0) for state in State},
                {state: runs_by_state.get(int(state), 0) for state in RunState},
                _active(connection, now),
                *_stored(connection, uploads.c.upload, uploads.c.payload, *in_progress),
                *_stored(connection, payloads.c.id, payloads.c.id, readable),
                last(connection),
                _witnessed(connection, now),
                sum(len(connection.execute(due(now)).all()) for due in (uploads_due, results_due, counts_due)),
                _last_run(connection),
            )

    def check_database(self) -> None:
        """Refuse a database that cannot be written to now; nothing is changed in it. Raises DATABASE or BUSY."""
        try:
            with self._database.write() as connection:
                # On PostgreSQL this would leave a dead row with every probe, and the lock that every write takes on the
                # tenure's row is refused by a standby already.
                if self._database.is_sqlite:
                    connection.execute(update(meta).where(meta.c.key == "payloads").values(value=meta.c.value))
                raise _UndoneError
        except _UndoneError:
            pass
        if "database" in self.disks:
            check_writable(self.disks["database"], "the folder of the database")

    def check_tenure(self) -> None:
        """Refuse a store that another Carole holds, or this one no longer. Raises BUSY, or DATABASE."""
        with self._database.read() as connection:
            held = connection.execute(select(tenure.c.holder).where(tenure.c.holder == self._database.holder)).first()
        if held is None or not self._database.holder:
            raise not_held(self._database.where)


def _counts(connection: Connection, column: Any) -> dict[int, int]:
    return {
        int(state): int(count) for state, count in connection.execute(select(column, func.count()).group_by(column))
    }


def _stored(connection: Connection, named: Any, payload: Any, *which: ColumnElement[bool]) -> tuple[int, int]:
    """How many there are, and the bytes of their chunks."""
    query = select(func.count(named.distinct()), func.coalesce(func.sum(chunks.c.size), 0))
    row = connection.execute(query.outerjoin(chunks, chunks.c.payload == payload).where(*which)).one()
    return int(row[0]), int(row[1])


def _active(connection: Connection, now: int) -> tuple[ActiveRun, ...]:
    query = select(runs, projects.c.name).join(projects).where(runs.c.active == 1).order_by(runs.c.created_at)
    return tuple(
        ActiveRun(
            row.name,
            RunState(row.state),
            row.stage,
            row.fraction,
            max(0, now - row.created_at) / 1000,
            None if row.lease_until is None else max(0, now + LEASE_MS - row.lease_until) / 1000,
        )
        for row in connection.execute(query)
    )


def _last_run(connection: Connection) -> LastRun:
    newest = (
        select(runs.c.run)
        .where(runs.c.state == int(RunState.DONE), runs.c.run.in_(select(run_figures.c.run)))
        .order_by(runs.c.ended_at.desc())
        .limit(1)
    )
    query = select(run_figures.c.name, run_figures.c.value).where(run_figures.c.run == newest.scalar_subquery())
    figures = {row.name: row.value for row in connection.execute(query)}
    stages = {name.removeprefix(STAGE): value for name, value in figures.items() if name.startswith(STAGE)}
    return LastRun(stages, {name: value for name, value in figures.items() if not name.startswith(STAGE)})


def _witnessed(connection: Connection, now: int) -> dict[str, Witnessed]:
    query = select(audit_witnesses.c.member, audit_witnesses.c.size, audit_checkpoints.c.at).join(
        audit_checkpoints, audit_checkpoints.c.size == audit_witnesses.c.size
    )
    return {row.member: Witnessed(row.size, max(0, now - row.at) / 1000) for row in connection.execute(query)}
