"""The only way by which a project changes: lock it, read it, apply a pure operation, write what differs.

What an operation of `projects.operations` changes in a `Project` is written here, with its audit entries, in one
transaction. What a `Project` does not hold (a run's lease, an upload's chunks, a share) is written by the caller, in
the same transaction. The keys of erased payloads are destroyed in it, with an entry that proves it, and their files
removed after it; what a kill leaves of these, `retention` removes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, insert, select, update

from gemel.carole.projects.operations.outcome import Entry, Outcome
from gemel.carole.projects.project import Project, Run, RunState, State, Upload
from gemel.carole.projects.transitions import SYSTEM, Action
from gemel.carole.store import audit
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.encrypted_payloads import Clock, EncryptedPayloads
from gemel.carole.store.releases import record_release, released_counts
from gemel.carole.store.tables import (
    approvals,
    artifacts,
    declines,
    epochs,
    hand_overs,
    key_reports,
    messages,
    payloads,
    projects,
    release_signatures,
    results,
    run_figures,
    runs,
    uploads,
)
from gemel.carole.store.view import read_project
from gemel.common.parties import Side

Columns = dict[str, Any]
"""A row, or a part of one: values by the names of columns."""

_ENDED = {
    Action.EXPIRE_UPLOAD: "expired",
    Action.EXPIRE_RESULT: "erased",
    Action.ERASE: "erased",
    Action.DECLINE: "withdrawn",
    Action.NEW_EPOCH: "superseded",
}
"""Why an action ends an upload; any other action replaces it."""

_DIGESTS = 50
"""In one audit entry."""


class Changes:
    def __init__(self, database: Database, payloads: EncryptedPayloads, clock: Clock) -> None:
        self.database, self.payloads, self.clock = database, payloads, clock

    @contextmanager
    def of(self, name: str) -> Iterator[Change]:
        """A transaction that locks a project against other writers."""
        with self.database.write() as connection:
            held = read_project(connection, name, lock=True)
            change = Change(connection, held.id, held.project, self.clock(), self.payloads)
            yield change
            audit.append(connection, change.at, name, _destroyed(change.erased.values()))
        self.payloads.remove(change.erased)
        if change.erased:
            self.database.forget_deleted()

    def apply(self, name: str, operation: Callable[[Project, int], Outcome]) -> Project:
        """Apply an operation that needs only the project and the time; errors of the operation, and NOT_FOUND."""
        with self.of(name) as change:
            return change.apply(operation(change.project, change.at))


class Part:
    """A part of the store: it reads the database and payloads, and changes projects."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._database, self._payloads, self._clock = changes.database, changes.payloads, changes.clock


