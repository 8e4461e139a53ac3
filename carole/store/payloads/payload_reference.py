"""A part of a payload for another process, which reads it by keys and credentials of its own.

A reference has what the database knows of the part: the files of its chunks, places and sizes in them, digests as they
rest, and the payload's data key as it rests, wrapped. It has no key: who gets hold of it has what is on Carole's disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gemel.carole.store.payloads.encrypted_payloads import StoredChunk
from gemel.common.wire.chunks import CHUNK_BYTES, chunk_count


@dataclass(frozen=True)
class PayloadReference:
    """A stretch of the chunks of a complete payload.

    Attributes
    ----------
    store
        The store that it belongs to.
    payload, wrapped_key, total_bytes
        Of the whole payload.
    first, chunks
        The stretch, and the number of its first chunk.
    where
        How errors name the payload.
    """

    store: str
    payload: str
    wrapped_key: bytes = field(repr=False)
    total_bytes: int
    first: int
    chunks: tuple[StoredChunk, ...] = field(repr=False)
    where: str

    def part(self, start: int, stop: int) -> PayloadReference:
        """The chunks with the bytes from `start` up to `stop`, of a reference to the whole."""
        first = start // CHUNK_BYTES
        return replace(self, first=first, chunks=self.chunks[first : chunk_count(stop)])
