"""The end of what is kept: uploads and results are erased when the days that the specification gives them are over."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ColumnElement, cast, func, select

from tryst.carole.projects import RunState, State, operations
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Bodies, Clock
from tryst.carole.store.registry import Registry
from tryst.carole.store.runs import Runs
from tryst.carole.store.tables import projects, runs, uploads
from tryst.carole.store.uploads import Uploads
from tryst.carole.store.view import hold, settle
from tryst.common.parties import Side

_ENDED = (State.ASSESSED, State.HELD, State.RELEASED)
"""States in which nothing is asked of a project but its result, or a decision on it."""

DAY_MS = 24 * 60 * 60 * 1000


class Retention:
    """Erases what is older than it may be."""

    def __init__(
        self, database: Database, bodies: Bodies, registry: Registry, uploads: Uploads, runs: Runs, clock: Clock
    ) -> None:
        self._database = database
        self._bodies = bodies
        self._registry = registry
        self._uploads = uploads
        self._runs = runs
        self._clock = clock

    def enforce(self) -> int:
        """Erase what is due; returns how many uploads and results that were. What a run works on waits for its end."""
        now = self._clock()
        with self._database.read() as connection:
            old = func.coalesce(uploads.c.committed_at, uploads.c.begun_at) + _in_ms(projects.c.uploads_days)
            due = connection.execute(
                select(projects.c.name, uploads.c.side, uploads.c.upload, uploads.c.body)
                .join(projects)
                .where(uploads.c.ended.is_(None), old <= now)
            ).all()
            done = connection.execute(
                select(projects.c.name)
                .join(runs)
                .where(runs.c.state == int(RunState.DONE), projects.c.state.in_([int(state) for state in _ENDED]))
                .group_by(projects.c.name, projects.c.results_days)
                .having(func.max(runs.c.ended_at) + _in_ms(projects.c.results_days) <= now)
            ).all()
        count = 0
        for row in due:
            count += self._expire_upload(row.name, Side(row.side), row.upload, row.body)
        for row in done:
            count += self._expire_result(row.name)
        return count

    def _expire_upload(self, name: str, side: Side, upload: str, body: str) -> int:
        with self._database.write() as connection:
            hold(connection, name)
            # Nobody works on a run that waits for others, and they may never come.
            papers = self._runs.give_up_waiting(connection, name, "an upload's time was over while the run waited")
            held = hold(connection, name)
            if held.project.active_run is not None:
                return 0
            gone = self._uploads.end(connection, held, "expired", uploads.c.body == body)
            if gone:
                outcome = operations.expire_upload(held.project, side, upload)
                settle(connection, held, outcome, self._clock())
        self._bodies.remove(papers)
        return self._remove(gone)

    def _expire_result(self, name: str) -> int:
        with self._database.write() as connection:
            held = hold(connection, name)
            if held.project.state not in _ENDED:
                return 0
            gone = self._registry.clear(connection, held)
            settle(connection, held, operations.expire_result(held.project), self._clock())
        self._remove(gone)
        return 1

    def _remove(self, gone: list[str]) -> int:
        if gone:
            self._bodies.remove(gone)
            self._database.forget_deleted()
        return len(gone)


def _in_ms(days: Column[int]) -> ColumnElement[int]:
    # PostgreSQL would multiply in 32 bits.
    return cast(days, BigInteger) * DAY_MS
