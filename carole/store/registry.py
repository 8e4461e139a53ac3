"""Projects: their creation, consents, agreement messages and key reports, owners, and their end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from gemel.carole.projects.operations.consent import amend, hand_over, take_over
from gemel.carole.projects.operations.outcome import Entry
from gemel.carole.projects.project import Approval, PendingHandOver, Project, State, Terms
from gemel.carole.projects.transitions import Action
from gemel.carole.store import audit
from gemel.carole.store.changes import Part, columns, project_columns
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.database import STATE, counter
from gemel.carole.store.tables import approvals, projects, runs
from gemel.carole.store.tables import audit as entries
from gemel.carole.store.view import Held, all_held, read_project
from gemel.common.audit import Checkpoint
from gemel.common.audit.statements import HandOver, TakeOver
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.common.specification.model.content import RELEASES_DAYS

# Projects of the same two custodians that were released lately: many of them are what repeated probing looks like.

DAYS = 365
"""Releases older than this are not counted."""


@dataclass(frozen=True)
class FormerProjects:
    projects: int
    """Other projects of which a run was released within `DAYS` days."""
    links: int
    """Links of the newest such run of each, in all."""


@dataclass(frozen=True, kw_only=True)
class NewProject(Terms):
    """The project's properties from a validated specification."""

    name: str
    specification: str
    uploads_days: int
    results_days: int
    releases_days: int = RELEASES_DAYS


