"""Erasure that a kill has left unfinished is finished here: keys and files that nothing reaches any more.

A payload is reached by an upload that has not ended, by a share of a result or by an artifact; or by a worker that
holds an active run and is still writing it. The key of any other is destroyed, with the entry that proves it. A file is
reached by a row of a chunk. So a worker that is killed while it seals, and a service that is killed between the commit
of an erasure and the removal of its files, leave nothing for longer than until the next sweep: at the start, after the
death of a worker, and from time to time.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, exists, or_, select

from tryst.carole.store.changes import Changes
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import EncryptedPayloads
from tryst.carole.store.tables import artifacts, payloads, projects, results, runs, uploads


@dataclass(frozen=True)
class Swept:
    """How many keys were destroyed and files removed."""

    keys: int
    files: int


class Sweeping:
    """Destroys keys and removes files that nothing reaches."""

    def __init__(self, database: Database, payloads: EncryptedPayloads, changes: Changes) -> None:
        self._database = database
        self._payloads = payloads
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
        swept = Swept(keys, self._payloads.sweep(self._database))
        self._database.forget_deleted()
        return swept


_UNREACHED = and_(
    ~exists().where(uploads.c.payload == payloads.c.id, uploads.c.ended.is_(None)),
    ~exists().where(results.c.payload == payloads.c.id),
    ~exists().where(artifacts.c.payload == payloads.c.id),
    or_(payloads.c.writer.is_(None), ~exists().where(runs.c.active == 1, runs.c.owner == payloads.c.writer)),
)
