"""Backup and restore: the whole store as of one moment, taken while Carole serves, and put back into an empty place.

A backup is a folder with the database's rows, in a database of SQLite whatever they came from, the files of blobs that
these rows name, from a folder or a bucket, and a manifest that is written last. What it holds is as unreadable as the
store, for `wrapping.key` is not in it. The rows are read in one transaction; a chunk is on the disk before its row, so
every file they name is there, unless its content was erased since, and then the backup is refused: it would hold a key
that was destroyed. Chunks that were packed since are in another file; then it is made again too.

What is restored ends with an entry of the audit log. Whoever has seen a longer log notices, as they must, and decides
(see `restoring`). A backup of an older version is put back as it is and then upgraded, in the same transaction; the
backup itself stays what it was.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import Connection, MetaData, select, text

from gemel.carole.bucket import Bucket
from gemel.carole.store import audit, audit_check
from gemel.carole.store.clock_guard import believe
from gemel.carole.store.database import Database, sqlite_file
from gemel.carole.store.migrations import migrate, schema_version
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.carole.store.provision import StorePlace, claimed, new_place, record_upgrade, require_unused
from gemel.carole.store.restoring import record_restoration
from gemel.carole.store.tables import chunks, metadata
from gemel.common.durable import sync_folder, whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.versions import STORE

DATABASE, BLOBS, MANIFEST = "carole.db", "blobs", "backup.json"
_ROWS = 1000


@dataclass(frozen=True)
class Manifest:
    """What a backup holds."""

    store: str
    entries: int
    made_at: int
    """Milliseconds since 1970."""
    files: int


def back_up(url: str, place: Path | Bucket, target: Path, clock: Clock) -> Manifest:
    """Write a backup of a store, which may be in use, into a new folder.

    Raises EXISTS if the folder exists; BUSY if content was erased or packed meanwhile, CONFIGURATION if it cannot be
    written, DATABASE if blobs cannot be read now: then nothing of it is left.
    """
    try:
        target.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        what = "a backup is written into a new folder"
        raise GemelError(ErrorCode.EXISTS, what, where=str(target), remedy="name another one") from None
    try:
        with closing(Database(url)) as source, source.read() as connection:
            made = f"sqlite:///{target / DATABASE}"
            Database(made, prepare=lambda written, _: _copy(connection, written, STORE), create=True).close()
            files = _files(connection)
            manifest = Manifest(audit.log_name(connection), audit.last(connection), clock(), len(files))
        _copy_files(Blobs(place), target / BLOBS, files)
        with whole_file(target / MANIFEST) as file:
            file.write(json.dumps(asdict(manifest)).encode())
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise file_error(ErrorCode.CONFIGURATION, "the backup cannot be written", target, error) from None
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return manifest


def restore(source: Path, place: StorePlace, *, dry_run: bool = False) -> tuple[Manifest, int]:
    """Put a backup back into an empty database and an empty folder of blobs; its manifest, and its schema's version.

    A dry run checks the backup and the place, and puts nothing back. Raises DATABASE if the place is not empty, or the
    backup is not complete, or of a version newer than this program; AUDIT if its log is not intact under Carole's key.
    The database is then as it was; files of blobs may remain, and a repetition goes on. The blobs come first, then the
    database in one transaction, then the blobs' identity. The entry about an upgrade follows that about the
    restoration, which has the log as it was put back.
    """
    with _opened(source) as (manifest, connection, version):
        found = audit_check.verify(connection, place.identity.public)
        if not found.intact:
            raise GemelError(ErrorCode.AUDIT, found.finding, where=str(source), remedy="use another backup")
        files = _files(connection)

        def prepare(written: Connection, where: str) -> None:
            if schema_version(written) is not None:
                what = "a backup is restored into an empty database"
                remedy = "name a new one in the configuration, or move this one elsewhere"
                got = "one with tables of Carole's"
                raise GemelError(ErrorCode.DATABASE, what, where=where, got=got, remedy=remedy)
            require_unused(blobs, where, {payload for payload, _ in files})
            _copy(connection, written, version)
            migrate(written)
            believe(written, place.clock())
            record_restoration(written, manifest.made_at, place.clock())
            if version < STORE:
                record_upgrade(written, version, place.clock())

        blobs = Blobs(place.blobs)
        if dry_run:
            _refuse_missing(source / BLOBS, files)
            require_unused(blobs, "store.database", {payload for payload, _ in files})
            if (file := sqlite_file(place.url)) is None or file.exists():
                Database(place.url, prepare=prepare, dry_run=True).close()
            return manifest, version
        blobs.create()
        with claimed(blobs), new_place(place.url):
            _refuse_missing(source / BLOBS, files)
            for payload, name in files:
                blobs.put(payload, name, (source / BLOBS / payload / name).read_bytes())
            with place.opened(prepare, create=True):
                blobs.identify(manifest.store)
    return manifest, version


@contextmanager
def _opened(source: Path) -> Iterator[tuple[Manifest, Connection, int]]:
    version = STORE

    def prepare(connection: Connection, where: str) -> None:
        nonlocal version
        found = schema_version(connection)
        if found is None or found > STORE:
            what = f"a backup must have schema version {STORE} or an earlier one"
            remedy = "restore it with the version of Gemel that wrote it"
            got = "none" if found is None else str(found)
            raise GemelError(ErrorCode.DATABASE, what, where=str(source), got=got, remedy=remedy)
        version = found

    try:
        manifest = Manifest(**json.loads((source / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        what = "this is not a complete backup"
        remedy = "name the folder that 'gemel carole backup' wrote"
        got = f"no {MANIFEST} that can be read"
        raise GemelError(ErrorCode.DATABASE, what, where=str(source), got=got, remedy=remedy) from None
    opened = closing(Database(f"sqlite:///{source / DATABASE}", prepare=prepare))
    with opened as database, database.read() as connection:
        yield manifest, connection, version


def _copy(source: Connection, target: Connection, version: int) -> None:
    """Make the tables of a version in an empty database and copy all rows into them; no one holds the copy."""
    migrate(target, version)
    tables = metadata if version == STORE else _reflected(source)
    for table in (tables.tables["meta"], tables.tables["tenure"]):  # with the rows that the migrations made
        target.execute(table.delete())
    for table in tables.sorted_tables:
        found = source.execute(select(table), execution_options={"yield_per": _ROWS})
        for rows in found.mappings().partitions():
            target.execute(table.insert(), [dict(row) for row in rows])
    target.execute(tables.tables["tenure"].update().values(holder="", place="", until=0))
    if target.dialect.name == "postgresql":
        last = "(SELECT max(id) FROM projects)"
        target.execute(text(f"SELECT setval(pg_get_serial_sequence('projects', 'id'), {last})"))


def _reflected(connection: Connection) -> MetaData:
    """The tables as the database has them, without that in which Alembic keeps the version."""
    found = MetaData()
    found.reflect(connection, only=lambda name, _: name != "alembic_version")
    return found


def _files(connection: Connection) -> list[tuple[str, str]]:
    """Every file that a row names, once: several chunks may be in one."""
    query = select(chunks.c.payload, chunks.c.file).distinct().order_by(chunks.c.payload, chunks.c.file)
    return [(row.payload, row.file) for row in connection.execute(query)]


def _copy_files(source: Blobs, target: Path, files: list[tuple[str, str]]) -> None:
    target.mkdir(mode=0o700, exist_ok=True)
    for payload, name in files:
        try:
            content = source.read(payload, name)
        except GemelError as error:
            if error.code is not ErrorCode.VAULT:
                raise
            what = "content was erased while the backup was made, or an upload was completed"
            remedy = "make the backup again"
            raise GemelError(ErrorCode.BUSY, what, where=error.where, got=error.got, remedy=remedy) from None
        (target / payload).mkdir(mode=0o700, exist_ok=True)
        with whole_file(target / payload / name) as file:
            file.write(content)
    sync_folder(target)


def _refuse_missing(blobs: Path, files: list[tuple[str, str]]) -> None:
    missing = sum(not (blobs / payload / name).is_file() for payload, name in files)
    if missing:
        what = "this is not a complete backup"
        remedy = "use another backup"
        got = f"{missing} of {len(files)} files missing"
        raise GemelError(ErrorCode.DATABASE, what, where=str(blobs), got=got, remedy=remedy)
