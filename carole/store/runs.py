"""Runs as leased jobs: asked for by the coordinator, taken by a worker, taken up again when the worker dies.

A worker holds a run by its name and the run's attempt, until a time that it keeps moving forward. Whoever finds the
time past, or the owner known to be dead, may take the run for another attempt; the former owner can then no longer
write anything, however alive it turns out to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, insert, or_, select, update

from tryst.carole.projects import JoinedBy, Judgement, Project, Run, RunState, operations
from tryst.carole.projects.operations import Interruption
from tryst.carole.store.artifacts import Papers
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Clock
from tryst.carole.store.results import Results
from tryst.carole.store.tables import projects, runs
from tryst.carole.store.view import Held, hold, look, not_found, run_of, settle
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side

LEASE_MS = 60_000
"""How long a worker may be silent before its run is taken up again."""


@dataclass(frozen=True)
class Lease:
    """A worker's hold on a run."""

    run: str
    project: str
    owner: str
    attempt: int


class Runs:
    """Queues runs and hands them to workers."""

    def __init__(self, database: Database, results: Results, papers: Papers, clock: Clock) -> None:
        self._database = database
        self._results = results
        self._papers = papers
        self._clock = clock

    def start(self, name: str, member: str, request: str, run: str) -> Run:
        """Ask for a run; `run` is its name, if this request has none yet.

        A run that waits for handles or for the resolver, on which nobody works, is given up for a new one.

        Raises
        ------
        TrystError
            NOT_FOUND, WRONG_STATE, RUN_ACTIVE.
        """
        gone: list[str] = []
        with self._database.write() as connection:
            held = hold(connection, name)
            if all(known.request != request for known in held.project.runs):
                gone = self.give_up_waiting(connection, name, "another run was asked for while it waited")
                held = hold(connection, name) if gone else held
            outcome = operations.start_run(held.project, member, request, run)
            if outcome.changed:
                connection.execute(
                    insert(runs).values(
                        run=run,
                        project=held.id,
                        sequence=len(held.project.runs),
                        request=request,
                        state=int(RunState.QUEUED),
                        active=1,
                        stage="",
                        fraction=0.0,
                        error="",
                        links=0,
                        released=0,
                        attempt=0,
                        created_at=self._clock(),
                    )
                )
                settle(connection, held, outcome, self._clock())
        self._papers.remove(gone)
        return next(found for found in outcome.project.runs if found.request == request)

    def get(self, name: str, run: str) -> Run:
        """One run of a project.

        Raises
        ------
        TrystError
            NOT_FOUND.
        """
        with self._database.read() as connection:
            query = select(runs).join(projects).where(projects.c.name == name, runs.c.run == run)
            row = connection.execute(query).first()
        if row is None:
            raise not_found()
        return run_of(row)

    def take(self, owner: str) -> Lease | None:
        """Take the oldest run that waits, or whose worker has been silent for too long; None if there is none.

        A run that its worker has left is queued again on the way, or given up when its attempts are used up.
        """
        while True:
            now = self._clock()
            left = or_(runs.c.lease_until.is_(None), runs.c.lease_until < now)
            free = or_(runs.c.state == int(RunState.QUEUED), and_(runs.c.state == int(RunState.RUNNING), left))
            with self._database.read() as connection:
                waiting = (
                    select(projects.c.name, runs.c.run)
                    .join(projects)
                    .where(runs.c.active == 1, free)
                    .order_by(runs.c.created_at, runs.c.run)
                )
                found = connection.execute(waiting).first()
            if found is None:
                return None
            with self._database.write() as connection:
                held = hold(connection, found.name)
                # Another worker may have been quicker than the lock.
                if connection.execute(
                    select(runs.c.run).where(runs.c.run == found.run, runs.c.active == 1, free)
                ).first():
                    run = held.project.run(found.run)
                    assert run is not None  # noqa: S101 - the row above is of this project
                    if run.state is RunState.RUNNING:
                        self._requeue(connection, held, found.run, Interruption.LEASE_LOST)
                        continue
                    outcome = operations.take_run(held.project, found.run)
                    attempt = run.attempt + 1
                    connection.execute(
                        update(runs)
                        .where(runs.c.run == found.run)
                        .values(
                            state=int(RunState.RUNNING),
                            attempt=attempt,
                            owner=owner,
                            lease_until=now + LEASE_MS,
                            stage="",
                            fraction=0.0,
                        )
                    )
                    settle(connection, held, outcome, now)
                    return Lease(found.run, found.name, owner, attempt)

    def beat(self, lease: Lease, stage: str, fraction: float) -> bool:
        """Tell that the worker lives and how far it is; False if the run is no longer its own."""
        with self._database.write() as connection:
            done = connection.execute(
                update(runs)
                .where(*_mine(lease))
                .values(stage=stage[:32], fraction=fraction, lease_until=self._clock() + LEASE_MS)
            )
            return done.rowcount == 1

    def ask(self, lease: Lease, pairs: int, contents: Mapping[str, Iterable[bytes]], by: JoinedBy) -> None:
        """Store a run's papers and let it wait for handles, and for the resolver if there is one, in one transaction.

        Parameters
        ----------
        pairs
            Candidate pairs in question.
        by
            Who joins the rows, and so is to read the handles.
        contents
            Carole's papers by name.

        Raises
        ------
        TrystError
            WRONG_STATE if the run is no longer this worker's; nothing is stored then.
        """
        with self._papers.writing(lease.project, contents) as write, self._database.write() as connection:
            held = hold(connection, lease.project)
            _own(connection, lease)
            outcome = operations.ask_handles(held.project, lease.run, pairs, by)
            run = outcome.project.run(lease.run)
            assert run is not None  # noqa: S101 - the operation is about this run
            waiting = {"state": int(run.state), "stage": run.stage, "fraction": run.fraction}
            connection.execute(
                update(runs).where(runs.c.run == lease.run).values(**waiting, owner=None, lease_until=None)
            )
            write(connection, lease.run)
            settle(connection, held, outcome, self._clock())

    def join(self, lease: Lease, member: str, records: Mapping[Side, int], most: int) -> None:
        """Write down that the worker was told which rows of the run are one record; as `operations.join_rows`.

        Raises
        ------
        TrystError
            WRONG_STATE if the run is no longer this worker's.
        """
        with self._database.write() as connection:
            held = hold(connection, lease.project)
            _own(connection, lease)
            outcome = operations.join_rows(held.project, lease.run, member, records, most)
            settle(connection, held, outcome, self._clock())

    def finish(
        self,
        lease: Lease,
        links: int,
        shares: Mapping[str, Iterable[bytes]],
        judgement: Judgement | None = None,
    ) -> None:
        """Store every recipient's share, end the run, and release, hold or refuse it, in one transaction.

        Parameters
        ----------
        shares
            By recipient, the share's bytes in pieces of any length; with a judgement also the report, as `REPORT`.
        judgement
            What the assessment came to, where the specification asks for one.

        Raises
        ------
        TrystError
            WRONG_STATE if the run is no longer this worker's, or is not judged as it should be; nothing is stored then.
        """
        with self._results.writing(lease.project, shares) as write, self._database.write() as connection:
            held = hold(connection, lease.project)
            _own(connection, lease)
            outcome = operations.finish_run(held.project, lease.run, links, judgement)
            finished = outcome.project.run(lease.run)
            assert finished is not None  # noqa: S101 - it was running
            now = self._clock()
            connection.execute(
                update(runs)
                .where(runs.c.run == lease.run)
                .values(
                    state=int(RunState.DONE),
                    active=None,
                    links=links,
                    released=int(finished.released),
                    fraction=1.0,
                    lease_until=None,
                    ended_at=now,
                )
            )
            write(connection, lease.run)
            gone = self._papers.end(connection, held.id)
            settle(connection, held, outcome, now)
        self._papers.remove(gone)

    def decide(self, name: str, member: str, run: str, reason: str, signature: bytes, *, release: bool) -> Project:
        """Keep a steward's decision on a held result, whose signature has been verified.

        Raises
        ------
        TrystError
            NOT_FOUND, NOT_ADMITTED, WRONG_STATE; PARAMETER for no reason.
        """
        with self._database.write() as connection:
            held = hold(connection, name)
            outcome = operations.decide(held.project, member, run, reason, signature, release=release)
            if release:
                connection.execute(update(runs).where(runs.c.run == run).values(released=1))
            settle(connection, held, outcome, self._clock())
            return outcome.project

    def fail(self, lease: Lease, error: str) -> None:
        """Give the run up; `error` holds no record's value.

        Raises
        ------
        TrystError
            WRONG_STATE if the run is no longer this worker's.
        """
        with self._database.write() as connection:
            hold(connection, lease.project)
            _own(connection, lease)
            gone = self._fail(connection, lease.project, lease.run, error)
        self._papers.remove(gone)

    def give_up_waiting(self, connection: Connection, name: str, error: str) -> list[str]:
        """Give up a run that waits for handles or for the resolver; returns the bodies to remove after the commit."""
        run = look(connection, name).project.active_run
        if run is None or run.state is not RunState.RESOLVING:
            return []
        return self._fail(connection, name, run.run, error)

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
            with self._database.write() as connection:
                held = hold(connection, name)
                if connection.execute(query.where(runs.c.run == run)).first() is not None:
                    self._requeue(connection, held, run, cause)
                    count += 1
        return count

    def end(self, connection: Connection, project: int, error: str) -> list[str]:
        """End a project's active run and erase its papers; returns the bodies to remove after the commit."""
        connection.execute(
            update(runs)
            .where(runs.c.project == project, runs.c.active == 1)
            .values(state=int(RunState.FAILED), active=None, error=error, lease_until=None, ended_at=self._clock())
        )
        return self._papers.end(connection, project)

    def _requeue(self, connection: Connection, held: Held, run: str, cause: Interruption) -> None:
        outcome = operations.requeue_run(held.project, run, cause)
        after = outcome.project.run(run)
        assert after is not None  # noqa: S101 - the operation is about this run
        values = {"state": int(after.state), "attempt": after.attempt, "stage": after.stage, "fraction": after.fraction}
        ended = {} if after.state.active else {"active": None, "error": after.error, "ended_at": self._clock()}
        connection.execute(
            update(runs).where(runs.c.run == run).values(owner=None, lease_until=None, **values, **ended)
        )
        settle(connection, held, outcome, self._clock())

    def _fail(self, connection: Connection, name: str, run: str, error: str) -> list[str]:
        held = look(connection, name)
        outcome = operations.fail_run(held.project, run, error)
        gone = self.end(connection, held.id, error)
        settle(connection, held, outcome, self._clock())
        return gone


def _mine(lease: Lease) -> tuple[Any, ...]:
    return (
        runs.c.run == lease.run,
        runs.c.active == 1,
        runs.c.owner == lease.owner,
        runs.c.attempt == lease.attempt,
    )


def _own(connection: Connection, lease: Lease) -> None:
    if not connection.scalar(select(func.count()).select_from(runs).where(*_mine(lease))):
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "the run is no longer this worker's",
            where=f"{lease.project}, run {lease.run}",
            got=f"attempt {lease.attempt}",
        )
