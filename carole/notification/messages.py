"""Messages from what has happened: from entries of the audit log, and from certificates that end soon. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from gemel.carole.notification.message import Event, Message
from gemel.carole.projects import Project, State
from gemel.carole.projects.transitions import Action
from gemel.common.audit import AuditEntry
from gemel.common.parties import Role
from gemel.common.pki.ending import EndingCertificate

_ENDINGS = {
    Action.HOLD: (Event.HELD, State.HELD),
    Action.FAIL_RUN: (Event.FAILED, State.CONTRIBUTED),
    Action.REFUSE: (Event.REFUSED, State.ASSESSED),
    Action.RELEASE: (Event.RELEASED, State.RELEASED),
}
"""How a run ends, by the action, and the project's state after it."""

_CONSENT = frozenset({Action.CREATE, Action.AMEND, Action.NEW_EPOCH, Action.DECLINE})
"""After which approvals are missing. Not after each approval: who is still missing has been notified."""


class Named(Protocol):
    """Gives the names of the members in a role."""

    def __call__(self, role: Role) -> tuple[str, ...]: ...


def messages(entries: Iterable[AuditEntry], project: Callable[[str], Project], named: Named) -> Iterator[Message]:
    """The messages about entries of the log, oldest first.

    Parameters
    ----------
    project
        Gives a project of the entries, by its name, as it is now.
    named
        The names of a role's members.

    Notes
    -----
    Of several entries by which one project waits for approvals, the newest counts, and none if it no longer waits.
    """
    entries = list(entries)
    requested = {entry.project: entry.sequence for entry in entries if entry.action in _CONSENT}
    for entry in entries:
        if entry.action in _ENDINGS:
            event, state = _ENDINGS[Action(entry.action)]
            whom = _decider(event, project(entry.project), named)
            run = str(entry.details["run"])
            yield Message(_id(entry), event, entry.at, entry.project, run, state.name, whom)
        elif requested.get(entry.project) == entry.sequence:
            now = project(entry.project)
            if now.state is State.DRAFT:
                whom = _missing(now, named)
                yield Message(_id(entry), Event.WAITING, entry.at, entry.project, "", now.state.name, whom)


def _id(entry: AuditEntry) -> str:
    # The leaf, as it is salted: after a restoration another entry may have the same number.
    return entry.leaf.hex()[:32]


def _owner(project: Project, named: Named) -> tuple[str, ...]:
    return (project.owner,) if project.owner else named(Role.COORDINATOR)


def _decider(event: Event, project: Project, named: Named) -> tuple[str, ...]:
    if event is Event.RELEASED:
        return ()
    return named(Role.STEWARD) if event is Event.HELD else _owner(project, named)


def _missing(project: Project, named: Named) -> tuple[str, ...]:
    roles = [role for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B) if role not in project.approvals]
    whom = (_owner(project, named) if role is Role.COORDINATOR else named(role) for role in roles)
    return tuple(name for names in whom for name in names)


def certificate_messages(endings: Mapping[str, EndingCertificate], now: int) -> Iterator[Message]:
    """A message about each certificate that ends soon: the same one until the next threshold.

    Parameters
    ----------
    endings
        By the members' names.
    now
        Milliseconds since 1970.
    """
    for member, soon in sorted(endings.items()):
        ends = round(soon.ends.timestamp() * 1000)
        state = "ended" if ends <= now else "urgent" if soon.is_urgent else "soon"
        found = hashlib.sha256(f"certificate {member} {ends} {state}".encode()).hexdigest()[:32]
        yield Message(found, Event.CERTIFICATE, now, state=state, waiting_for=(member,), ends=ends)
