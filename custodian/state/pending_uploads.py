"""Pending uploads and their pseudonym maps (which row of an upload is which record), encrypted in files.

The database is authoritative. A file is written before the row that names it, and a file that no row names is removed
at the next start. To erase is to delete the wrapped key and then the file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import ColumnElement, delete, select

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.keys.vault import OVERHEAD_BYTES, DataKey, Vault
from gemel.common.wire.chunks import CHUNK_BYTES
from gemel.custodian.state.state_database import FROM_MAPS, Database, Secret, Upload
from gemel.custodian.state.working_tables import on_disk

# Files encrypted at rest in chunks of 1 MiB, each of which can be read alone.
#
# A file exists whole or not at all: it is written under another name, synced, and renamed. Its key is kept elsewhere,
# so destroying the key erases the file in every backup.

_STORED_CHUNK = CHUNK_BYTES + OVERHEAD_BYTES


class EncryptedWriter:
    """Writes content in chunks, whatever its parts are; `digests` has the SHA-256 of each in the clear, 32 bytes."""

    def __init__(self, file: BinaryIO, key: DataKey) -> None:
        self._file, self._key = file, key
        self._held = bytearray()
        self.digests: list[bytes] = []

    def write(self, part: bytes | memoryview) -> None:
        view = memoryview(part).cast("B")
        while view:
            room = CHUNK_BYTES - len(self._held)
            self._held += view[:room]
            view = view[room:]
            if len(self._held) == CHUNK_BYTES:
                self.end()

    def end(self) -> None:
        """Write what is left as the last chunk."""
        if self._held:
            chunk = bytes(self._held)
            self._file.write(self._key.encrypt(len(self.digests), chunk))
            self.digests.append(sha256(chunk).digest())
            self._held.clear()


@contextmanager
def encrypted_file(path: Path, key: DataKey) -> Iterator[EncryptedWriter]:
    """A file to write, which is there when the block ends, and not if it fails; STORAGE_FULL, CONFIGURATION as
    `on_disk`.
    """
    with on_disk("cannot be written", path, "state"), whole_file(path) as file:
        writer = EncryptedWriter(file, key)
        yield writer
        writer.end()


def read_encrypted(path: Path, key: DataKey, index: int | None = None) -> bytes:
    """A file's content, or one chunk of it. Raises `GemelError`: VAULT if it is not as it was written, or is gone."""
    try:
        with path.open("rb") as file:
            if index is not None:
                file.seek(index * _STORED_CHUNK)
                return key.decrypt(index, file.read(_STORED_CHUNK))
            stored = iter(lambda: file.read(_STORED_CHUNK), b"")
            return b"".join(key.decrypt(number, chunk) for number, chunk in enumerate(stored))
    except OSError as error:
        remedy = "restore the state folder from its backup"
        raise file_error(ErrorCode.VAULT, "cannot be read", path, error, remedy, inline=True) from None


DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class UploadFiles:
    """The files of an upload while they are written: its payload and its map, and their wrapped keys."""

    payload: EncryptedWriter
    row_map: EncryptedWriter
    payload_key: bytes
    map_key: bytes


