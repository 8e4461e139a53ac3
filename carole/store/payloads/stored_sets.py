"""A committed contribution of mode block_keyed, and its sets one by one, read here or by another process."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import update

from gemel.carole.store.database import Database
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, StoredChunk
from gemel.carole.store.payloads.payload_reader import PayloadReader, PayloadReference, provided
from gemel.carole.store.tables import chunks
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.signatures.intervals import WHOLE, Interval
from gemel.common.signatures.layout import JOINT, FieldLayout, Layout, SetLayout, VariableLayout, where_of
from gemel.common.signatures.party_sets import check_shared_digests
from gemel.common.signatures.payload import (
    counts_from_bytes,
    from_bytes,
    set_from_bytes,
    variable_bytes,
    variable_from_bytes,
)
from gemel.common.signatures.signature_sets import SignatureSet, check_interval
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk, chunk_count, chunk_size


@dataclass(frozen=True)
class StoredContribution:
    """A committed contribution: the sizes of its arrays, and a reader of its bytes (`common.signatures.payload`)."""

    layout: Layout
    payload: PayloadReader

    def read(self, number: int) -> SignatureSet:
        """Decrypt and check one set; VAULT, UPLOAD_CORRUPT if it has changed on the disk."""
        return self.reference(number).read()

    def reference(self, number: int) -> StoredSet:
        """A set, read by this reader; sent to another process, by that process's own."""
        return StoredSet(self.layout.sets[number], self._starts[number], self.payload)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((part.total_bytes for part in self.layout.sets), initial=0))


@dataclass(frozen=True)
class StoredSet:
    """A set of a stored contribution.

    `payload`: the reader of its bytes, which has the key; in another process, to which the set was sent, a reference
    that is read by that one's own key and blobs. `start`: the place of its first byte in the payload.
    """

    layout: SetLayout
    start: int
    payload: PayloadReader | PayloadReference

    @property
    def reader(self) -> PayloadReader:
        """The reader of the payload; errors of `PayloadSource.reader`."""
        return provided().reader(self.payload) if isinstance(self.payload, PayloadReference) else self.payload

    def read(self) -> SignatureSet:
        """Decrypt and check it; VAULT, UPLOAD_CORRUPT if it has changed on the disk, errors of `reader`."""
        return set_from_bytes(self.layout, self.reader.read(self.start, self._stop))

    def digests(self) -> NDArray[np.uint64]:
        """The digests of the blocks of its rows: nothing else of it is read, as far as chunks allow."""
        part = self.layout
        start = self.start + part.fields_bytes + 8 * part.rows * part.blocks.index(part.rule)
        return np.frombuffer(self.reader.read(start, start + 8 * part.rows), dtype="<u8").astype(np.uint64)

    def require(self) -> None:
        """Refuse a reference as `PayloadSource.require`."""
        if isinstance(self.payload, PayloadReference):
            provided().require(self.payload)

    @property
    def _stop(self) -> int:
        return self.start + self.layout.total_bytes

    def __reduce__(self) -> tuple[object, ...]:
        sent = (
            self.payload
            if isinstance(self.payload, PayloadReference)
            else self.payload.reference(self.start, self._stop)
        )
        return StoredSet, (self.layout, self.start, sent)


# Integrity checks of an upload: chunk by chunk as it arrives, and as a whole before it counts.

MAX_RANGES = 100
"""Maximum number of gaps in a reply; further ones are reported when these are filled."""


def validate_payload(layout: Layout, reader: PayloadReader) -> None:
    """Check a payload array by array: each field as a small separate contribution, so that only one is in memory.

    Of a share that is sealed to others nothing can be checked here but that all of it is there.
    """
    layout.validate()
    for part in layout.sets:
        for field in part.fields:
            if field.content in ("signatures", "values"):
                alone = Layout((SetLayout(part.rule, part.rows, (field,), ()),))
                from_bytes(alone, reader.take(alone.total_bytes))
        for rule in part.blocks:
            keys = np.frombuffer(reader.take(part.rows * 8), dtype="<u8")  # any 64-bit number is a blocking key
            if part.is_shared:
                check_shared_digests(keys, rule, part.interval)
            elif rule == part.rule:
                check_interval(keys, part.interval, where_of(rule))
        for variable in part.variables:
            variable_from_bytes(part, variable, reader.take(variable_bytes(part)))
        if part.rule == JOINT:
            counts_from_bytes(part, reader.take(part.rows * 8))
        for begin in range(0, part.sealed_bytes, CHUNK_BYTES):
            reader.take(min(CHUNK_BYTES, part.sealed_bytes - begin))


def check_place(chunk: Chunk, total_bytes: int, where: str) -> None:
    """Refuse a chunk that the upload has no place for, or that does not match its digest."""
    count = chunk_count(total_bytes)
    if chunk.index >= count or chunk.count != count:
        got = f"index {chunk.index} of {chunk.count}"
        raise parameter(where, f"the upload has {count} chunks", got)
    size = chunk_size(chunk.index, total_bytes)
    if len(chunk.data) != size:
        got = f"{len(chunk.data)} bytes"
        raise parameter(where, f"this chunk has {size} bytes", got)
    chunk.check(total_bytes, where)


