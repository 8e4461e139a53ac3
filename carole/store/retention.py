"""Retention: uploads, results and the counts of releases are erased when the specification's days are over."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ColumnElement, Select, cast, func, select

from gemel.carole.projects import RunState, State, operations
from gemel.carole.store.changes import Changes
from gemel.carole.store.clock_guard import DAY_MS, ClockGuard
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.carole.store.releases import counts_due
from gemel.carole.store.tables import payloads, projects, runs, uploads
from gemel.common.parties import Side

_ENDED = (State.ASSESSED, State.HELD, State.RELEASED)
"""States in which a project only waits for its result to be fetched, or for a decision on it."""


def uploads_due(now: int) -> Select[tuple[str, str, str]]:
    """Project, side and identifier of every upload whose days are over."""
    old = func.coalesce(uploads.c.committed_at, uploads.c.begun_at) + _in_ms(projects.c.uploads_days)
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
        .having(func.max(runs.c.ended_at) + _in_ms(projects.c.results_days) <= now)
    )


class Retention:
    """Erases what has expired, by a clock that `guard` does not refuse."""

    def __init__(self, database: Database, changes: Changes, guard: ClockGuard, clock: Clock) -> None:
        self._database = database
        self._changes = changes
        self._guard = guard
        self._clock = clock

    def enforce(self) -> int:
        """Erase what is due; returns the number of uploads, results and counts.

        The input of a run is erased after its end.

        Raises
        ------
        GemelError
            CONFIGURATION, as `ClockGuard.require`: nothing is erased then.
        """
        self._guard.require()
        now = self._clock()
        with self._database.read() as connection:
            due = connection.execute(uploads_due(now)).all()
            done = connection.execute(results_due(now)).all()
            counts = connection.execute(counts_due(now)).all()
        count = 0
        for row in due:
            count += self._expire_upload(row.name, Side(row.side), row.upload)
        for project in done:
            count += self._expire_result(project.name)
        for of_release in counts:
            with self._changes.of(of_release.name) as change:
                change.erase(payloads.c.id == of_release.id)
                count += len(change.erased)
        return count

    def _expire_upload(self, name: str, side: Side, upload: str) -> int:
        with self._changes.of(name) as change:
            run = change.project.active_run
            if run is not None and run.state is not RunState.RESOLVING:
                return 0
            outcome = operations.expire_upload(change.project, side, upload)
            change.apply(outcome)
            return int(outcome.changed)

    def _expire_result(self, name: str) -> int:
        with self._changes.of(name) as change:
            if change.project.state not in _ENDED:
                return 0
            change.apply(operations.expire_result(change.project))
            return 1


def _in_ms(days: Column[int]) -> ColumnElement[int]:
    # PostgreSQL would multiply in 32 bits.
    return cast(days, BigInteger) * DAY_MS
