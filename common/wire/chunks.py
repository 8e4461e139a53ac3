"""Content larger than a message, cut into chunks of 1 MiB, each with its digest, and one root digest over them all.

Chunks may arrive in any order and any number of times. A stream would be no faster and its end would be no proof of
completeness; here the root, which every chunk names, shows that the content is complete and correct.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.protos.linkage.v1 import transfer_pb2

CHUNK_BYTES = 1 << 20
"""Bytes of every chunk but the last."""

_DIGEST_BYTES = 32


@dataclass(frozen=True)
class Chunk:
    """A chunk as it crosses the wire: its place, the content it belongs to, and its bytes."""

    index: int
    count: int
    """Its place, and the number of chunks of the content."""
    root: bytes
    """Root of the content: `root_digest` of its chunks' digests."""
    sha256: bytes
    """Digest of `data`."""
    data: bytes = field(repr=False)

    @classmethod
    def of(cls, message: transfer_pb2.Chunk) -> Chunk:
        return cls(message.index, message.count, message.root, message.sha256, message.data)

    def message(self) -> transfer_pb2.Chunk:
        return transfer_pb2.Chunk(
            index=self.index, count=self.count, root=self.root, sha256=self.sha256, data=self.data
        )

    def check(self, max_bytes: int, where: str) -> None:
        """Refuse an impossible chunk, before anything of it is stored.

        Raises PARAMETER for an impossible index or size; UPLOAD_LIMIT if the content is longer than `max_bytes`;
        UPLOAD_CORRUPT if the data do not have the digest.
        """
        if not 0 <= self.index < self.count or {len(self.root), len(self.sha256)} != {_DIGEST_BYTES}:
            what = f"a chunk must have an index below the number of chunks, and two digests of {_DIGEST_BYTES} bytes"
            got = f"index {self.index} of {self.count}, {len(self.root)} and {len(self.sha256)} bytes"
            raise parameter(where, what, got)
        if self.count > chunk_count(max_bytes):
            what = f"at most {max_bytes} bytes are accepted"
            raise GemelError(ErrorCode.UPLOAD_LIMIT, what, where=where, got=f"{self.count} chunks")
        full = self.index < self.count - 1
        if not 0 < len(self.data) <= CHUNK_BYTES or (full and len(self.data) != CHUNK_BYTES):
            what = f"a chunk must have {CHUNK_BYTES} bytes, the last one 1 to {CHUNK_BYTES}"
            raise parameter(where, what, f"{len(self.data)} bytes")
        if hashlib.sha256(self.data).digest() != self.sha256:
            remedy = "send it again; if the error persists, check memory and disks on both sides"
            raise GemelError(ErrorCode.UPLOAD_CORRUPT, "the chunk does not have its digest", where=where, remedy=remedy)


def chunk_count(total_bytes: int) -> int:
    """Number of chunks of a payload; an empty payload has none."""
    return -(-total_bytes // CHUNK_BYTES)


def chunk_size(index: int, total_bytes: int) -> int:
    return min(CHUNK_BYTES, total_bytes - index * CHUNK_BYTES)


def chunk_slices(total_bytes: int) -> Iterator[slice]:
    """The slices of a payload that are its chunks, in order."""
    for start in range(0, total_bytes, CHUNK_BYTES):
        yield slice(start, min(start + CHUNK_BYTES, total_bytes))


def rechunked(content: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Content in parts of any length as chunks; none for no content."""
    held = bytearray()
    for part in content:
        view = memoryview(part).cast("B")
        for cut in chunk_slices(len(view)):
            held += view[cut]
            if len(held) >= CHUNK_BYTES:
                yield bytes(held[:CHUNK_BYTES])
                del held[:CHUNK_BYTES]
    if held:
        yield bytes(held)


def root_digest(digests: Iterable[bytes]) -> bytes:
    """SHA-256 over the chunks' SHA-256 digests in order, 32 bytes."""
    root = hashlib.sha256()
    for digest in digests:
        root.update(digest)
    return root.digest()


def missing_ranges(present: Sequence[int], count: int, maximum: int = 1000) -> list[tuple[int, int]]:
    """The gaps among `count` chunks, of which ascending ones are present: at most so many ranges, both ends inclusive.

    Examples
    --------
    >>> missing_ranges([0, 2, 3], 6)
    [(1, 1), (4, 5)]
    """
    gaps = []
    expected = 0
    for index in [*present, count]:
        if index > expected:
            gaps.append((expected, index - 1))
            if len(gaps) == maximum:
                break
        expected = index + 1
    return gaps