class Registry(Part):
    """Projects by name, kept in memory as long as nothing is written: every custodian asks for them, again and again.

    A call costs one query of one row where nothing was written since the last. It is the database that says so: nothing
    depends on who writes, or from which process.
    """

    _read: tuple[int | None, Mapping[str, Held]] = None, MappingProxyType({})
    """A state of the database, and the projects in it by name, in the order they were created."""

    def create(self, new: NewProject, member: str) -> Project:
        """Create a project in DRAFT, which belongs to `member`. The same specification again is harmless."""
        with self._database.write() as connection:
            if connection.execute(select(projects.c.id).where(projects.c.name == new.name)).first() is None:
                try:
                    with connection.begin_nested():
                        self._insert(connection, new, member)
                except IntegrityError:
                    pass  # another caller was faster; its project is compared below
            project = read_project(connection, new.name).project
        if project.specification_digest != new.specification_digest:
            what = "a project of this name exists with another specification"
            remedy = "give the new project another name: an agreed specification is not replaced"
            raise GemelError(ErrorCode.EXISTS, what, where=new.name, remedy=remedy)
        if project.owner != member:
            what = "a project of this name belongs to another coordinator"
            remedy = "give the new project another name"
            raise GemelError(ErrorCode.EXISTS, what, where=new.name, got=f"owner {project.owner}", remedy=remedy)
        return project

    def amend(self, new: NewProject, member: str) -> Project:
        """Replace a project's specification; errors as `operations.amend`, and NOT_FOUND.

        A run that waits for handles or for the resolver is ended: the amendment may change what it waits for.
        """
        with self._changes.of(new.name) as change:
            outcome = amend(change.project, member, new)
            change.apply(outcome)
            if outcome.changed:
                change.connection.execute(update(projects).where(projects.c.id == change.id).values(_kept(new)))
            return outcome.project

    def get(self, name: str) -> Project:
        return self._held(name).project

    def all(self) -> list[Project]:
        """Every project, oldest first."""
        state, held = self._read
        if state != self._state():
            with self._database.read() as connection:
                held = {one.project.name: one for one in all_held(connection)}
                self._read = counter(connection, STATE), held
        return [one.project for one in held.values()]

    def owners(self) -> set[str]:
        """The coordinators that projects which are not erased belong to."""
        query = select(projects.c.owner).where(projects.c.state != int(State.ERASED), projects.c.owner.is_not(None))
        with self._database.read() as connection:
            return set(connection.scalars(query.distinct()))

    def specification(self, name: str) -> str:
        """A project's specification as its coordinator wrote it."""
        return self._held(name).specification

    def former(self) -> Callable[[str], FormerProjects]:
        """Of a project's name: how many other projects of its custodians were released lately, with how many links.

        None before both have approved. Erased projects count: approvals and numbers of links stay when a project is
        erased. O(projects) once.
        """
        consented = (
            select(projects.c.name, approvals.c.role, approvals.c.member)
            .join(approvals, approvals.c.project == projects.c.id)
            .where(approvals.c.role.in_([str(side.role) for side in Side]))
        )
        released = (
            select(projects.c.name, runs.c.links)
            .join(runs, runs.c.project == projects.c.id)
            .where(runs.c.released == 1, runs.c.ended_at > self._clock() - DAYS * DAY_MS)
            .order_by(runs.c.sequence)
        )
        parties: dict[str, dict[str, str]] = {}
        with self._database.read() as connection:
            for row in connection.execute(consented):
                parties.setdefault(row.name, {})[row.role] = row.member
            links = {row.name: int(row.links) for row in connection.execute(released)}

        released_of: dict[frozenset[tuple[str, str]], list[int]] = defaultdict(list)
        for name, number in links.items():
            released_of[frozenset(parties.get(name, {}).items())].append(number)
        sums = {both: FormerProjects(len(numbers), sum(numbers)) for both, numbers in released_of.items()}

        def others(name: str) -> FormerProjects:
            own = parties.get(name, {})
            all_of = sums.get(frozenset(own.items()))
            if len(own) < len(Side) or all_of is None:
                return FormerProjects(0, 0)
            if name not in links:
                return all_of
            return FormerProjects(all_of.projects - 1, all_of.links - links[name])

        return others

    def version(self) -> int:
        """A number that grows whenever any project changes: cheap to poll."""
        with self._database.glance() as connection:
            return audit.last(connection)

    def hand_over(self, role: Role, member: str, statement: HandOver, signature: bytes) -> Project:
        """Keep an offer whose signature has been verified; errors as `operations.hand_over`, NOT_FOUND, and AUDIT for a
        statement of a time before the present owner's.
        """
        with self._changes.of(statement.project) as change:
            _require_newer(change.connection, statement.project, statement.seen)
            pending = PendingHandOver(statement, member, signature, change.at)
            return change.apply(hand_over(change.project, role, pending))

    def take_over(
        self, statement: TakeOver, signature: bytes, digest: bytes, consent: bytes, epoch: int, opening: bytes = b""
    ) -> Project:
        """Make a coordinator the owner; errors as `operations.take_over`, NOT_FOUND, and AUDIT as `hand_over`.

        All signatures have been verified: of its act, of its `consent` to the specification of this digest, and, after
        the first epoch, of the `opening` of the one that the project is in.
        """
        with self._changes.of(statement.project) as change:
            if change.project.owner != statement.successor:
                _require_newer(change.connection, statement.project, statement.seen)
            approval = Approval(statement.successor, digest, consent, change.at, epoch)
            opened = change.project.new_epoch
            signed = None
            if opened is not None and opening:
                signed = replace(opened, member=statement.successor, signature=opening, at=change.at)
            return change.apply(take_over(change.project, statement, signature, approval, signed))

    def _held(self, name: str) -> Held:
        state, held = self._read
        if name in held and state == self._state():
            return held[name]
        with self._database.read() as connection:
            return read_project(connection, name)

    def _state(self) -> int:
        with self._database.glance() as connection:
            return counter(connection, STATE)

    def _insert(self, connection: Connection, new: NewProject, member: str) -> None:
        now = self._clock()
        project = Project(new.name, **new.parts, owner=member)
        names = {"name": new.name, "encoding_digest": new.encoding_digest, "created_at": now}
        connection.execute(insert(projects).values(**names, **project_columns(project), **_kept(new)))
        details: dict[str, Any] = {
            "specification_digest": new.specification_digest.hex(),
            "encoding_digest": new.encoding_digest.hex(),
            "state": State.DRAFT.name,
        }
        audit.append(connection, now, new.name, [Entry(member, Action.CREATE, details)])


def _require_newer(connection: Connection, project: str, seen: Checkpoint) -> None:
    """Refuse a statement that was signed before the project came to its present owner: it is not about that one."""
    came = entries.c.action.in_([str(Action.CREATE), str(Action.TAKE_OVER)])
    query = select(func.max(entries.c.sequence)).where(entries.c.project == project, came)
    if seen.size < (connection.scalar(query) or 0):
        raise audit.no_such_checkpoint(seen.size)


def _kept(new: NewProject) -> dict[str, Any]:
    """What is kept from a specification besides what the rules use."""
    return columns(new, "specification", "uploads_days", "results_days", "releases_days")