class Uploads:
    """The uploads of a state, in a folder of nothing else: leftovers of a crash are removed."""

    def __init__(self, database: Database, folder: Path, vault: Vault) -> None:
        self._database = database
        self._folder = folder
        self._vault = vault
        self._remove_strays()

    @contextmanager
    def writing(self, upload: str) -> Iterator[UploadFiles]:
        """The files of a new upload, to be written; `add` names them, and what is not named then is removed."""
        payload_key, wrapped_payload = self._vault.create(_payload_subject(upload))
        map_key, wrapped_map = self._vault.create(_map_subject(upload))
        with (
            encrypted_file(self._payload(upload), payload_key) as payload,
            encrypted_file(self._map(upload), map_key) as row_map,
        ):
            yield UploadFiles(payload, row_map, wrapped_payload, wrapped_map)

    def add(self, upload: Upload, files: UploadFiles, map_days: int) -> Upload:
        """Add the row of an upload whose payload and map have been written; former unfinished ones are erased.

        It is complete but for digests, keys and times; its map is erased after so many days.
        """
        now = time.time()
        upload.digests = b"".join(files.payload.digests)
        upload.payload_key, upload.map_key = files.payload_key, files.map_key
        upload.created_at, upload.map_until = now, now + map_days * DAY_SECONDS
        upload.committed_at = None
        with self._database.session() as session:
            unfinished = select(Upload).where(Upload.project == upload.project, Upload.committed_at.is_(None))
            for former in session.scalars(unfinished):
                former.payload_key = former.map_key = None
            session.flush()
            session.add(upload)
        self._remove_strays()
        return upload

    def of_epoch(self, project: str, epoch: int) -> Upload | None:
        """The newest upload of a project's epoch whose map has not been erased."""
        return self._newest(Upload.project == project, Upload.epoch == epoch, Upload.map_key.is_not(None))

    def newest(self, project: str) -> Upload | None:
        """The newest upload of a project, which is the one Carole has once the project is contributed to."""
        return self._newest(Upload.project == project)

    def _newest(self, *which: ColumnElement[bool]) -> Upload | None:
        with self._database.session() as session:
            return session.scalars(select(Upload).where(*which).order_by(Upload.created_at.desc())).first()

    def of_run(self, project: str, upload: str) -> Upload:
        """The upload that a run is about, as Carole names it: not the newest, where her store was restored; or
        NOT_FOUND.
        """
        with self._database.session() as session:
            found = session.get(Upload, upload)
        if found is None or found.project != project:
            what = "the upload that the run is about is not in this custodian's state"
            remedy = "restore the state folder from its backup"
            raise GemelError(ErrorCode.NOT_FOUND, what, where=f"project {project}", remedy=remedy)
        return found

    def epochs_signed(self, project: str, *, before: int) -> set[int]:
        """The epochs before one in which an upload of the project was made, whether or not all of it was sent."""
        with self._database.session() as session:
            query = select(Upload.epoch).where(Upload.project == project, Upload.epoch < before)
            return set(session.scalars(query))

    def payload_chunk(self, upload: Upload, index: int) -> bytes:
        """A chunk of an upload's payload; the same bytes at every call."""
        key = self._vault.unwrap(_payload_subject(upload.id), _kept(upload.payload_key, upload, "payload"))
        return read_encrypted(self._payload(upload.id), key, index)

    def row_map(self, upload: Upload) -> bytes:
        """The pseudonym map of an upload, serialised; NOT_FOUND if its retention has ended, VAULT if it does not
        decrypt.
        """
        key = self._vault.unwrap(_map_subject(upload.id), _kept(upload.map_key, upload, "pseudonym map"))
        return read_encrypted(self._map(upload.id), key)

    def mark_committed(self, upload: str) -> None:
        """Note that Carole has the whole upload; its payload is erased."""
        with self._database.session() as session:
            row = session.get_one(Upload, upload)
            row.committed_at = row.committed_at or time.time()
            row.payload_key = None
        self._remove_strays()

    def erase_payloads(self, project: str) -> None:
        with self._database.session() as session:
            for row in session.scalars(select(Upload).where(Upload.project == project)):
                row.payload_key = None
        self._remove_strays()

    def erase_expired_maps(self, now: float) -> list[str]:
        """Erase the maps whose retention has ended at `now` (Unix time), and what derives from them; their projects."""
        with self._database.session() as session:
            expired = list(session.scalars(select(Upload).where(Upload.map_until <= now, Upload.map_key.is_not(None))))
            for row in expired:
                row.map_key = row.payload_key = None
            session.flush()
            mapped = select(Upload.project).where(Upload.map_key.is_not(None))
            session.execute(delete(Secret).where(Secret.kind.in_(FROM_MAPS), Secret.project.not_in(mapped)))
        if expired:
            self._remove_strays()
        return sorted({row.project for row in expired})

    def _payload(self, upload: str) -> Path:
        return self._folder / f"{upload}.payload"

    def _map(self, upload: str) -> Path:
        return self._folder / f"{upload}.map"

    def _remove_strays(self) -> None:
        """Remove files that no key opens: leftovers of a crash, and what was erased."""
        with self._database.session() as session:
            uploads = list(session.scalars(select(Upload)))
        named = {self._payload(row.id).name for row in uploads if row.payload_key is not None}
        named |= {self._map(row.id).name for row in uploads if row.map_key is not None}
        for path in self._folder.iterdir():
            if path.name not in named:
                path.unlink(missing_ok=True)


def _kept(key: bytes | None, upload: Upload, what: str) -> bytes:
    if key is None:
        where = f"project {upload.project}, upload {upload.id}"
        remedy = "the retention days of the specification decide how long it is kept"
        raise GemelError(ErrorCode.NOT_FOUND, f"the {what} of this upload has been erased", where=where, remedy=remedy)
    return key


def _payload_subject(upload: str) -> str:
    return f"custodian body of upload {upload}"


def _map_subject(upload: str) -> str:
    return f"custodian map of upload {upload}"
