"""Projects: their creation, consents, letters and key reports, and their end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from tryst.carole.projects import Approval, Grant, KeyReport, LetterKind, Policy, Project, State, operations
from tryst.carole.projects.operations import Entry
from tryst.carole.projects.transitions import Action
from tryst.carole.store import audit
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Bodies, Clock
from tryst.carole.store.results import Results
from tryst.carole.store.runs import Runs
from tryst.carole.store.tables import approvals, key_reports, letters, projects
from tryst.carole.store.uploads import Uploads
from tryst.carole.store.view import Held, all_held, hold, look, settle
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role, Side


@dataclass(frozen=True)
class NewProject:
    """What a specification, which has been checked, says of its project."""

    name: str
    specification: str
    specification_digest: bytes
    encoding_digest: bytes
    grants: Mapping[Role, Grant]
    policy: Policy
    uploads_days: int
    results_days: int


class Registry:
    """Projects by name."""

    def __init__(
        self, database: Database, bodies: Bodies, uploads: Uploads, runs: Runs, results: Results, clock: Clock
    ) -> None:
        self._database = database
        self._bodies = bodies
        self._uploads = uploads
        self._runs = runs
        self._results = results
        self._clock = clock

    def create(self, new: NewProject, member: str) -> Project:
        """Create a project in DRAFT. The same specification again is harmless.

        Raises
        ------
        TrystError
            EXISTS if there is a project of this name with another specification.
        """
        with self._database.write() as connection:
            if connection.execute(select(projects.c.id).where(projects.c.name == new.name)).first() is None:
                try:
                    with connection.begin_nested():
                        self._insert(connection, new, member)
                except IntegrityError:
                    pass  # another caller was quicker; what it made is compared below
            project = look(connection, new.name).project
        if project.specification_digest != new.specification_digest:
            raise TrystError(
                ErrorCode.EXISTS,
                "there is a project of this name with another specification",
                where=new.name,
                remedy="give the new one another name: what was agreed is not changed afterwards",
            )
        return project

    def amend(self, new: NewProject, member: str) -> Project:
        """Put another specification in the place of a project's; errors as `operations.amend`, and NOT_FOUND.

        A run that waits for handles or for the resolver is given up for it: what it waits for may be what is amended.
        """
        gone: list[str] = []
        with self._database.write() as connection:
            held = hold(connection, new.name)
            if held.project.specification_digest != new.specification_digest:
                gone = self._runs.give_up_waiting(connection, new.name, "the specification was amended while it waited")
                held = hold(connection, new.name) if gone else held
            outcome = operations.amend(
                held.project, member, new.specification_digest, new.encoding_digest, new.grants, new.policy
            )
            if outcome.changed:
                connection.execute(delete(approvals).where(approvals.c.project == held.id))
                connection.execute(
                    update(projects)
                    .where(projects.c.id == held.id)
                    .values(
                        specification=new.specification,
                        specification_digest=new.specification_digest,
                        grants=_written(new.grants),
                        policy=str(new.policy),
                        uploads_days=new.uploads_days,
                        results_days=new.results_days,
                    )
                )
                settle(connection, held, outcome, self._clock())
        self._bodies.remove(gone)
        return outcome.project

    def get(self, name: str) -> Project:
        """A project.

        Raises
        ------
        TrystError
            NOT_FOUND.
        """
        with self._database.read() as connection:
            return look(connection, name).project

    def all(self) -> list[Project]:
        """Every project, oldest first."""
        with self._database.read() as connection:
            return [held.project for held in all_held(connection)]

    def specification(self, name: str) -> str:
        """A project's specification as its coordinator wrote it.

        Raises
        ------
        TrystError
            NOT_FOUND.
        """
        with self._database.read() as connection:
            look(connection, name)
            return str(connection.execute(select(projects.c.specification).where(projects.c.name == name)).scalar_one())

    def version(self) -> int:
        """A number that grows whenever any project changes: cheap to ask for again and again."""
        with self._database.read() as connection:
            return audit.last(connection)

    def approve(self, name: str, role: Role, member: str, digest: bytes, signature: bytes) -> Project:
        """Keep a consent whose signature has been verified; errors as `operations.approve`, and NOT_FOUND."""
        with self._database.write() as connection:
            held = hold(connection, name)
            approval = Approval(member, digest, signature, self._clock())
            outcome = operations.approve(held.project, role, approval)
            if outcome.changed:
                connection.execute(
                    insert(approvals).values(
                        project=held.id,
                        role=str(role),
                        member=member,
                        digest=digest,
                        signature=signature,
                        at=approval.at,
                    )
                )
                settle(connection, held, outcome, approval.at)
            return outcome.project

    def post_letter(self, name: str, side: Side, member: str, epoch: int, kind: LetterKind, body: bytes) -> Project:
        """Keep a letter for the other custodian; errors as `operations.post_letter`, and NOT_FOUND."""
        with self._database.write() as connection:
            held = hold(connection, name)
            outcome = operations.post_letter(held.project, side, member, epoch, kind, body)
            if outcome.changed:
                now = self._clock()
                connection.execute(
                    insert(letters).values(
                        project=held.id, epoch=epoch, side=str(side), kind=int(kind), body=body, at=now
                    )
                )
                settle(connection, held, outcome, now)
            return outcome.project

    def report_keys(self, name: str, side: Side, member: str, epoch: int, report: KeyReport) -> Project:
        """Keep a custodian's key report, in place of its former one; errors as `operations.report_keys`.

        That two reports are unequal is no error here: they are kept, and `operations.key_trouble` tells.
        """
        with self._database.write() as connection:
            held = hold(connection, name)
            outcome = operations.report_keys(held.project, side, member, epoch, report)
            if outcome.changed:
                now = self._clock()
                which = (
                    key_reports.c.project == held.id,
                    key_reports.c.epoch == epoch,
                    key_reports.c.side == str(side),
                )
                connection.execute(delete(key_reports).where(*which))
                connection.execute(
                    insert(key_reports).values(
                        project=held.id,
                        epoch=epoch,
                        side=str(side),
                        key_check_value=report.key_check_value,
                        canary_digest=report.canary_digest,
                        at=now,
                    )
                )
                settle(connection, held, outcome, now)
            return outcome.project

    def erase(self, name: str, role: Role, member: str) -> Project:
        """Destroy the keys of whatever was stored for a project; errors as `operations.erase`, and NOT_FOUND."""
        with self._database.write() as connection:
            held = hold(connection, name)
            outcome = operations.erase(held.project, role, member)
            gone = self.clear(connection, held) if outcome.changed else []
            settle(connection, held, outcome, self._clock())
        self._bodies.remove(gone)
        if outcome.changed:
            self._database.forget_deleted()
        return outcome.project

    def clear(self, connection: Connection, held: Held) -> list[str]:
        """Erase all that a project holds; returns the bodies to remove after the commit."""
        gone = self._uploads.end(connection, held, "erased")
        gone += self._results.end(connection, held.id)
        gone += self._runs.end(connection, held.id, "the project was erased")
        for table in (letters, key_reports):
            _forget(connection, table, held.id)
        return gone

    def _insert(self, connection: Connection, new: NewProject, member: str) -> None:
        now = self._clock()
        connection.execute(
            insert(projects).values(
                name=new.name,
                specification=new.specification,
                specification_digest=new.specification_digest,
                encoding_digest=new.encoding_digest,
                grants=_written(new.grants),
                policy=str(new.policy),
                uploads_days=new.uploads_days,
                results_days=new.results_days,
                state=int(State.DRAFT),
                epoch=1,
                created_at=now,
            )
        )
        details: dict[str, Any] = {
            "specification_digest": new.specification_digest.hex(),
            "encoding_digest": new.encoding_digest.hex(),
            "state": State.DRAFT.name,
        }
        audit.append(connection, now, new.name, [Entry(member, Action.CREATE, details)])


def _written(grants: Mapping[Role, Grant]) -> str:
    return json.dumps({str(role): str(grant) for role, grant in grants.items()})


def _forget(connection: Connection, table: Table, project: int) -> None:
    connection.execute(delete(table).where(table.c.project == project))