class Change:
    """A project within the transaction that changes it.

    `erased`: payloads whose keys are destroyed by the change, with the digests of these.
    """

    def __init__(
        self, connection: Connection, number: int, project: Project, at: int, payloads: EncryptedPayloads
    ) -> None:
        self.connection, self.id, self.project, self.at = connection, number, project, at
        self.erased: dict[str, str] = {}
        self._payloads = payloads

    def apply(self, outcome: Outcome) -> Project:
        """Write what an operation on `project` has changed, and its audit entries; returns the project after it."""
        if outcome.changed:
            before, after = self.project, outcome.project
            why = next((_ENDED[entry.action] for entry in outcome.entries if entry.action in _ENDED), "replaced")
            self._project(before, after)
            former, now = _rows(before), _rows(after)
            if after.epoch != before.epoch:
                former[epochs] = []  # those of before remain
            for table, rows in now.items():
                self._replace(table, former[table], rows)
            self._uploads(before, after, why)
            self._runs(before, after)
            self._acknowledged(before, after)
            if why in ("withdrawn", "superseded"):
                # What a run has made of these uploads, and no party has received.
                made = select(results.c.payload).join(runs, runs.c.run == results.c.run).where(runs.c.released == 0)
                self.erase(payloads.c.id.in_(made.where(runs.c.project == self.id)))
            if before.state is State.RELEASED and after.state is State.DRAFT and before.released_run is not None:
                # Sent under grants that no longer hold.
                self.erase_artifacts(artifacts.c.run == before.released_run.run)
            if after.state is State.ERASED and before.state is not State.ERASED:
                self.erase(~released_counts())
                expired = uploads.c.project == self.id, uploads.c.ended == "expired"
                self.connection.execute(update(uploads).where(*expired).values(ended="erased"))
                for table in (messages, key_reports):  # of every epoch
                    self.connection.execute(delete(table).where(table.c.project == self.id))
                of_project = select(runs.c.run).where(runs.c.project == self.id)
                self.connection.execute(delete(run_figures).where(run_figures.c.run.in_(of_project)))
            audit.append(self.connection, self.at, after.name, outcome.entries)
        self.project = outcome.project
        return outcome.project

    def erase(self, *which: ColumnElement[bool]) -> None:
        """Destroy the keys of payloads of the project; the change's last audit entry proves it."""
        self.erased |= self._payloads.erase(self.connection, and_(payloads.c.project == self.id, *which))

    def erase_artifacts(self, *which: ColumnElement[bool]) -> None:
        """Erase artifacts of runs and delete their rows."""
        self.erase(payloads.c.id.in_(select(artifacts.c.payload).where(*which)))
        self.connection.execute(delete(artifacts).where(*which))

    def _project(self, before: Project, after: Project) -> None:
        former, values = project_columns(before), project_columns(after)
        changed = {name: value for name, value in values.items() if former[name] != value}
        if changed:
            self.connection.execute(update(projects).where(projects.c.id == self.id).values(changed))

    def _replace(self, table: Table, before: Sequence[Columns], after: Sequence[Columns]) -> None:
        """Delete the rows that are gone or have changed, and insert the new ones."""
        keys = [column for column in table.primary_key if column.name != "project"]
        for row in before:
            if row not in after:
                which = table.c.project == self.id, *(column == row[column.name] for column in keys)
                self.connection.execute(delete(table).where(*which))
        if new := [{"project": self.id, "at": self.at, **row} for row in after if row not in before]:
            self.connection.execute(insert(table), new)

    def _uploads(self, before: Project, after: Project, why: str) -> None:
        former, now = _live(before), _live(after)
        for side, name in former.keys() - now.keys():
            which = uploads.c.project == self.id, uploads.c.side == str(side), uploads.c.upload == name
            self.erase(payloads.c.id.in_(select(uploads.c.payload).where(*which)))
            self.connection.execute(update(uploads).where(*which).values(ended=why, ended_at=self.at))
        for (side, name), upload in now.items():
            which = uploads.c.project == self.id, uploads.c.side == str(side), uploads.c.upload == name
            known = former.get((side, name))
            if known is None:
                # An expired upload of this name starts again, from nothing.
                self.connection.execute(delete(uploads).where(*which))
                self._begin(after, side, upload)
            elif upload.committed and not known.committed:
                self.connection.execute(update(uploads).where(*which).values(committed_at=self.at))

    def _begin(self, project: Project, side: Side, upload: Upload) -> None:
        last = self.connection.scalar(select(func.max(uploads.c.sequence)).where(uploads.c.project == self.id))
        names: dict[str, Any] = {"project": self.id, "side": str(side), "epoch": project.epoch, "begun_at": self.at}
        names |= {"sequence": 0 if last is None else last + 1}
        names |= {"payload": self._payloads.create(self.connection, self.id)}
        described = columns(upload, "upload", "rows", "total_bytes", "layout")
        self.connection.execute(insert(uploads).values(names | described))

    def _runs(self, before: Project, after: Project) -> None:
        former = {run.run: run for run in before.runs}
        for sequence, run in enumerate(after.runs):
            known, values = former.get(run.run), _run(run)
            if known is None:
                names = {"run": run.run, "request": run.request, "project": self.id, "sequence": sequence}
                names |= {"call": run.call}
                self.connection.execute(insert(runs).values(**names, **values, created_at=self.at))
            elif known != run:
                if run.released and not known.released:
                    record_release(self.connection, self.id, after, run.run, self.at)
                if run.state is not RunState.RUNNING:
                    values |= {"owner": None, "lease_until": None}
                if known.state.active and not run.state.active:
                    values["ended_at"] = self.at
                    self.erase_artifacts(artifacts.c.run == run.run)
                self.connection.execute(update(runs).where(runs.c.run == run.run).values(values))

    def _acknowledged(self, before: Project, after: Project) -> None:
        for side in after.acknowledged - before.acknowledged:
            assert after.released_run is not None  # noqa: S101 - only a share of it is acknowledged
            which = results.c.run == after.released_run.run, results.c.recipient == str(side.role)
            self.connection.execute(update(results).where(*which).values(acknowledged_at=self.at))


