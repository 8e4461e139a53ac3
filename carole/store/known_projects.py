"""All projects, kept in memory as long as nothing is written: every custodian asks for them, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gemel.carole.store.database import Database, state_of
from gemel.carole.store.view import Held, all_held, read_project


@dataclass(frozen=True)
class _Known:
    """Projects by name in the order they were created, in one state of the database."""

    state: int | None
    projects: Mapping[str, Held]


class KnownProjects:
    """Reads projects; what was read in the database's present state is not read again.

    A call costs one query of one row where nothing was written since the last. It is the database that says so: nothing
    depends on who writes, or from which process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known = _Known(None, {})

    def all(self) -> list[Held]:
        """Every project, oldest first."""
        known = self._known
        if known.state != self._state():
            with self._database.read() as connection:
                known = _Known(state_of(connection), {held.project.name: held for held in all_held(connection)})
            self._known = known
        return list(known.projects.values())

    def one(self, name: str) -> Held:
        """A project.

        Raises
        ------
        GemelError
            NOT_FOUND.
        """
        known = self._known
        if name in known.projects and known.state == self._state():
            return known.projects[name]
        with self._database.read() as connection:
            return read_project(connection, name)

    def _state(self) -> int:
        with self._database.glance() as connection:
            return state_of(connection)
