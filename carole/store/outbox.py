"""The outbox of notifications: messages to people, kept from the audit log's entry until it is sent.

A message is written in one transaction with how far the log has been read, so none is lost and none made twice. It is
sent before its row ends: after a crash between the two it is sent once more, with the same id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from gemel.carole.store import audit
from gemel.carole.store.database import Database, number_of, set_number
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.carole.store.tables import audit as audit_table
from gemel.carole.store.tables import meta, notices
from gemel.common.audit import AuditEntry

MAX_WAITING = 1000
"""Messages of one way that wait at a time; more are not taken."""

_KEY = "notified"


@dataclass(frozen=True)
class Notice:
    """A message for one way."""

    id: str
    way: str
    """`id`, `way`: of the message and of the way, together one row."""
    text: str
    """The message, as whoever wrote it reads it."""
    attempts: int = 0
    """How often it was tried to send it."""
    kept_until: int = 0
    """Milliseconds since 1970 until which its row stays after its end, so that it is not made again; 0: not at all."""


class Outbox:
    """What waits to be sent."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, ways: Collection[str]) -> int:
        """Drop what waits for other ways than these; the number of the last entry that has been read.

        With the first way the log is read from now on: no one is notified of what happened before.
        """
        with self._database.write() as connection:
            connection.execute(delete(notices).where(notices.c.way.not_in(ways)))
            position = number_of(connection, _KEY)
            if position is None:
                position = audit.last(connection)
                set_number(connection, _KEY, position)
            return position

    def end(self) -> None:
        """Forget everything, where no one is notified any more."""
        with self._database.glance() as connection:
            if number_of(connection, _KEY) is None:
                return
        with self._database.write() as connection:
            connection.execute(delete(notices))
            connection.execute(delete(meta).where(meta.c.key == _KEY))

    def entries(self, position: int, n: int) -> list[AuditEntry]:
        """The next `n` entries of the log, or fewer, after the one with this number."""
        query = select(audit_table).where(audit_table.c.sequence > position).order_by(audit_table.c.sequence).limit(n)
        with self._database.glance() as connection:
            return [audit.entry_of(row) for row in connection.execute(query)]

    def put(self, made: Iterable[Notice], position: int | None = None) -> int:
        """Keep messages that are not there yet, and that the log has been read up to `position`.

        Returns how many were not taken, since `MAX_WAITING` of their way wait already.
        """
        now, refused = self._clock(), 0
        with self._database.write() as connection:
            for notice in made:
                which = notices.c.way == notice.way
                if connection.execute(select(notices.c.id).where(which, notices.c.id == notice.id)).first():
                    continue
                waiting = select(notices.c.id).where(which, notices.c.ended == 0).limit(MAX_WAITING)
                if len(connection.execute(waiting).all()) == MAX_WAITING:
                    refused += 1
                    continue
                values = {"id": notice.id, "way": notice.way, "message": notice.text, "attempts": 0, "due_at": now}
                connection.execute(insert(notices).values(**values, kept_until=notice.kept_until, ended=0))
            if position is not None:
                set_number(connection, _KEY, position)
        return refused

    def due(self, way: str) -> Notice | None:
        """The message that has been due for longest, if any is."""
        query = select(notices).where(notices.c.way == way, notices.c.ended == 0, notices.c.due_at <= self._clock())
        with self._database.glance() as connection:
            row = connection.execute(query.order_by(notices.c.due_at, notices.c.id).limit(1)).first()
        return None if row is None else Notice(row.id, row.way, row.message, row.attempts, row.kept_until)

    def close(self, notice: Notice) -> None:
        """It is sent, or given up. Rows of other messages that are kept no longer go too."""
        now = self._clock()
        which = notices.c.id == notice.id, notices.c.way == notice.way
        with self._database.write() as connection:
            connection.execute(update(notices).where(*which).values(ended=1))
            connection.execute(delete(notices).where(notices.c.ended == 1, notices.c.kept_until <= now))

    def postpone(self, notice: Notice, seconds: float) -> None:
        """It was tried in vain, and is due again after so many seconds."""
        which = notices.c.id == notice.id, notices.c.way == notice.way
        values = {"attempts": notice.attempts + 1, "due_at": self._clock() + round(seconds * 1000)}
        with self._database.write() as connection:
            connection.execute(update(notices).where(*which).values(values))
