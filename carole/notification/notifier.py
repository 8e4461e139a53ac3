"""Reads the audit log on for what people are to be notified of, and has a courier for each way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gemel.carole.notification.courier import Courier
from gemel.carole.notification.message import Event, Message
from gemel.carole.notification.section import WayConfiguration
from gemel.carole.projects.project import Project, State
from gemel.carole.projects.transitions import Action
from gemel.carole.store import Store
from gemel.carole.store.clock_guard import DAY_MS, milliseconds
from gemel.carole.store.outbox import Notice
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.common.audit import AuditEntry
from gemel.common.logging_setup import log
from gemel.common.parties import Role
from gemel.common.periodic import Periodic
from gemel.common.pki.ending import EndingCertificate
from gemel.common.pki.members import Members

# Messages from what has happened: from entries of the audit log, and from certificates that end soon. Pure.

_ENDINGS = {
    Action.HOLD: (Event.HELD, State.HELD),
    Action.FAIL_RUN: (Event.FAILED, State.CONTRIBUTED),
    Action.REFUSE: (Event.REFUSED, State.ASSESSED),
    Action.RELEASE: (Event.RELEASED, State.RELEASED),
}
"""How a run ends, by the action, and the project's state after it."""

_CONSENT = frozenset({Action.CREATE, Action.AMEND, Action.NEW_EPOCH, Action.DECLINE})
"""After which approvals are missing. Not after each approval: who is still missing has been notified."""


Named = Callable[[Role], tuple[str, ...]]


def messages(entries: Iterable[AuditEntry], project: Callable[[str], Project], named: Named) -> Iterator[Message]:
    """The messages about entries of the log, oldest first.

    `project`: gives a project of the entries, by its name, as it is now. Of several entries by which one project waits
    for approvals, the newest counts, and none if it no longer waits.
    """
    entries = list(entries)
    requested = {entry.project: entry.sequence for entry in entries if entry.action in _CONSENT}
    for entry in entries:
        if entry.action in _ENDINGS:
            event, state = _ENDINGS[Action(entry.action)]
            if event is Event.HELD:
                whom = named(Role.STEWARD)
            else:
                whom = () if event is Event.RELEASED else _owner(project(entry.project), named)
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


def _missing(project: Project, named: Named) -> tuple[str, ...]:
    roles = [role for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B) if role not in project.approvals]
    whom = (_owner(project, named) if role is Role.COORDINATOR else named(role) for role in roles)
    return tuple(name for names in whom for name in names)


def certificate_messages(endings: Mapping[str, EndingCertificate], now: int) -> Iterator[Message]:
    """A message about each certificate that ends soon: the same one until the next threshold."""
    for member, soon in sorted(endings.items()):
        ends = round(soon.ends.timestamp() * 1000)
        state = "ended" if ends <= now else "urgent" if soon.is_urgent else "soon"
        found = hashlib.sha256(f"certificate {member} {ends} {state}".encode()).hexdigest()[:32]
        yield Message(found, Event.CERTIFICATE, now, state=state, waiting_for=(member,), ends=ends)


LOOK_SECONDS = 2.0

_BATCH = 500

_KEPT_DAYS = 30
"""After a certificate's end its messages are remembered for so long: until it is renewed it is named once."""


class Notifier:
    """Notifies people of what happens: by each of the `ways`, from a store that is recovered before `start`."""

    def __init__(
        self,
        ways: Sequence[WayConfiguration],
        store: Store,
        members: Callable[[], Members],
        endings: Callable[[], Mapping[str, EndingCertificate]],
        clock: Clock = milliseconds,
    ) -> None:
        self._ways = tuple(ways)
        self._store, self._members, self._endings = store, members, endings
        self._clock = clock
        self._position = 0
        self._written = 0
        self._reported: set[str] = set()
        self._couriers = [Courier(way, store.outbox, entry) for entry, way in enumerate(self._ways, 1)]
        self._reading = Periodic("notify", LOOK_SECONDS, self._read)

    def start(self) -> None:
        """Begin where the former Carole stopped; without a way, forget what waits. Raises DATABASE, BUSY."""
        if not self._ways:
            self._store.outbox.end()
            return
        self.begin()
        self._reading.start()
        for courier in self._couriers:
            courier.start()

    def begin(self) -> None:
        """Find how far the log has been read."""
        self._position = self._written = self._store.outbox.begin([way.key for way in self._ways])

    def stop(self) -> None:
        """End all threads; what is not sent stays in the outbox."""
        for courier in self._couriers:
            courier.begin_to_stop()
        self._reading.stop()
        for courier in self._couriers:
            courier.stop()

    def collect(self) -> None:
        """Put into the outbox what has happened since the last time. Raises DATABASE, BUSY."""
        while entries := self._store.outbox.entries(self._position, _BATCH):
            made = self._notices(messages(entries, self._store.projects.get, self._names))
            self._position = entries[-1].sequence
            # Entries without a message are read again after a crash, which does no harm, rather than each to
            # cost a transaction.
            if made or self._position - self._written >= _BATCH:
                self._put(made, self._position)
                self._written = self._position
        # Each is one message for each threshold: a row that is there already is not made again.
        ending = [
            each for each in certificate_messages(self._endings(), self._clock()) if each.id not in self._reported
        ]
        if ending:
            self._put(self._notices(ending), None)
            self._reported |= {each.id for each in ending}

    def _read(self) -> bool:
        self.collect()
        return True

    def _put(self, made: list[Notice], position: int | None) -> None:
        if refused := self._store.outbox.put(made, position):
            log.error("outbox full", messages=refused)

    def _names(self, role: Role) -> tuple[str, ...]:
        return tuple(member.name for member in self._members().with_role(role))

    def _notices(self, found: Iterable[Message]) -> list[Notice]:
        return [
            Notice(each.id, way.key, each.to_text(), kept_until=self._kept_until(each))
            for each in found
            for way in self._ways
            if each.event in way.events
        ]

    def _kept_until(self, message: Message) -> int:
        if message.event is not Event.CERTIFICATE:
            return 0
        return max(message.ends, message.at) + _KEPT_DAYS * DAY_MS
