"""The outcome of an operation: the project after it, and its audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gemel.carole.projects.project import Project, State
from gemel.carole.projects.transitions import Action, Transition, arrive

Detail = str | int | float | bool


@dataclass(frozen=True)
class Entry:
    """An entry for the audit log: who did what, with details that hold no value."""

    actor: str
    action: Action
    details: Mapping[str, Detail] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Outcome:
    """A project after an operation, and its audit entries; no entry means that nothing changed."""

    project: Project
    entries: tuple[Entry, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.entries)

    def then(self, second: Outcome) -> Outcome:
        """The outcome of two operations, both or neither of which happen, the second applied to this one's project."""
        return Outcome(second.project, self.entries + second.entries)


def move(row: Transition, after: Project, actor: str, details: Mapping[str, Detail]) -> Outcome:
    """The outcome of a transition that has left the project as `after`, in the resulting state."""
    state = arrive(row, after)
    described = dict(details)
    if state is not after.state:
        described["state"] = state.name
    # A release that is signed in part is one of a held result: whatever ends that ends these.
    signed = after.release_signatures if state is State.HELD else ()
    return Outcome(replace(after, state=state, release_signatures=signed), (Entry(actor, row.action, described),))