def _destroyed(digests: Iterable[str]) -> Iterator[Entry]:
    """Entries that prove the destruction of keys, by their digests."""
    pending = sorted(digests)
    for first in range(0, len(pending), _DIGESTS):
        part = pending[first : first + _DIGESTS]
        yield Entry(SYSTEM, Action.DESTROY_KEYS, {"keys": len(part), "sha256": " ".join(part)})


def project_columns(project: Project) -> Columns:
    """The changeable columns of a project's row."""
    return {
        **columns(project, "epoch", "specification_digest", "owner", "signatures"),
        "state": int(project.state),
        "grants": json.dumps({str(role): str(grant) for role, grant in sorted(project.grants.items())}),
        "policy": str(project.policy),
        "transfers": json.dumps(project.transfers),
    }


def columns(value: object, *names: str) -> Columns:
    """Columns that are called as what they hold."""
    return {name: getattr(value, name) for name in names}


def _rows(project: Project) -> dict[Table, list[Columns]]:
    """The rows of all that a project has several of, or may lack; those without a time get that of the change."""
    epoch = project.epoch
    return {
        approvals: [
            {"role": str(role), **columns(approval, "member", "digest", "signature", "at")}
            for role, approval in project.approvals.items()
        ],
        declines: [
            {"side": str(side), **columns(decline, "member", "digest", "reason", "signature", "at")}
            for side, decline in project.declines.items()
        ],
        epochs: [
            columns(opened, "epoch", "member", "reason", "signature", "at")
            for opened in (project.new_epoch,)
            if opened is not None
        ],
        hand_overs: [
            columns(offer.statement, "former", "successor", "reason")
            | columns(offer, "member", "signature", "at")
            | {"checkpoint": offer.statement.seen.to_text()}
            for offer in (project.hand_over,)
            if offer is not None
        ],
        messages: [
            {"epoch": epoch, "side": str(side), "kind": int(kind), "payload": payload}
            for (side, kind), payload in project.messages.items()
        ],
        key_reports: [
            {"epoch": epoch, "side": str(side), **columns(report, "key_check_value", "canary_digest")}
            | {"canary_parts": json.dumps({name: part.hex() for name, part in report.canary_parts.items()})}
            for side, report in project.reports.items()
        ],
        release_signatures: [
            columns(one, "run", "member", "identity", "report", "signature", "at") for one in project.release_signatures
        ],
    }


def _live(project: Project) -> dict[tuple[Side, str], Upload]:
    found = [*project.uploads.items(), *project.pending.items()]
    return {(side, upload.upload): upload for side, upload in found if not upload.expired}


def _run(run: Run) -> Columns:
    state = {"state": int(run.state), "active": 1 if run.state.active else None, "released": int(run.released)}
    return state | columns(run, "stage", "fraction", "error", "links", "attempt")
