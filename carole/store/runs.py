"""Runs as leased jobs: requested by the coordinator, taken by a worker, taken again when the worker dies.

A worker holds a run by its name and the run's attempt, until a time that it keeps extending. When that time is past, or
the owner is known to be dead, the run may be taken for another attempt; the former owner can then no longer write
anything, even if it is still alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, insert, not_, or_, select, update

from gemel.carole.projects.operations.linking import (
    Interruption,
    fail_run,
    finish_run,
    join_rows,
    request_row_handles,
    requeue_run,
    start_run,
    take_run,
)
from gemel.carole.projects.project import JoinedBy, PolicyDecision, Project, Run, RunState, State
from gemel.carole.projects.restoration import standstill
from gemel.carole.store.changes import Change, Changes, Part
from gemel.carole.store.releases import of_custodians
from gemel.carole.store.results import Artifacts, Results
from gemel.carole.store.tables import projects, run_figures, runs
from gemel.carole.store.view import not_found, read_project, run_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side

# Which runs wait for a worker, and in which order.

LEASE_MS = 60_000
"""How long a worker may be silent before its run is taken again."""

PAUSE_MS = 300_000
"""How long a run that gave way is behind all others: its parties are looked for again as often."""


def free(now: int) -> ColumnElement[bool]:
    """Runs that are queued, or whose worker has been silent for too long."""
    return or_(runs.c.state == int(RunState.QUEUED), and_(runs.c.state == int(RunState.RUNNING), _past(now)))


def gave_way(now: int) -> ColumnElement[bool]:
    """Runs that wait for another party, and gave way a while ago: a queued run has a stage for no other reason."""
    return and_(runs.c.state == int(RunState.QUEUED), runs.c.stage != "", not_(_past(now)))


def waiting(now: int) -> Select[tuple[str, str]]:
    """Project and name of the runs that a worker may take."""
    return select(projects.c.name, runs.c.run).join(projects).where(runs.c.active == 1, free(now))


def _past(now: int) -> ColumnElement[bool]:
    return or_(runs.c.lease_until.is_(None), runs.c.lease_until < now)


STAGE = "stage "
"""Begins the name of a figure that is a stage's seconds."""


@dataclass(frozen=True)
class Lease:
    """A worker's hold on a run."""

    run: str
    project: str
    owner: str
    attempt: int
    call: str = ""
    """As `Run.call`: the worker's log names it."""


class OvertakenError(Exception):
    """Others were released while a run was assessed: it has to be assessed beside them."""


