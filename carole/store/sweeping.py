"""Erasure that a kill has left unfinished is finished here: keys and files that nothing reaches any more.

A payload is reached by an upload that has not ended, by a share of a result or by an artifact; or by a worker that
holds an active run and is still writing it. The key of any other is destroyed, with the entry that proves it. A file is
reached by a row of a chunk. So a worker that is killed while it seals, and a service that is killed between the commit
of an erasure and the removal of its files, leave nothing for longer than until the next sweep: at the start, after the
death of a worker, and from time to time.

A payload to which nothing can be written any more is looked at once: it is complete and, if an upload, committed; or it
is erased, and no worker that wrote it can be alive. So a sweep lists what is new, not what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, and_, exists, or_, select, update

from gemel.carole.store.changes import Changes
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.tables import artifacts, chunks, payloads, projects, results, runs, uploads


@dataclass(frozen=True)
class Swept:
    """How many keys were destroyed and files removed."""

    keys: int
    files: int


class Sweeping:
    """Destroys keys and removes files that nothing reaches."""

    def __init__(self, database: Database, blobs: Blobs, changes: Changes) -> None:
        self._database = database
        self._blobs = blobs
        self._changes = changes

    def sweep(self) -> Swept:
        """Sweep, also while others write."""
        with self._database.read() as connection:
            found = select(projects.c.name).join(payloads).where(payloads.c.wrapped_key.is_not(None), _UNREACHED)
            names = connection.execute(found.distinct()).scalars().all()
        keys = 0
        for name in names:
            # Whoever makes or names a payload of the project holds the same lock: what is found now stays so.
            with self._changes.of(name) as change:
                change.erase(_UNREACHED)
            keys += len(change.erased)
        swept = Swept(keys, self._sweep_files())
        self._database.forget_deleted()
        return swept

    def _sweep_files(self) -> int:
        """Remove the files that no row names; returns how many.

        Notes
        -----
        That a payload is final is read before its files are listed: a writer that came later found it so, and wrote
        nothing. What is erased meanwhile is not marked as swept: its files are yet to be removed.
        """
        with self._database.read() as connection:
            query = select(payloads.c.id, _FINAL.label("final"), _ERASED.label("erased")).where(payloads.c.swept == 0)
            rows = connection.execute(query).all()
        swept = self._blobs.sweep([row.id for row in rows], self._named)
        for erased in (True, False):
            done = [row.id for row in rows if row.final and bool(row.erased) is erased and row.id in swept.seen]
            for start in range(0, len(done), _AT_ONCE):
                with self._database.write() as connection:
                    these = payloads.c.id.in_(done[start : start + _AT_ONCE]), _ERASED if erased else ~_ERASED
                    connection.execute(update(payloads).where(*these).values(swept=1))
        return swept.removed

    def _named(self) -> Mapping[str, set[str] | None]:
        with self._database.read() as connection:
            # A worker writes in a process of its own; what it has left is erased first.
            busy = and_(payloads.c.writer.is_not(None), ~_ERASED).label("busy")
            query = select(payloads.c.id, busy).where(payloads.c.swept == 0)
            found = {row.id: None if row.busy else set[str]() for row in connection.execute(query)}
            named = select(chunks.c.payload, chunks.c.file).join(payloads).where(payloads.c.swept == 0)
            for row in connection.execute(named.distinct()):
                files = found.get(row.payload)
                if files is not None:
                    files.add(row.file)
            return found


def forget_writers(connection: Connection) -> None:
    """When no worker is alive: what was erased while one wrote it has no writer any more."""
    connection.execute(update(payloads).where(_ERASED, payloads.c.writer.is_not(None)).values(writer=None))


_AT_ONCE = 500
"""Payloads that one statement names."""

_ERASED = payloads.c.wrapped_key.is_(None)

_FINAL = and_(
    payloads.c.writer.is_(None),
    or_(
        _ERASED,
        and_(
            payloads.c.complete == 1,
            ~exists().where(
                uploads.c.payload == payloads.c.id, uploads.c.committed_at.is_(None), uploads.c.ended.is_(None)
            ),
        ),
    ),
)

_UNREACHED = and_(
    ~exists().where(uploads.c.payload == payloads.c.id, uploads.c.ended.is_(None)),
    ~exists().where(results.c.payload == payloads.c.id),
    ~exists().where(artifacts.c.payload == payloads.c.id),
    or_(payloads.c.writer.is_(None), ~exists().where(runs.c.active == 1, runs.c.owner == payloads.c.writer)),
)
