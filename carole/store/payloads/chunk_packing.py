"""Small files of a complete payload joined to large ones: a nation's upload is a few thousand objects, not a million.

A custodian sends chunks of 1 MiB in any order, and each is a file of its own when it is acknowledged. Before an upload
counts, chunks that follow each other are written again as one file, still encrypted as they are; one transaction names
it in their rows, and then the small ones are removed. A kill leaves either a file that no row names, or small ones that
none names any more: the next sweep removes them. What was packed by then stays so, and a repetition goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import update

from gemel.carole.store.database import Database
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, StoredChunk
from gemel.carole.store.tables import chunks
from gemel.common.errors import ErrorCode, GemelError

PACK_BYTES = 64 << 20
"""Longest file, which is held in memory while it is made."""


def pack(database: Database, blobs: Blobs, payloads: EncryptedPayloads, payload: str) -> None:
    """Join the small files of a complete payload.

    Raises
    ------
    GemelError
        VAULT if a file is missing or shorter than its chunk; STORAGE_FULL, DATABASE; BUSY if another call has packed
        the same chunks meanwhile.
    """
    with blobs.writing(payload):
        with database.read() as connection:
            stored = payloads.chunks(connection, payload)
        for group in groups(stored, PACK_BYTES):
            content = b"".join(_whole(blobs, payload, chunk) for chunk in group)
            file = blobs.write(payload, content)
            named = False
            try:
                with database.write() as connection:
                    start = 0
                    for chunk in group:
                        same = chunks.c.payload == payload, chunks.c.position == chunk.position
                        change = update(chunks).where(*same, chunks.c.file == chunk.file)
                        if connection.execute(change.values(file=file, start=start)).rowcount != 1:
                            raise GemelError(
                                ErrorCode.BUSY,
                                "the payload is being packed, or was erased",
                                where=f"payload {payload}",
                                remedy="try again",
                            )
                        start += chunk.encrypted_bytes
                named = True
            finally:
                if not named:
                    blobs.remove(payload, [file])
            blobs.remove(payload, [chunk.file for chunk in group])


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
        raise GemelError(
            ErrorCode.VAULT,
            f"the file of chunk {chunk.position} must have {chunk.encrypted_bytes} bytes",
            where=f"payload {payload}",
            got=str(len(content)),
            remedy="upload again",
        )
    return content
