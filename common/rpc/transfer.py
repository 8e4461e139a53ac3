"""Content larger than a message, sent to a service or fetched from it: the client's side of every transfer.

Each chunk is an idempotent unary call, tried again while the service does not answer; an interrupted transfer is
resumed with the missing chunks. Received content is bounded, and verified before it is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import silent
from gemel.common.rpc.client import CHUNK_SECONDS, Connection
from gemel.common.wire.chunks import Chunk, chunk_slices, root_digest
from gemel.protos.linkage.v1 import transfer_pb2

IN_FLIGHT = 4
MAX_BYTES = 1 << 36
"""The longest content that is fetched, 64 GiB; no real share is that large."""

_ATTEMPTS = 3

Step = Callable[[float], None]
"""Called between chunks with the fraction that is done; an exception from it ends the transfer."""


@dataclass(frozen=True)
class Content:
    """Content to be sent."""

    digests: tuple[bytes, ...]
    read: Callable[[int], bytes]
    """Gives the chunk at an index; called by several threads."""
    root: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", root_digest(self.digests))

    @classmethod
    def of(cls, content: bytes) -> Content:
        """Content that is in memory."""
        slices = list(chunk_slices(len(content)))
        view = memoryview(content)
        digests = tuple(hashlib.sha256(view[cut]).digest() for cut in slices)
        return cls(digests, lambda index: bytes(view[slices[index]]))

    def chunk(self, index: int) -> Chunk:
        """One chunk. Raises UPLOAD_CORRUPT if the data read do not have the chunk's digest."""
        data = self.read(index)
        if hashlib.sha256(data).digest() != self.digests[index]:
            what = f"chunk {index} to be sent has changed on disk"
            raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, remedy="check the state folder's disk")
        return Chunk(index, len(self.digests), self.root, self.digests[index], data)


def send(
    connection: Connection,
    method: Any,
    request: Callable[[transfer_pb2.Chunk], Any],
    content: Content,
    indices: Iterable[int] | None = None,
    step: Step = silent,
) -> None:
    """Send content, `IN_FLIGHT` chunks at a time; the first failure ends it, and what has arrived stays.

    The first chunk goes alone: it begins the transfer. `indices` are the chunks to send, where the service has the
    others. Raises errors of the service; UNAVAILABLE; UPLOAD_CORRUPT as `Content.chunk`; errors of `step`.
    """
    count = len(content.digests)
    sending = list(range(count) if indices is None else indices)
    done = count - len(sending)

    def put(index: int) -> None:
        message = request(content.chunk(index).message())
        connection.call(method, message, deadline=CHUNK_SECONDS, attempts=_ATTEMPTS)

    with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="send") as pool:
        under_way: set[Future[None]] = set()
        for index in sending:
            step(done / count)
            under_way.add(pool.submit(put, index))
            if len(under_way) == IN_FLIGHT or index == sending[0]:
                ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                done += _ended(ended)
        done += _ended(under_way)
    step(done / max(1, count))


class Fetch:
    """Content fetched chunk by chunk: iterate over it once. It is verified when the iteration has ended, not before.

    `root` is its root digest, once the first chunk has arrived. Raises errors of the service; UPLOAD_LIMIT if the
    content is longer than `max_bytes`; UPLOAD_CORRUPT if it changed on its way; errors of `step`.
    """

    def __init__(
        self,
        connection: Connection,
        method: Any,
        request: Callable[[int], Any],
        where: str,
        max_bytes: int = MAX_BYTES,
        step: Step = silent,
    ) -> None:
        self._connection, self._method, self._request = connection, method, request
        self._where, self._max_bytes, self._step = where, max_bytes, step
        self.root = b""

    def __iter__(self) -> Iterator[bytes]:
        digests: list[bytes] = []
        count = 1
        while len(digests) < count:
            self._step(len(digests) / count)
            chunk = self._chunk(len(digests))
            if not digests:
                count, self.root = chunk.count, chunk.root
            if (chunk.index, chunk.count, chunk.root) != (len(digests), count, self.root):
                raise self._changed("chunks of different contents")
            digests.append(chunk.sha256)
            yield chunk.data
        if root_digest(digests) != self.root:
            raise self._changed("bytes of another root digest than the service names")
        self._step(1.0)

    def whole(self) -> bytes:
        return b"".join(list(self))

    def _chunk(self, index: int) -> Chunk:
        request = self._request(index)
        response = self._connection.call(self._method, request, deadline=CHUNK_SECONDS, attempts=_ATTEMPTS)
        chunk = Chunk.of(response.chunk)
        chunk.check(self._max_bytes, self._where)
        return chunk

    def _changed(self, got: str) -> GemelError:
        what = "the content changed while it was fetched"
        remedy = "fetch it again; if the error persists, report it to Carole's operator"
        return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=self._where, got=got, remedy=remedy)


def _ended(futures: Iterable[Future[None]]) -> int:
    return len([future.result() for future in futures])
