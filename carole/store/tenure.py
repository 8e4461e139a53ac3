"""Which Carole holds the store: a row of the database, renewed while she runs, and checked by whatever is written.

A folder of blobs has a lock too, but two folders, or two machines, can point to one database, and a bucket has none.
So the database has one row with the holder's random name and the time until which she holds it. Every writing
transaction of server and worker looks for its own name there (`require`); one that was taken over can write nothing,
even if she was only suspended for a while. A holder that was killed is followed at once by a Carole that has the same
folder's lock, since the lock proves that she is dead; by any other, and where blobs are in a bucket, when the time is
over.

The time is that of the database's machine. On SQLite that is this machine, whose clock may be set: forward, and a
second Carole may take over early, which ends the first one; backward, and a time further ahead than any tenure lasts
counts as over. Neither lets two write.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from enum import StrEnum

from sqlalchemy import BigInteger, ColumnElement, Connection, cast, func, literal_column, or_, select, update

from gemel.carole.store.tables import tenure
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.logging_setup import log
from gemel.common.periodic import Periodic

TENURE_MS = 30_000
RENEWAL_SECONDS = 5.0


class Standing(StrEnum):
    """Whether this Carole may write."""

    HELD = "held"
    UNREACHABLE = "unreachable"
    """The database could not be asked; the tenure may still be hers."""
    LOST = "lost"


def take(connection: Connection, place: str, where: str) -> str:
    """Become the holder; her name, random.

    `place`: of the locked folder: a former holder of the same place is dead. On PostgreSQL it waits for the
    transactions of the former holder that are under way: changing the row's key conflicts with the lock that these hold
    on it (`require`); renewing does not.
    """
    holder, now = secrets.token_hex(16), _now(connection)
    over = or_(tenure.c.place == place, tenure.c.until < now, tenure.c.until > now + 2 * TENURE_MS)
    values = {"holder": holder, "place": place, "until": now + TENURE_MS}
    if connection.execute(update(tenure).where(over).values(values)).rowcount != 1:
        left = connection.execute(select(tenure.c.until - now)).scalar()
        raise GemelError(
            ErrorCode.BUSY,
            "another Carole holds this database",
            where=where,
            got=f"a tenure that lasts {max(0, left or 0) / 1000:.0f} s more",
            remedy="stop her, or give this one a database and a folder of blobs of her own; a killed one's tenure ends "
            "by itself",
        )
    return holder


def require(connection: Connection, holder: str, where: str) -> None:
    """Refuse to write where another holds the store; until the transaction ends, no other can take over."""
    mine = select(tenure.c.holder).where(tenure.c.holder == holder)
    if not holder or connection.execute(mine.with_for_update(read=True, key_share=True)).first() is None:
        raise not_held(where)


def not_held(where: str) -> GemelError:
    """The error where another holds the store, or this Carole no longer does."""
    remedy = "if another has taken over, let her serve; else restart this one"
    return GemelError(ErrorCode.BUSY, "this Carole does not hold the store", where=where, remedy=remedy)


def renew(connection: Connection, holder: str) -> bool:
    """Hold the store for another while; False if another has taken over."""
    until = _now(connection) + TENURE_MS
    return connection.execute(update(tenure).where(tenure.c.holder == holder).values(until=until)).rowcount == 1


def release(connection: Connection, holder: str) -> None:
    """End a tenure, if it is still this holder's."""
    connection.execute(update(tenure).where(tenure.c.holder == holder).values(holder="", place="", until=0))


def _now(connection: Connection) -> ColumnElement[int]:
    """The database's own clock, in milliseconds since 1970."""
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", func.clock_timestamp()) * 1000, BigInteger)
    return cast((func.julianday("now") - literal_column("2440587.5")) * 86_400_000, BigInteger)


class Renewal:
    """Renews the tenure from a thread, and reports when it cannot."""

    def __init__(self, renewed: Callable[[], bool], report: Callable[[Standing], None]) -> None:
        self._renewed = renewed
        self._report = report
        self._standing = Standing.HELD
        self._periodic = Periodic("tenure", RENEWAL_SECONDS, self._renew)

    def start(self) -> None:
        """Renew from now on."""
        self._periodic.start()

    def stop(self) -> None:
        """Renew no more."""
        self._periodic.stop()

    def _renew(self) -> bool:
        try:
            found = Standing.HELD if self._renewed() else Standing.LOST
        except GemelError as error:
            found = Standing.UNREACHABLE
            if found is not self._standing:
                log.error("tenure not renewed", code=error.code.name, error=str(error))
        if found is not self._standing:
            self._standing = found
            (log.info if found is Standing.HELD else log.error)("tenure", standing=str(found))
            self._report(found)
        return found is not Standing.LOST
