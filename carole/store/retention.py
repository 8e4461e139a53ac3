"""What is due is erased when the specification's days are over, and what a kill has left unfinished is swept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Select, and_, exists, func, or_, select, update

from gemel.carole.projects.operations.contribution import expire_upload
from gemel.carole.projects.operations.release import expire_result
from gemel.carole.projects.project import RunState, State
from gemel.carole.store.changes import Part
from gemel.carole.store.clock_guard import ClockGuard
from gemel.carole.store.releases import counts_due, in_ms
from gemel.carole.store.tables import artifacts, chunks, payloads, projects, results, runs, uploads
from gemel.common.parties import Side

_ENDED = (State.ASSESSED, State.HELD, State.RELEASED)
"""States in which a project only waits for its result to be fetched, or for a decision on it."""


def uploads_due(now: int) -> Select[tuple[str, str, str]]:
    """Project, side and identifier of every upload whose days are over."""
    old = func.coalesce(uploads.c.committed_at, uploads.c.begun_at) + in_ms(projects.c.uploads_days)
    return (
        select(projects.c.name, uploads.c.side, uploads.c.upload)
        .join(projects)
        .where(uploads.c.ended.is_(None), old <= now)
    )


def results_due(now: int) -> Select[tuple[str]]:
    """Every project whose result's days are over."""
    return (
        select(projects.c.name)
        .join(runs)
        .where(runs.c.state == int(RunState.DONE), projects.c.state.in_([int(state) for state in _ENDED]))
        .group_by(projects.c.name, projects.c.results_days)
        .having(func.max(runs.c.ended_at) + in_ms(projects.c.results_days) <= now)
    )


class Retention(Part):
    """Erases what has expired, by a clock that the guard does not refuse."""

    def enforce(self) -> int:
        """Erase what is due; returns the number of uploads, results and counts.

        The input of a run is erased after its end.
        """
        ClockGuard(self._database, self._clock).require()
        now = self._clock()
        with self._database.read() as connection:
            due = connection.execute(uploads_due(now)).all()
            done = connection.execute(results_due(now)).all()
            counts = connection.execute(counts_due(now)).all()
        count = 0
        for upload in due:
            with self._changes.of(upload.name) as change:
                run = change.project.active_run
                if run is None or run.state is RunState.RESOLVING:
                    outcome = expire_upload(change.project, Side(upload.side), upload.upload)
                    change.apply(outcome)
                    count += outcome.changed
        for project in done:
            with self._changes.of(project.name) as change:
                if change.project.state in _ENDED:
                    change.apply(expire_result(change.project))
                    count += 1
        for release in counts:
            with self._changes.of(release.name) as change:
                change.erase(payloads.c.id == release.id)
                count += len(change.erased)
        return count


# Erasure that a kill has left unfinished is finished here: keys and files that nothing reaches any more.


@dataclass(frozen=True)
class Swept:
    """How many keys were destroyed and files removed."""

    keys: int
    files: int


class Sweeping(Part):
    def sweep(self) -> Swept:
        """Sweep, also while others write."""
        with self._database.read() as connection:
            found = select(projects.c.name).join(payloads).where(payloads.c.wrapped_key.is_not(None), _UNREACHED)
            names = connection.execute(found.distinct()).scalars().all()
        keys = 0
        for name in names:
            # Whoever makes or names a payload of the project holds the same lock: what is found now stays so.
            with self._changes.of(name) as change:
                change.erase(_UNREACHED)
            keys += len(change.erased)
        swept = Swept(keys, self._sweep_files())
        self._database.forget_deleted()
        return swept

    def _sweep_files(self) -> int:
        """Remove the files that no row names; returns how many.

        That a payload is final is read before its files are listed: a writer that came later found it so, and wrote
        nothing. What is erased meanwhile is not marked as swept: its files are yet to be removed.
        """
        with self._database.read() as connection:
            query = select(payloads.c.id, _FINAL.label("final"), _ERASED.label("erased")).where(payloads.c.swept == 0)
            rows = connection.execute(query).all()
        removed, seen = self._payloads.blobs.sweep([row.id for row in rows], self._named)
        for erased in (True, False):
            done = [row.id for row in rows if row.final and bool(row.erased) is erased and row.id in seen]
            for start in range(0, len(done), _AT_ONCE):
                with self._database.write() as connection:
                    these = payloads.c.id.in_(done[start : start + _AT_ONCE]), _ERASED if erased else ~_ERASED
                    connection.execute(update(payloads).where(*these).values(swept=1))
        return removed

    def _named(self) -> Mapping[str, set[str] | None]:
        with self._database.read() as connection:
            # A worker writes in a process of its own; what it has left is erased first.
            busy = and_(payloads.c.writer.is_not(None), ~_ERASED).label("busy")
            query = select(payloads.c.id, busy).where(payloads.c.swept == 0)
            found = {row.id: None if row.busy else set[str]() for row in connection.execute(query)}
            named = select(chunks.c.payload, chunks.c.file).join(payloads).where(payloads.c.swept == 0)
            for row in connection.execute(named.distinct()):
                files = found.get(row.payload)
                if files is not None:
                    files.add(row.file)
            return found


def forget_writers(connection: Connection) -> None:
    """When no worker is alive: what was erased while one wrote it has no writer any more."""
    connection.execute(update(payloads).where(_ERASED, payloads.c.writer.is_not(None)).values(writer=None))


_AT_ONCE = 500
"""Payloads that one statement names."""

_ERASED = payloads.c.wrapped_key.is_(None)

_FINAL = and_(
    payloads.c.writer.is_(None),
    or_(
        _ERASED,
        and_(
            payloads.c.complete == 1,
            ~exists().where(
                uploads.c.payload == payloads.c.id, uploads.c.committed_at.is_(None), uploads.c.ended.is_(None)
            ),
        ),
    ),
)

_UNREACHED = and_(
    ~exists().where(uploads.c.payload == payloads.c.id, uploads.c.ended.is_(None)),
    ~exists().where(results.c.payload == payloads.c.id),
    ~exists().where(artifacts.c.payload == payloads.c.id),
    or_(payloads.c.writer.is_(None), ~exists().where(runs.c.active == 1, runs.c.owner == payloads.c.writer)),
)
