"""Reads a stored payload: any range of its bytes, or all in order, with a few chunks in memory at a time.

Every chunk is authenticated by itself, for its payload and its place, and has a digest in the database, encrypted
likewise. So a range is as certain as the whole: a chunk that was changed, is missing, or is another place's ends in an
error, and bytes that were not checked are never returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, StoredChunk, subject_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import DataKey, Vault
from gemel.common.wire.chunks import CHUNK_BYTES, chunk_count, chunk_size

# A part of a payload for another process, which reads it by keys and credentials of its own.


@dataclass(frozen=True)
class PayloadReference:
    """The chunks of a complete payload, or a stretch of them."""

    payload: str
    chunks: tuple[StoredChunk, ...] = field(repr=False)
    total_bytes: int
    """Of the whole payload."""
    where: str
    """How errors name it: the project and the side, or the run and the artifact."""
    first: int | None = None
    """The number of the first of `chunks`; None: they are all of the payload's."""
    wrapped_key: bytes = field(default=b"", repr=False)
    store: str = ""
    """`wrapped_key`, `store`: by which another process reads it, if one ever does: of contributions only."""

    def part(self, start: int, stop: int) -> PayloadReference:
        """The chunks with the bytes from `start` up to `stop`, of a reference to the whole."""
        first = start // CHUNK_BYTES
        return replace(self, first=first, chunks=self.chunks[first : chunk_count(stop)])


RUN_CHUNKS = 8
"""Chunks that one request reads: enough for the throughput of an object store, and little memory."""


