"""Whether the machine's clock is near to when the store was last in use: where it is not, retention erases nothing.

A clock that jumps ahead by a year, in a virtual machine that is restored or by a wrong source of time, would make every
upload and every result due at once, and what is erased does not come back. So the store remembers the newest time at
which its Carole served. A clock further from it than `MAX_DAYS`, ahead or back, is believed only after an operator has
confirmed it, with an entry in the audit log. A smaller jump can erase that much too early. A new store, which has
nothing to erase, believes the clock of its first service.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection

from gemel.carole.projects.operations.outcome import Entry
from gemel.carole.projects.transitions import SYSTEM, Action
from gemel.carole.store import audit
from gemel.carole.store.database import Database, number_of, set_number
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.common.errors import ErrorCode, GemelError

MAX_DAYS = 7
"""Longer than Carole is stopped over a few holidays, and shorter than most retention."""

DAY_MS = 24 * 60 * 60 * 1000
_STEP_MS = 60_000
"""How exact the remembered time is."""

_KEY = "clock"


def milliseconds() -> int:
    """The machine's clock: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class ClockGuard:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def advance(self) -> None:
        """Remember the time now, if it is near to the remembered one, or there is none; call it while serving."""
        now = self._clock()
        with self._database.read() as connection:
            before = number_of(connection, _KEY)
        if before is None or (_near(before, now) and now - before > _STEP_MS):
            with self._database.write() as connection:
                believe(connection, now)

    def require(self) -> None:
        """Refuse a clock that has moved too far from when the store was last in use."""
        now = self._clock()
        with self._database.read() as connection:
            before = number_of(connection, _KEY)
        if before is not None and not _near(before, now):
            days = (now - before) / DAY_MS
            what = f"the clock must be within {MAX_DAYS} days of when the store was last in use; nothing is erased"
            got = f"{abs(days):.0f} days {'ahead' if days > 0 else 'back'}"
            remedy = "set the clock of Carole's machine; if it is right, stop her and 'gemel carole confirm-clock'"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=self._database.where, got=got, remedy=remedy)


def believe(connection: Connection, now: int) -> None:
    set_number(connection, _KEY, now)


def confirm(connection: Connection, now: int) -> int:
    """Believe the clock as it is now, by an operator's word; the days by which it had moved. No Carole may serve."""
    before = number_of(connection, _KEY)
    days = 0 if before is None else round((now - before) / DAY_MS)
    believe(connection, now)
    audit.append(connection, now, "", [Entry(SYSTEM, Action.CONFIRM_CLOCK, {"days": days})])
    return days


def _near(before: int, now: int) -> bool:
    return abs(now - before) <= MAX_DAYS * DAY_MS
