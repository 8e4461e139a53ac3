"""What was released: every release of the same custodians, in whatever project, and the counts that are kept of it.

A release leaves a row in the transaction that makes it. Its counts, in the form of `released_counts` of the
assessment, are a payload under a key of its own. That key outlives the project, and is
destroyed by `retention` when the days are over that the specification gives them.

A store that was put back has lost the releases since its backup. Of those that a party names when it accepts the
restored log, at least that they were made is known; and the counts, where the store still has the run as one that
waits for a steward.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import BigInteger, Column, ColumnElement, Connection, Select, cast, exists, insert, select

from gemel.carole.projects.project import Project, State
from gemel.carole.projects.transitions import Action
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads
from gemel.carole.store.tables import audit, payloads, projects, releases, results, runs
from gemel.carole.store.view import read_project
from gemel.common.parties import CUSTODIANS, Side

# What stays of a release when its project is erased: that it was made, and the counts of its tables.

COUNTS = "counts"
"""The recipient under which the counts of a run's tables are stored: no party's share."""


def released_counts() -> ColumnElement[bool]:
    """Whether a payload is the counts of a release."""
    return exists().where(
        results.c.payload == payloads.c.id, results.c.recipient == COUNTS, releases.c.run == results.c.run
    )


def record_release(connection: Connection, number: int, project: Project, run: str, at: int) -> None:
    days = connection.execute(select(projects.c.releases_days).where(projects.c.id == number)).scalar_one()
    values = {"run": run, "project": number, "at": at, "days": days}
    values |= {str(side): project.approvals[side.role].member for side in Side}
    values |= {"specification_digest": project.specification_digest}
    connection.execute(insert(releases).values(values))


class Kept(StrEnum):
    COUNTS = "counts"
    NONE = "no counts were kept"
    EXPIRED = "the counts were erased when their days were over"
    LOST = "the release was lost when the store was put back from a backup"


@dataclass(frozen=True)
class ReleaseTrace:
    run: str
    project: str
    """`run`, `project`: what was released."""
    owner: str
    """The coordinator that the project belongs to; empty of one that was lost."""
    alice: str
    bob: str
    """`alice`, `bob`: the custodians, by their names in the membership list; empty of one that was lost."""
    specification_digest: bytes
    """Empty of one that was lost."""
    links: int
    at: int
    """Milliseconds since 1970; 0 of one that was lost."""
    kept: Kept


def in_ms(days: Column[int]) -> ColumnElement[int]:
    """Days as milliseconds, which PostgreSQL would multiply in 32 bits."""
    return cast(days, BigInteger) * DAY_MS


def counts_due(now: int) -> Select[tuple[str, str]]:
    """Project and payload of the counts of every release whose days are over."""
    return (
        select(projects.c.name, payloads.c.id)
        .join(releases, releases.c.project == projects.c.id)
        .join(results, results.c.run == releases.c.run)
        .join(payloads, payloads.c.id == results.c.payload)
        .where(
            results.c.recipient == COUNTS,
            payloads.c.wrapped_key.is_not(None),
            releases.c.at + in_ms(releases.c.days) <= now,
        )
    )


class Releases:
    def __init__(self, database: Database, payloads: EncryptedPayloads) -> None:
        self._database, self._payloads = database, payloads

    def earlier(self, name: str) -> list[ReleaseTrace]:
        """The releases of a project's custodians so far, oldest first: the project's own and those of other projects.

        Custodians are the same if both their names in the membership list are. A release that was lost belongs to all.
        """
        with self._database.read() as connection:
            return of_custodians(connection, read_project(connection, name).project)

    def held_counts(self, name: str, run: str) -> bytes | None:
        """The counts of the run that a project holds for a steward; None if it does not hold it, or there are none."""
        with self._database.read() as connection:
            project = read_project(connection, name).project
            held = project.state is State.HELD and project.newest_run is not None and project.newest_run.run == run
        return self._read(name, run) if held else None

    def since(self, name: str, run: str) -> list[ReleaseTrace]:
        """The releases of a project's custodians whose counts are kept, made after a run of the project had ended."""
        with self._database.read() as connection:
            made = of_custodians(connection, read_project(connection, name).project)
            ended = connection.execute(select(runs.c.ended_at).where(runs.c.run == run)).scalar()
        return [one for one in made if one.run != run and one.kept is Kept.COUNTS and ended and one.at >= ended]

    def counts(self, trace: ReleaseTrace) -> bytes | None:
        """The counts of a release; None if there are none, or they have been erased meanwhile."""
        return self._read(trace.project, trace.run)

    def _read(self, project: str, run: str) -> bytes | None:
        with self._database.read() as connection:
            payload = _counted(connection, run)
            return None if payload is None else self._payloads.whole(connection, payload, project)


def of_custodians(connection: Connection, project: Project) -> list[ReleaseTrace]:
    """As `Releases.earlier`, within a transaction."""
    present = {role: approval.member for role, approval in project.approvals.items()}
    members = {present.get(role, "") for role in CUSTODIANS}
    made = list(_traces(connection))
    lost = list(_lost(connection, {trace.run for trace in made}))
    return [*(one for one in made if {one.alice, one.bob} == members), *lost]


def _traces(connection: Connection) -> Iterator[ReleaseTrace]:
    counted = (results.c.run == releases.c.run) & (results.c.recipient == COUNTS)
    query = (
        select(
            releases,
            projects.c.name,
            projects.c.owner,
            runs.c.links,
            results.c.payload,
            payloads.c.wrapped_key.is_not(None).label("readable"),
        )
        .join(projects, projects.c.id == releases.c.project)
        .join(runs, runs.c.run == releases.c.run)
        .outerjoin(results, counted)
        .outerjoin(payloads, payloads.c.id == results.c.payload)
        .order_by(releases.c.at, releases.c.run)
    )
    for row in connection.execute(query):
        kept = Kept.NONE if row.payload is None else Kept.COUNTS if row.readable else Kept.EXPIRED
        yield ReleaseTrace(
            row.run, row.name, row.owner, row.alice, row.bob, bytes(row.specification_digest), row.links, row.at, kept
        )


def _lost(connection: Connection, known: set[str]) -> Iterator[ReleaseTrace]:
    """Releases that only the parties remember: named when they accepted a restored log, and not in the store."""
    decided = audit.c.action.in_([str(Action.ACCEPT_RESTORE), str(Action.REFUSE_RESTORE)])
    query = select(audit.c.project, audit.c.details).where(decided).order_by(audit.c.sequence)
    for row in connection.execute(query).all():
        for part in json.loads(row.details)["released"].split():
            run = part.partition(":")[0]
            if run not in known:
                known.add(run)
                kept = Kept.LOST if _counted(connection, run) is None else Kept.COUNTS
                yield ReleaseTrace(run, row.project, "", "", "", b"", 0, 0, kept)


def _counted(connection: Connection, run: str) -> str | None:
    """The payload of a run's counts, if there are any that can be read, released or not."""
    found = connection.execute(
        select(results.c.payload)
        .join(payloads, payloads.c.id == results.c.payload)
        .where(results.c.run == run, results.c.recipient == COUNTS, payloads.c.wrapped_key.is_not(None))
    ).scalar()
    return None if found is None else str(found)
