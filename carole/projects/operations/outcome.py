"""What an operation leaves: the project as it will be, and what the audit log says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tryst.carole.projects.project import Project
from tryst.carole.projects.transitions import Action, Transition, arrive

Detail = str | int | float | bool


@dataclass(frozen=True)
class Entry:
    """What the audit log is to say: who did what, with details that hold no value."""

    actor: str
    action: Action
    details: Mapping[str, Detail] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Outcome:
    """A project after an operation, and what the audit log says of it; no entry means that nothing changed."""

    project: Project
    entries: tuple[Entry, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the operation did anything."""
        return bool(self.entries)

    def then(self, second: Outcome) -> Outcome:
        """The outcome of two operations that stand or fall together, the second one done to this one's project."""
        return Outcome(second.project, self.entries + second.entries)


def move(row: Transition, after: Project, actor: str, details: Mapping[str, Detail]) -> Outcome:
    """The outcome of a transition that has left the project as `after`, in the state where that leads."""
    state = arrive(row, after)
    described = dict(details)
    if state is not after.state:
        described["state"] = state.name
    return Outcome(replace(after, state=state), (Entry(actor, row.action, described),))
