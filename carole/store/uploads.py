"""Contributions on their way in: idempotent chunks in any order, and a commit that alone makes them count.

A custodian has one upload that counts and at most one under way; beginning another drops the one under way. A
dropped upload's name stays known, so that a late repetition of its first call does not bring it back.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from tryst.carole.projects import Upload, operations
from tryst.carole.projects.operations.outcome import Detail
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Bodies, BodyReader, Chunk, Clock, erased
from tryst.carole.store.integrity import (
    MOST_RANGES,
    check_chunk,
    gaps_error,
    layout_from_text,
    layout_to_text,
    same_chunk,
    validate_body,
)
from tryst.carole.store.tables import uploads
from tryst.carole.store.view import Held, hold, look, not_found, number, settle, upload_of
from tryst.common.encoding.body import from_bytes
from tryst.common.encoding.layout import CODES, Layout
from tryst.common.encoding.signature_sets import SignatureSet
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.vault import DataKey
from tryst.common.parties import Side
from tryst.common.wire.chunks import CHUNK_BYTES, chunk_count, missing_ranges, root_digest


@dataclass(frozen=True)
class UploadProgress:
    """How far an upload is. `missing` are ranges of chunk indices, both ends inclusive."""

    total_bytes: int
    chunks: int
    missing: tuple[tuple[int, int], ...]
    committed: bool


class Uploads:
    """Takes in contributions and reads them back for a run."""

    def __init__(self, database: Database, bodies: Bodies, clock: Clock) -> None:
        self._database = database
        self._bodies = bodies
        self._clock = clock
        # Validation holds one field of an upload in memory; one at a time keeps that bounded.
        self._validating = threading.Lock()

    def begin(
        self,
        name: str,
        side: Side,
        member: str,
        upload: str,
        layout: Layout,
        measured: Mapping[str, Detail] = MappingProxyType({}),
    ) -> UploadProgress:
        """Begin an upload, or learn how far it is; the audit log is told what the custodian measured before.

        Raises
        ------
        TrystError
            NOT_FOUND, WRONG_STATE; CHUNK_CONFLICT if the upload was begun with another layout.
        """
        dropped: list[str] = []
        with self._database.write() as connection:
            held = hold(connection, name)
            row = _find(connection, held.id, side, upload)
            if row is not None and row.ended == "expired":
                # Its time is over, and the project asks for it again: it begins anew, from nothing.
                connection.execute(delete(uploads).where(uploads.c.body == row.body))
                row = None
            if row is None:
                # In mode block_keyed a set has fewer rows than records, or more where blocks are padded.
                rows = layout.records or max(part.rows for part in layout.sets)
                asked = Upload(upload, False, rows, layout.total_bytes)
                outcome = operations.begin_upload(held.project, side, member, asked, measured)
                dropped = self._drop(connection, held, side, committed=False)
                body = self._insert(connection, held, side, asked, layout)
                settle(connection, held, outcome, self._clock())
                progress = self._progress(connection, body, asked)
            else:
                if row.ended is not None:
                    raise erased()
                if row.layout != layout_to_text(layout):
                    raise TrystError(
                        ErrorCode.CHUNK_CONFLICT,
                        "the upload was begun with another manifest",
                        where=f"{name}, upload {upload}",
                        remedy="begin a new upload under a new name",
                    )
                progress = self._progress(connection, row.body, upload_of(row, 0))
        self._bodies.remove(dropped)
        return progress

    def put(self, name: str, side: Side, upload: str, index: int, sha256: bytes, data: bytes) -> None:
        """Take one chunk. The same chunk again is harmless.

        Raises
        ------
        TrystError
            NOT_FOUND; WRONG_STATE if the upload was erased or the project waits for none; PARAMETER for an index
            or a size that the layout does not have; UPLOAD_CORRUPT if the data is not what its digest says;
            CHUNK_CONFLICT if another chunk is there under this index.
        """
        where = f"{name}, upload {upload}, chunk {index}"
        with self._database.read() as connection:
            row = _living(connection, number(connection, name), side, upload)
            check_chunk(row.total_bytes, index, sha256, data, where)
            there = self._bodies.chunk(connection, row.body, index)
            key = self._bodies.key(connection, row.body)
        if there is not None:
            same_chunk(there.sha256, sha256, where)
            return
        if row.committed_at is not None:
            raise not_found()  # a committed upload has all its chunks
        chunk = self._bodies.store(key, row.body, index, data)
        kept = False
        try:
            with self._database.write() as connection:
                _living(connection, number(connection, name, lock=True), side, upload)
                there = self._bodies.chunk(connection, row.body, index)
                if there is None:
                    self._bodies.name(connection, row.body, chunk)
            kept = there is None
        finally:
            if not kept:
                self._bodies.discard(row.body, chunk)
        if there is not None:
            same_chunk(there.sha256, sha256, where)

    def commit(
        self, name: str, side: Side, member: str, upload: str, count: int, total_bytes: int, root: bytes
    ) -> None:
        """Make an upload count, after checking that it is complete and what it claims to be.

        Raises
        ------
        TrystError
            NOT_FOUND, WRONG_STATE; UPLOAD_GAPS with the first missing ranges; UPLOAD_CORRUPT if counts or digest
            differ, or the arrays are not a contribution of its layout.
        """
        where = f"{name}, upload {upload}"
        with self._database.read() as connection:
            row = _living(connection, number(connection, name), side, upload)
            chunks = self._bodies.chunks(connection, row.body)
            key = self._bodies.key(connection, row.body)
        expected = chunk_count(row.total_bytes)
        gaps = missing_ranges([chunk.position for chunk in chunks], expected, MOST_RANGES)
        if gaps:
            raise gaps_error(gaps, where)
        mine = root_digest(chunk.sha256 for chunk in chunks)
        if (count, total_bytes, root) != (expected, row.total_bytes, mine):
            same = "the same" if root == mine else "another"
            raise TrystError(
                ErrorCode.UPLOAD_CORRUPT,
                f"the commit must name {expected} chunks, {row.total_bytes} bytes and their root digest",
                where=where,
                got=f"{count} chunks, {total_bytes} bytes and {same} root digest",
                remedy="begin a new upload",
            )
        if row.committed_at is None:
            with self._validating:
                validate_body(layout_from_text(row.layout), BodyReader(self._bodies, key, row.body, chunks))
        dropped: list[str] = []
        with self._database.write() as connection:
            held = hold(connection, name)
            row = _living(connection, held.id, side, upload)
            outcome = operations.commit_upload(held.project, side, member, upload_of(row, 0))
            if outcome.changed:
                now = self._clock()
                dropped = self._drop(connection, held, side, committed=True, but=upload)
                connection.execute(update(uploads).where(uploads.c.body == row.body).values(committed_at=now))
                settle(connection, held, outcome, now)
        self._bodies.remove(dropped)
        if dropped:
            self._database.forget_deleted()

    def read(self, name: str, side: Side) -> tuple[SignatureSet, ...]:
        """Decrypt and check the contribution of one side: as many bytes of memory as it has.

        Raises
        ------
        TrystError
            WRONG_STATE if there is none; VAULT, UPLOAD_CORRUPT if the disk has changed it.
        """
        row, chunks, key = self._committed(name, side)
        body = BodyReader(self._bodies, key, row.body, chunks).take(row.total_bytes)
        return from_bytes(layout_from_text(row.layout), body)

    def codes(self, name: str, side: Side) -> SignatureSet:
        """Decrypt and check the set of codes alone, which comes last in a contribution of mode block_keyed.

        Raises
        ------
        TrystError
            NOT_FOUND if the contribution has none; otherwise as `read`.
        """
        row, chunks, key = self._committed(name, side)
        layout = layout_from_text(row.layout)
        last = layout.sets[-1]
        if last.rule != CODES:
            raise not_found()
        first, skipped = divmod(layout.total_bytes - last.total_bytes, CHUNK_BYTES)
        reader = BodyReader(self._bodies, key, row.body, chunks[first:])
        reader.take(skipped)
        (only,) = from_bytes(Layout((last,), layout.records), reader.take(last.total_bytes))
        return only

    def records(self, name: str, side: Side) -> int:
        """Records of the file that a side contributed in mode block_keyed.

        Raises
        ------
        TrystError
            WRONG_STATE if there is none.
        """
        with self._database.read() as connection:
            held = look(connection, name)
            there = held.project.uploads.get(side)
            if there is None:
                raise erased()
            return layout_from_text(_living(connection, held.id, side, there.upload).layout).records

    def end(self, connection: Connection, held: Held, why: str, *which: Any) -> list[str]:
        """Erase a project's uploads (those for which `which` holds); returns the bodies to remove after the commit."""
        found = connection.execute(
            select(uploads).where(uploads.c.project == held.id, uploads.c.ended.is_(None), *which)
        ).all()
        for row in found:
            self._bodies.erase(connection, row.body)
            connection.execute(
                update(uploads).where(uploads.c.body == row.body).values(ended=why, ended_at=self._clock())
            )
        return [row.body for row in found]

    def _committed(self, name: str, side: Side) -> tuple[Row[Any], list[Chunk], DataKey]:
        """The contribution of one side, with its chunks and their key."""
        with self._database.read() as connection:
            held = look(connection, name)
            there = held.project.uploads.get(side)
            if there is None or not held.project.contributed(side):
                raise erased()
            row = _living(connection, held.id, side, there.upload)
            return row, self._bodies.chunks(connection, row.body), self._bodies.key(connection, row.body)

    def _insert(self, connection: Connection, held: Held, side: Side, upload: Upload, layout: Layout) -> str:
        body = self._bodies.create(connection, held.id)
        last = connection.scalar(select(func.max(uploads.c.sequence)).where(uploads.c.project == held.id))
        connection.execute(
            insert(uploads).values(
                project=held.id,
                side=str(side),
                upload=upload.upload,
                sequence=0 if last is None else last + 1,
                body=body,
                epoch=held.project.epoch,
                rows=upload.rows,
                total_bytes=upload.total_bytes,
                layout=layout_to_text(layout),
                begun_at=self._clock(),
            )
        )
        return body

    def _drop(self, connection: Connection, held: Held, side: Side, *, committed: bool, but: str = "") -> list[str]:
        which = [uploads.c.side == str(side), uploads.c.upload != but]
        if not committed:
            which.append(uploads.c.committed_at.is_(None))
        return self.end(connection, held, "replaced", *which)

    def _progress(self, connection: Connection, body: str, upload: Upload) -> UploadProgress:
        count = chunk_count(upload.total_bytes)
        present = [chunk.position for chunk in self._bodies.chunks(connection, body)]
        missing = () if upload.committed else tuple(missing_ranges(present, count, MOST_RANGES))
        return UploadProgress(upload.total_bytes, count, missing, upload.committed)


def _find(connection: Connection, project: int, side: Side, upload: str) -> Row[Any] | None:
    which = (uploads.c.project == project, uploads.c.side == str(side), uploads.c.upload == upload)
    return connection.execute(select(uploads).where(*which)).first()


def _living(connection: Connection, project: int, side: Side, upload: str) -> Row[Any]:
    row = _find(connection, project, side, upload)
    if row is None:
        raise not_found()
    if row.ended is not None:
        raise erased()
    return row