class Runs(Part):
    def __init__(self, changes: Changes) -> None:
        super().__init__(changes)
        self._results, self._artifacts = Results(changes), Artifacts(changes)

    def start(self, name: str, member: str, request: str, run: str, call: str = "") -> Run:
        """Request a run; `run` is its name, if this request has none yet, and `call` as `Run.call`.

        A run that waits for handles or for the resolver, and so has no worker, is ended for a new one.
        """
        project = self._changes.apply(name, lambda project, _: start_run(project, member, request, run, call))
        return next(found for found in project.runs if found.request == request)

    def get(self, name: str, run: str) -> Run:
        with self._database.read() as connection:
            query = select(runs).join(projects).where(projects.c.name == name, runs.c.run == run)
            row = connection.execute(query).first()
        if row is None:
            raise not_found()
        return run_of(row)

    def take(self, owner: str) -> Lease | None:
        """Take the oldest run that is queued, or whose worker has been silent for too long; None if there is none.

        A run that its worker has left is first queued again, or failed when its attempts are used up. Runs of projects
        that wait for the acceptance of a restored log are left. One that gave way is behind all others for `PAUSE_MS`.
        """
        while True:
            now = self._clock()
            with self._database.read() as connection:
                in_order = waiting(now).order_by(gave_way(now), runs.c.created_at, runs.c.run)
                queued = connection.execute(in_order).all()
                found = next((row for row in queued if _may_be_taken(connection, row.name)), None)
            if found is None:
                return None
            with self._changes.of(found.name) as change:
                # Another worker may have taken it before the lock.
                still = select(runs.c.run).where(runs.c.run == found.run, runs.c.active == 1, free(now))
                if change.connection.execute(still).first() is None:
                    continue
                run = _run(change.project, found.run)
                if run.state is RunState.RUNNING:
                    outcome = requeue_run(change.project, found.run, Interruption.LEASE_LOST)
                    run = _run(change.apply(outcome), found.run)
                if run.state is RunState.QUEUED:
                    run = _run(change.apply(take_run(change.project, found.run)), found.run)
                    values = {"owner": owner, "lease_until": now + LEASE_MS}
                    change.connection.execute(update(runs).where(runs.c.run == found.run).values(values))
                    return Lease(found.run, found.name, owner, run.attempt, run.call)

    def renew_lease(self, lease: Lease, stage: str, fraction: float) -> bool:
        """Renew the lease and record the progress; False if the run is no longer this worker's."""
        with self._database.write() as connection:
            # Its time counts from when the lock was had: others may have been written for seconds before.
            values = {"stage": stage[:32], "fraction": fraction, "lease_until": self._clock() + LEASE_MS}
            return connection.execute(update(runs).where(*_mine(lease)).values(values)).rowcount == 1

    def give_way(self, lease: Lease) -> bool:
        """Queue a run that waits for another party behind runs that a worker could go on with; False if none waits."""
        now = self._clock()
        with self._database.read() as connection:
            others = connection.execute(waiting(now).where(not_(gave_way(now)))).all()
            if not any(_may_be_taken(connection, row.name) for row in others):
                return False
        with self._own(lease) as change:
            change.apply(requeue_run(change.project, lease.run, Interruption.GAVE_WAY))
            paused = update(runs).where(runs.c.run == lease.run).values(lease_until=now + PAUSE_MS)
            change.connection.execute(paused)
        return True

    def request_row_handles(
        self, lease: Lease, pairs: int, contents: Mapping[str, Iterable[bytes]], by: JoinedBy
    ) -> None:
        """Store a run's artifacts and let it wait for handles, and for a resolver if any, in one transaction.

        `by`: the party that joins the rows, and so reads the handles.
        """
        owned = partial(self._own, lease)
        with self._artifacts.writing(owned, lease.owner, contents) as write, owned() as change:
            change.apply(request_row_handles(change.project, lease.run, pairs, by))
            write(change.connection, lease.run)

    def join(self, lease: Lease, member: str, records: Mapping[Side, int], maximum: int) -> None:
        """Record that the worker learned which rows of the run are one record; as `operations.join_rows`."""
        with self._own(lease) as change:
            change.apply(join_rows(change.project, lease.run, member, records, maximum))

    def finish(
        self,
        lease: Lease,
        links: int,
        shares: Mapping[str, Iterable[bytes]],
        policy_decision: PolicyDecision | None = None,
        compared: Collection[str] | None = None,
    ) -> None:
        """Store every recipient's share, end the run, and release, hold or refuse it, in one transaction.

        `shares`: by recipient, the share's bytes in parts of any length; with a policy decision also the report, as
        `REPORT`. `compared`: the runs whose releases it was assessed beside. The log's lock, which every release takes,
        makes one of two the first.
        """
        owned = partial(self._own, lease)
        with self._results.writing(owned, lease.owner, shares) as write, owned() as change:
            change.apply(finish_run(change.project, lease.run, links, policy_decision))
            if compared is not None:
                made = {trace.run for trace in of_custodians(change.connection, change.project)}
                if made - {lease.run, *compared}:
                    raise OvertakenError
            write(change.connection, lease.run)

    def fail(self, lease: Lease, error: str) -> None:
        """Fail the run; `error` holds no record's value."""
        with self._own(lease) as change:
            change.apply(fail_run(change.project, lease.run, error))

    def note_figures(self, name: str, run: str, stages: Mapping[str, float], sizes: Mapping[str, float]) -> None:
        """Store what a run has spent on its stages, added to what it spent before, and the sizes of its work.

        Of a project that is erased meanwhile nothing is stored.
        """
        with self._changes.of(name) as change:
            if change.project.state is State.ERASED:
                return
            connection = change.connection
            query = select(run_figures.c.name, run_figures.c.value).where(run_figures.c.run == run)
            before = {row.name: row.value for row in connection.execute(query)}
            spent = {STAGE + name[:32]: seconds for name, seconds in stages.items()}
            figures = {**dict(sizes), **{name: before.get(name, 0.0) + seconds for name, seconds in spent.items()}}
            if figures:
                names = run_figures.c.name.in_(figures)
                connection.execute(delete(run_figures).where(run_figures.c.run == run, names))
                rows = [{"run": run, "name": name, "value": value} for name, value in figures.items()]
                connection.execute(insert(run_figures), rows)

    def abandon(self, owner: str | None = None, cause: Interruption = Interruption.RESTARTED) -> int:
        """Requeue the runs of a worker that has ended (None: of all) as `operations.requeue_run`; returns how many."""
        which: list[ColumnElement[bool]] = [runs.c.active == 1, runs.c.state == int(RunState.RUNNING)]
        if owner is not None:
            which.append(runs.c.owner == owner)
        query = select(projects.c.name, runs.c.run).join(projects).where(*which)
        with self._database.read() as connection:
            found = connection.execute(query).all()
        count = 0
        for name, run in found:
            with self._changes.of(name) as change:
                if change.connection.execute(query.where(runs.c.run == run)).first() is not None:
                    change.apply(requeue_run(change.project, run, cause))
                    count += 1
        return count

    @contextmanager
    def _own(self, lease: Lease) -> Iterator[Change]:
        """A change by the worker that holds the run; WRONG_STATE if it is no longer this worker's."""
        with self._changes.of(lease.project) as change:
            if change.connection.execute(select(runs.c.run).where(*_mine(lease))).first() is None:
                what = "the run is no longer this worker's"
                got = f"attempt {lease.attempt}"
                raise GemelError(ErrorCode.WRONG_STATE, what, where=f"{lease.project}, run {lease.run}", got=got)
            yield change


def _mine(lease: Lease) -> tuple[Any, ...]:
    return (runs.c.run == lease.run, runs.c.active == 1, runs.c.owner == lease.owner, runs.c.attempt == lease.attempt)


def _run(project: Project, name: str) -> Run:
    run = project.run(name)
    assert run is not None  # noqa: S101 - a row of this project names it
    return run


def _may_be_taken(connection: Connection, project: str) -> bool:
    return not standstill(read_project(connection, project).project)