class PayloadReader:
    """Reads the bytes of a complete payload, or a stretch of them.

    `read` may be called from several threads at a time, `take` from one.
    """

    def __init__(self, payloads: EncryptedPayloads, key: DataKey, reference: PayloadReference) -> None:
        self._payloads, self._key, self._reference = payloads, key, reference
        self._payload, self._chunks, self._where = reference.payload, reference.chunks, reference.where
        self.total_bytes, self._first = reference.total_bytes, reference.first or 0
        self._taken = 0
        # Most readers go forward in small steps, within the same chunk.
        self._last = (-1, b"")
        self._count = chunk_count(self.total_bytes)
        stop = self._count if reference.first is None else self._first + len(self._chunks)
        expected = [(i, chunk_size(i, self.total_bytes)) for i in range(self._first, stop)]
        if [(chunk.position, chunk.size) for chunk in self._chunks] != expected:
            what = f"the database must name the {len(expected)} chunks of {self.total_bytes} bytes in order"
            got = f"{len(self._chunks)} of {sum(chunk.size for chunk in self._chunks)} bytes"
            remedy = "restore database and blobs from the same backup, or upload again"
            raise GemelError(ErrorCode.VAULT, what, where=self._where, got=got, remedy=remedy)

    def read(self, start: int, stop: int) -> memoryview:
        """The bytes from `start` up to `stop`; only the chunks that hold them are read.

        Raises UPLOAD_CORRUPT if the payload has no such range; VAULT if a chunk is missing, was changed, or belongs to
        another place or payload.
        """
        if not 0 <= start <= stop <= self.total_bytes:
            what = f"the payload has {self.total_bytes} bytes"
            got = f"a request for those from {start} to {stop}"
            raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=self._where, got=got)
        first = self._first * CHUNK_BYTES
        if start < stop and not first <= start <= stop <= first + sum(chunk.size for chunk in self._chunks):
            end = self._first + len(self._chunks)
            what = f"this reader has the chunks from {self._first} to {end} of {self._count}"
            got = f"a request for bytes from {start} to {stop}"
            raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=self._where, got=got)
        found = memoryview(bytearray(stop - start))
        at = start
        for content in self._contents(start // CHUNK_BYTES, chunk_count(stop) if start < stop else 0):
            part = memoryview(content)[at % CHUNK_BYTES :][: stop - at]
            found[at - start : at - start + len(part)] = part
            at += len(part)
        return found

    def reference(self, start: int, stop: int) -> PayloadReference:
        """The chunks with the bytes from `start` up to `stop`, for another process."""
        assert self._reference.wrapped_key and self._reference.first is None  # noqa: S101, PT018 - whole contributions
        return self._reference.part(start, stop)

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, from the first on; errors as `read`."""
        taken = self.read(self._taken, self._taken + size)
        self._taken += size
        return taken

    def _contents(self, first: int, end: int) -> Iterator[bytes]:
        """The chunks from `first` up to `end`, those that follow each other in a file by one request."""
        index = first
        while index < end:
            position, content = self._last
            if position == index:
                yield content
                index += 1
                continue
            run = self._run(index, end)
            with self._naming(index):
                encrypted = self._payloads.read_run(self._payload, run)
            for chunk in run:
                begins = chunk.start - run[0].start
                with self._naming(index):
                    part = encrypted[begins : begins + chunk.encrypted_bytes]
                    content, _ = self._payloads.decrypt(self._key, self._payload, chunk, part)
                self._last = (index, content)
                yield content
                index += 1

    def _run(self, first: int, end: int) -> list[StoredChunk]:
        """Chunks from `first` on that follow each other in a file."""
        first, end = first - self._first, min(end, first + RUN_CHUNKS) - self._first
        run = [self._chunks[first]]
        for chunk in self._chunks[first + 1 : end]:
            if (chunk.file, chunk.start) != (run[-1].file, run[-1].start + run[-1].encrypted_bytes):
                break
            run.append(chunk)
        return run

    @contextmanager
    def _naming(self, index: int) -> Iterator[None]:
        """Errors of a chunk name the payload as its reader knows it."""
        try:
            yield
        except GemelError as error:
            where = f"{self._where}, chunk {index} of {self._count}"
            raise GemelError(
                error.code,
                error.what,
                where=f"{where} ({error.where})" if error.where else where,
                got=error.got,
                remedy=error.remedy,
                retry_seconds=error.retry_seconds,
            ) from None


# What a process other than Carole's reads payloads by: the blobs of her store, and wrapping keys.

MAX_KEYS = 16
"""Data keys that a process keeps unwrapped between two units: those of eight runs' contributions."""


class PayloadSource:
    """What this process reads payloads by. `blobs`: the store's; nothing is written, and they are not claimed."""

    def __init__(self, blobs: Blobs, vault: Vault) -> None:
        self._blobs, self._vault = blobs, vault
        self._payloads = EncryptedPayloads(blobs, vault)
        self._key = lru_cache(MAX_KEYS)(self._unwrapped)

    def reader(self, reference: PayloadReference) -> PayloadReader:
        """A reader of the referenced chunks.

        Raises VAULT if the wrapping key is not here; UNAVAILABLE if what has it does not answer.
        """
        return PayloadReader(self._payloads, self._key(reference.payload, reference.wrapped_key), reference)

    def require(self, reference: PayloadReference) -> None:
        """Refuse a payload whose key does not unwrap here, or whose store's blobs are not these.

        Errors as `reader`; DATABASE for other blobs, or where they cannot be reached.
        """
        self._key(reference.payload, reference.wrapped_key)
        self._blobs.require(reference.store)

    def forget(self) -> None:
        """Keep no data key any longer."""
        self._key.cache_clear()

    def _unwrapped(self, payload: str, wrapped_key: bytes) -> DataKey:
        return self._vault.unwrap(subject_of(payload), wrapped_key)


_provided: list[PayloadSource] = []


def provide(source: PayloadSource) -> None:
    """Let references that reach this process be read by `source`; once, before the first of them."""
    _provided[:] = [source]


def provided() -> PayloadSource:
    """What this process reads references by. Raises CONFIGURATION if it has nothing to read them by."""
    if not _provided:
        what = "this process has no wrapping key and no blobs: it was not started as a worker of Carole's"
        remedy = "start workers by `gemel carole worker`, and nothing else at this scheduler"
        raise GemelError(ErrorCode.CONFIGURATION, what, where="worker", remedy=remedy)
    return _provided[0]
