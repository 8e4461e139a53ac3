"""A store is made once, by `initialise`, and brought to a new version by `upgrade`; serving does neither.

A store has one identity, a random name: that of its audit log, in the database, in the log's first entry, and in a file
in the folder of blobs. So a database and a folder that do not belong together are recognised, and an empty place is not
mistaken for a new store because a volume is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, func, select

from gemel.carole.bucket import Bucket
from gemel.carole.projects.operations.outcome import Detail, Entry
from gemel.carole.projects.transitions import SYSTEM, Action
from gemel.carole.store import audit, clock_guard, tenure
from gemel.carole.store.database import Database, Prepare, newest_schema, sqlite_file
from gemel.carole.store.migrations import migrate, schema_version
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import Clock, newest
from gemel.carole.store.tables import payloads
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.keys.identity import Identity
from gemel.common.versions import STORE


@dataclass(frozen=True)
class StorePlace:
    """Where a store is, and who writes to it: Carole by her identity, at the times of a clock."""

    url: str = field(repr=False)
    blobs: Path | Bucket
    identity: Identity
    clock: Clock = clock_guard.milliseconds

    def opened(self, prepare: Prepare, *, create: bool = False, dry_run: bool = False) -> closing[Database]:
        """The database, closed with the block."""
        seal = partial(audit.seal, identity=self.identity, clock=self.clock)
        return closing(Database(self.url, seal, prepare=prepare, create=create, dry_run=dry_run))


def initialise(place: StorePlace) -> tuple[str, bool]:
    """Make a new store; its identity, and whether it was made. An existing one, complete, is left as it is.

    The database is made first, in one transaction, then the folder gets the identity. What was interrupted between the
    two is completed when it is called again. Raises DATABASE where one of database and folder exists without the other,
    or both do and are not of one store; BUSY if a Carole uses the folder.
    """
    blobs = Blobs(place.blobs)
    if blobs.identity() is None:
        with new_place(place.url):
            return _founded(place, blobs)
    with place.opened(newest_schema) as database, database.read() as connection:
        store = audit.log_name(connection)
    blobs.require(store)
    return store, False


def _founded(place: StorePlace, blobs: Blobs) -> tuple[str, bool]:
    made = False

    def prepare(connection: Connection, where: str) -> None:
        nonlocal made
        if schema_version(connection) is not None:
            newest_schema(connection, where)
            return
        require_unused(blobs, where)
        migrate(connection)
        audit.start(connection, place.identity, place.clock)
        made = True

    blobs.create()
    with claimed(blobs), place.opened(prepare, create=True) as database:
        with database.read() as connection:
            store = audit.log_name(connection)
            used = connection.scalar(select(func.count()).select_from(payloads))
        if not used:
            blobs.identify(store)
        blobs.require(store)
    return store, made


def require_unused(blobs: Blobs, where: str, ours: Collection[str] = ()) -> None:
    """Refuse a folder of blobs with an identity, or with payloads that are not ours, beside an empty database."""
    if not blobs.is_unused(ours):
        what = "the database is empty, and the folder of blobs is that of a store"
        remedy = "find the store's database; for a new store, name a new folder of blobs"
        raise GemelError(ErrorCode.DATABASE, what, where=where, remedy=remedy)


def upgrade(place: StorePlace, *, dry_run: bool = False) -> tuple[int, int]:
    """Bring a store to the newest version of the schema, or leave it as it was; the versions before and after.

    A dry run upgrades it, and takes that back. Raises DATABASE for an empty or a newer database, or where folder and
    database are not of one store; BUSY while a Carole holds it.
    """
    blobs, before = Blobs(place.blobs), STORE

    def prepare(connection: Connection, where: str) -> None:
        nonlocal before
        found = schema_version(connection)
        if found is None or found >= STORE:
            newest_schema(connection, where)
            return
        before = found
        migrate(connection)
        holder = tenure.take(connection, blobs.place, where)
        require_pair(connection, blobs)
        record_upgrade(connection, before, place.clock())
        tenure.release(connection, holder)

    with claimed(blobs), place.opened(prepare, dry_run=dry_run) as database:
        if not dry_run:
            with database.read() as connection:
                blobs.require(audit.log_name(connection))
    return before, STORE


def record_upgrade(connection: Connection, before: int, at: int) -> None:
    """Record that the schema, of version `before`, has become the newest."""
    details: dict[str, Detail] = {"from": before, "to": STORE, "store": audit.log_name(connection)}
    audit.append(connection, at, "", [Entry(SYSTEM, Action.UPGRADE, details)])


def confirm_clock(place: StorePlace, *, dry_run: bool = False) -> int:
    """Believe the machine's clock, which had moved far; the days by which it had, as `clock_guard.confirm`.

    A dry run takes that back. Raises BUSY while a Carole holds the store; DATABASE.
    """
    return change_held(place, lambda connection, _: clock_guard.confirm(connection, place.clock()), dry_run=dry_run)


def change_held(place: StorePlace, change: Callable[[Connection, Blobs], int], *, dry_run: bool) -> int:
    """Change a store as its holder, in one transaction, and return what the change does; a dry run takes it back.

    Raises BUSY while a Carole holds it.
    """
    blobs, changed = Blobs(place.blobs), 0

    def prepare(connection: Connection, where: str) -> None:
        nonlocal changed
        newest_schema(connection, where)
        holder = tenure.take(connection, blobs.place, where)
        changed = change(connection, blobs)
        tenure.release(connection, holder)

    with claimed(blobs), place.opened(prepare, dry_run=dry_run):
        return changed


def require_pair(connection: Connection, blobs: Blobs) -> None:
    """Refuse a folder and a database that are not of one store."""
    blobs.require(audit.log_name(connection))
    blobs.require_known(connection.execute(select(payloads.c.id)).scalars().all(), newest(connection))


@contextmanager
def claimed(blobs: Blobs) -> Iterator[None]:
    blobs.claim()
    try:
        yield
    finally:
        blobs.release()


@contextmanager
def new_place(url: str) -> Iterator[None]:
    """The place of a new file of SQLite, which is removed again where the block does not end well."""
    path = sqlite_file(url)
    if path is None:
        yield
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        existed = path.exists()
    except OSError as error:
        what = "the folder of the database cannot be created"
        raise file_error(ErrorCode.CONFIGURATION, what, path.parent, error) from None
    try:
        yield
    except BaseException:  # a signal that ends the program, too
        if not existed:
            for part in (path, *(path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm"))):
                part.unlink(missing_ok=True)
        raise
