"""Incoming contributions: idempotent chunks in any order, and a commit, without which they do not count.

A custodian has one upload that counts and at most one in progress; starting another drops the one in progress. A
dropped upload's name stays known, so that a late repetition of its first call does not revive it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, not_, select

from gemel.carole.projects.operations.contribution import begin_upload, commit_upload
from gemel.carole.projects.operations.outcome import Detail
from gemel.carole.projects.project import Upload
from gemel.carole.store.audit import log_name
from gemel.carole.store.changes import Changes, Part
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.payloads.encrypted_payloads import erased
from gemel.carole.store.payloads.payload_reader import PayloadReader, PayloadReference
from gemel.carole.store.payloads.stored_sets import (
    MAX_RANGES,
    StoredContribution,
    check_place,
    gaps_error,
    layout_from_text,
    layout_to_text,
    pack,
    sealed_seeds_from_text,
    validate_payload,
)
from gemel.carole.store.tables import artifacts, chunks, uploads
from gemel.carole.store.view import not_found, number, read_project, sent_by, upload_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES, KNOWN, Layout
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.wire.chunks import Chunk, chunk_count, missing_ranges, root_digest

# How much one custodian may begin to store, so that it fills neither the disk nor the audit log.


@dataclass(frozen=True)
class Quota:
    """What one custodian may begin to store."""

    max_stored_bytes: int
    """Of all its contributions in all projects, and of the granted columns that it has sent."""
    new_uploads: int
    """In one project in 24 hours: each one that begins writes to the audit log, which is kept for ever."""

    def check(self, connection: Connection, project: int, side: Side, total_bytes: int, at: int) -> None:
        """Refuse a new upload above the quota. Raises UPLOAD_LIMIT."""
        mine = uploads.c.side == str(side)
        recent = select(func.count()).select_from(uploads).where(mine, uploads.c.project == project)
        begun = connection.scalar(recent.where(uploads.c.begun_at > at - DAY_MS)) or 0
        if begun >= self.new_uploads:
            what = f"a custodian may begin {self.new_uploads} uploads to a project in 24 hours"
            remedy = "find out why they do not end; if it is right, ask Carole's operator for more"
            raise GemelError(ErrorCode.UPLOAD_LIMIT, what, where="upload", got=f"{begun} already", remedy=remedy)
        # The one in progress to the same project is dropped by the new one.
        dropped = and_(uploads.c.project == project, uploads.c.committed_at.is_(None))
        self.check_stored(connection, side, total_bytes, not_(dropped))

    def check_stored(self, connection: Connection, side: Side, total_bytes: int, *counted: ColumnElement[bool]) -> None:
        """Refuse so many bytes more above the quota, beside the uploads that are `counted`; by default all."""
        mine = uploads.c.side == str(side)
        contributed = select(func.sum(uploads.c.total_bytes)).where(mine, uploads.c.ended.is_(None), *counted)
        sent = select(func.sum(chunks.c.size)).join(artifacts, artifacts.c.payload == chunks.c.payload)
        used = int(connection.scalar(contributed) or 0)
        used += int(connection.scalar(sent.where(artifacts.c.name.like(f"{sent_by(side)}%"))) or 0)
        if used + total_bytes > self.max_stored_bytes:
            what = f"a custodian may store {self.max_stored_bytes} bytes in all projects"
            got = f"{total_bytes} more than the {used} it has"
            remedy = "have projects that have ended erased, or ask Carole's operator for more"
            raise GemelError(ErrorCode.UPLOAD_LIMIT, what, where="upload", got=got, remedy=remedy)


@dataclass(frozen=True)
class UploadProgress:
    """Progress of an upload. `missing` are ranges of chunk indices, both ends inclusive."""

    total_bytes: int
    chunks: int
    missing: tuple[tuple[int, int], ...]
    committed: bool


@dataclass(frozen=True)
class SharesOfUpload:
    """What a compute party needs of a contribution besides its payload."""

    upload: str
    epoch: int
    """`upload`, `epoch`: its name, and the epoch that it was made in."""
    layout: Layout
    sealed_seeds: tuple[bytes, ...]
    """By compute party, what its shares are opened by."""


class Uploads(Part):
    def __init__(self, changes: Changes) -> None:
        super().__init__(changes)
        # Validation holds one field of an upload in memory, packing a file; one at a time keeps that bounded.
        self._validating = threading.Lock()

    def begin(
        self,
        name: str,
        side: Side,
        member: str,
        upload: str,
        layout: Layout,
        measured: Mapping[str, Detail] = MappingProxyType({}),
        decoys: int = 0,
        quota: Quota | None = None,
        sealed_seeds: Sequence[bytes] = (),
    ) -> UploadProgress:
        """Start an upload, or return its progress; the leakage that the custodian measured goes to the audit log.

        In modes open and trusted `decoys` of the rows are no records. In mode shared `sealed_seeds` come with it.
        Raises NOT_FOUND, WRONG_STATE; CHUNK_CONFLICT if the upload was started with another layout; UPLOAD_LIMIT if it
        is new and above the quota.
        """
        # In mode block_keyed a set has fewer rows than records, or more where blocks are padded.
        rows = layout.records or layout.sets[0].rows - decoys
        begun = Upload(upload, False, rows, layout.total_bytes, layout=layout_to_text(layout, sealed_seeds))
        with self._changes.of(name) as change:
            row = _find(change.connection, change.id, side, upload)
            if row is not None and row.ended not in (None, "expired"):
                raise erased()
            if row is None and quota is not None:
                quota.check(change.connection, change.id, side, layout.total_bytes, change.at)
            change.apply(begin_upload(change.project, side, member, begun, measured))
            row = _living(change.connection, change.id, side, upload)
            count = chunk_count(row.total_bytes)
            committed = row.committed_at is not None
            present = [chunk.position for chunk in self._payloads.chunks(change.connection, row.payload)]
        missing = () if committed else tuple(missing_ranges(present, count, MAX_RANGES))
        return UploadProgress(layout.total_bytes, count, missing, committed)

    def put(self, name: str, side: Side, upload: str, chunk: Chunk) -> None:
        """Take one chunk. Repeating a chunk is harmless.

        Raises NOT_FOUND; WRONG_STATE if the upload was erased or the project waits for none; PARAMETER for an index or
        a size that the layout does not have; UPLOAD_CORRUPT if the data do not match their digest, or the whole its
        root digest; CHUNK_CONFLICT if another chunk exists under this index.
        """
        where = f"{name}, upload {upload}, chunk {chunk.index}"
        with self._database.read() as connection:
            row = _living(connection, number(connection, name), side, upload)
        check_place(chunk, row.total_bytes, where)
        receiving = self._payloads.receiving(self._database, row.payload, chunk, where, randomised=False)
        with receiving as name_chunk, self._database.write() as connection:
            _living(connection, number(connection, name, lock=True), side, upload)
            name_chunk(connection)

    def commit(
        self, name: str, side: Side, member: str, upload: str, count: int, total_bytes: int, root: bytes
    ) -> None:
        """Commit an upload, after checking that it is complete and matches its layout and digest.

        Raises NOT_FOUND, WRONG_STATE; UPLOAD_GAPS with the first missing ranges; UPLOAD_CORRUPT if counts or digest
        differ, or the arrays are not a contribution of its layout.
        """
        where = f"{name}, upload {upload}"
        with self._database.read() as connection:
            row = _living(connection, number(connection, name), side, upload)
            chunks = self._payloads.chunks(connection, row.payload)
            key = self._payloads.key(connection, row.payload)
        expected = chunk_count(row.total_bytes)
        gaps = missing_ranges([chunk.position for chunk in chunks], expected, MAX_RANGES)
        if gaps:
            raise gaps_error(gaps, where)
        mine = root_digest(self._payloads.digests(key, chunks))
        if (count, total_bytes, root) != (expected, row.total_bytes, mine):
            same = "the same" if root == mine else "another"
            what = f"the commit must name {expected} chunks, {row.total_bytes} bytes and their root digest"
            got = f"{count} chunks, {total_bytes} bytes and {same} root digest"
            raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, got=got, remedy="start a new upload")
        if row.committed_at is None:
            reference = PayloadReference(row.payload, tuple(chunks), row.total_bytes, where)
            reader = PayloadReader(self._payloads, key, reference)
            with self._validating:
                validate_payload(layout_from_text(row.layout), reader)
                pack(self._database, self._payloads, row.payload)
        with self._changes.of(name) as change:
            row = _living(change.connection, change.id, side, upload)
            change.apply(commit_upload(change.project, side, member, upload_of(row, 0)))

    def open(self, name: str, side: Side) -> StoredContribution:
        """The layout of one side's contribution, and a reader of any range of its bytes.

        Raises WRONG_STATE if there is none; VAULT if the database does not name all its chunks.
        """
        with self._database.read() as connection:
            row = _contributed(connection, name, side)
            chunks = tuple(self._payloads.chunks(connection, row.payload))
            key = self._payloads.key(connection, row.payload)
            wrapped, store = self._payloads.wrapped_key(connection, row.payload), log_name(connection)
        where = f"{name}, contribution of {side}"
        whole = PayloadReference(row.payload, chunks, row.total_bytes, where, wrapped_key=wrapped, store=store)
        return StoredContribution(layout_from_text(row.layout), PayloadReader(self._payloads, key, whole))

    def shares(self, name: str, side: Side) -> SharesOfUpload:
        """What the compute parties need of one side's contribution, in mode shared.

        Raises WRONG_STATE if there is none; NOT_FOUND if it has no shares.
        """
        with self._database.read() as connection:
            row = _contributed(connection, name, side)
        sealed = sealed_seeds_from_text(row.layout)
        if not sealed:
            raise not_found()
        return SharesOfUpload(row.upload, row.epoch, layout_from_text(row.layout), sealed)

    def codes(self, name: str, side: Side) -> SignatureSet:
        """Decrypt and check the set of codes alone, which a contribution of mode block_keyed has.

        Raises NOT_FOUND if the contribution has none; otherwise as `open` and `StoredContribution.read`.
        """
        there = self.open(name, side)
        places = [place for place, part in enumerate(there.layout.sets) if part.rule == CODES]
        if not places:
            raise not_found()
        return there.read(places[0])

    def known(self, name: str, side: Side) -> tuple[SignatureSet, ...]:
        """Decrypt and check the sets of training records and of a known joint distribution alone, if there are any."""
        there = self.open(name, side)
        return tuple(there.read(place) for place, part in enumerate(there.layout.sets) if part.rule in KNOWN)


def _contributed(connection: Connection, name: str, side: Side) -> Row[Any]:
    held = read_project(connection, name)
    if not held.project.contributed(side):
        raise erased()
    return _living(connection, held.id, side, held.project.uploads[side].upload)


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