def gaps_error(gaps: list[tuple[int, int]], where: str) -> GemelError:
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in gaps[:20])
    more = ", ..." if len(gaps) > 20 or len(gaps) == MAX_RANGES else ""
    what = "the upload is not complete"
    remedy = "send the missing chunks, which BeginUpload names too, and commit again"
    return GemelError(ErrorCode.UPLOAD_GAPS, what, where=where, got=f"chunks {shown}{more} missing", remedy=remedy)


def layout_to_text(layout: Layout, sealed_seeds: Sequence[bytes] = ()) -> str:
    """A layout as stored, with what opens its shares in mode shared: equal texts are equal layouts."""
    sets = [
        [
            part.rule,
            part.rows,
            [[f.name, f.bits, f.distinct, *([f.content] * (f.content != "signatures"))] for f in part.fields],
            list(part.blocks),
            *_rest(part),
        ]
        for part in layout.sets
    ]
    seeds = {"seeds": [base64.b64encode(sealed).decode() for sealed in sealed_seeds]} if sealed_seeds else {}
    content = {"records": layout.records, "sets": sets, **seeds} if layout.records else sets
    return json.dumps(content, separators=(",", ":"))


def _rest(part: SetLayout) -> list[object]:
    """What few sets have, each behind the ones before it: variables, an interval, shared tags."""
    rest: list[object] = [[[v.name, v.categories] for v in part.variables], list(part.interval), list(part.tags or ())]
    if part.is_shared:
        return rest
    return rest[:2] if part.interval != WHOLE else rest[:1] if part.variables else []


def layout_from_text(text: str) -> Layout:
    """The layout that `layout_to_text` stored."""
    content = json.loads(text)
    sets, records = (content["sets"], content["records"]) if isinstance(content, dict) else (content, 0)
    return Layout(
        tuple(
            SetLayout(
                rule,
                rows,
                tuple(FieldLayout(*field) for field in fields),
                tuple(blocks),
                tuple(VariableLayout(*variable) for listed in rest[:1] for variable in listed),
                Interval(*rest[1]) if rest[1:] else WHOLE,
                tuple(rest[2]) if rest[2:] else None,
            )
            for rule, rows, fields, blocks, *rest in sets
        ),
        records,
    )


def sealed_seeds_from_text(text: str) -> tuple[bytes, ...]:
    """What opens the shares, by compute party, of a layout that `layout_to_text` stored; none in other modes."""
    content = json.loads(text)
    return tuple(base64.b64decode(sealed) for sealed in content.get("seeds", ())) if isinstance(content, dict) else ()


# Small files of a complete payload joined to large ones: a nation's upload is a few thousand objects, not a million.

PACK_BYTES = 64 << 20
"""Longest file, which is held in memory while it is made."""


def pack(database: Database, payloads: EncryptedPayloads, payload: str) -> None:
    """Join the small files of a complete payload.

    Raises VAULT if a file is missing or shorter than its chunk; STORAGE_FULL, DATABASE; BUSY if another call has packed
    the same chunks meanwhile.
    """
    blobs = payloads.blobs
    with blobs.writing(payload):
        with database.read() as connection:
            stored = payloads.chunks(connection, payload)
        for group in groups(stored, PACK_BYTES):
            content = b"".join(_whole(blobs, payload, chunk) for chunk in group)
            file = blobs.write(payload, content)
            unneeded = [file]
            try:
                with database.write() as connection:
                    start = 0
                    for chunk in group:
                        same = chunks.c.payload == payload, chunks.c.position == chunk.position
                        change = update(chunks).where(*same, chunks.c.file == chunk.file)
                        if connection.execute(change.values(file=file, start=start)).rowcount != 1:
                            what = "the payload is being packed, or was erased"
                            raise GemelError(ErrorCode.BUSY, what, where=f"payload {payload}", remedy="try again")
                        start += chunk.encrypted_bytes
                unneeded = [chunk.file for chunk in group]
            finally:
                blobs.remove(payload, unneeded)


def groups(stored: Sequence[StoredChunk], longest: int) -> Iterator[list[StoredChunk]]:
    """Chunks that follow each other and are files of their own, as many as one file takes, but no single ones."""
    alone = {chunk.file for chunk in stored if chunk.start == 0} - {chunk.file for chunk in stored if chunk.start}
    group: list[StoredChunk] = []
    for chunk in stored:
        full = sum(found.encrypted_bytes for found in group) + chunk.encrypted_bytes > longest
        if full or chunk.file not in alone:
            if len(group) > 1:
                yield group
            group = []
        if chunk.file in alone:
            group.append(chunk)
    if len(group) > 1:
        yield group


def _whole(blobs: Blobs, payload: str, chunk: StoredChunk) -> bytes:
    content = blobs.read(payload, chunk.file)
    if len(content) != chunk.encrypted_bytes:
        what = f"the file of chunk {chunk.position} must have {chunk.encrypted_bytes} bytes"
        remedy = "upload again"
        raise GemelError(ErrorCode.VAULT, what, where=f"payload {payload}", got=str(len(content)), remedy=remedy)
    return content
