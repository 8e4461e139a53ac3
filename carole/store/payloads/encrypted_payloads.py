"""Encrypted payloads: an upload, an artifact or a share of a result, each in chunks under a separate key.

A payload is received from its sender chunk by chunk, in any order (`receiving`), or written whole by Carole herself
(`writing`); either way it is fetched chunk by chunk (`fetch`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from gemel.carole.store.database import Database, count, counter
from gemel.carole.store.payloads.blobs import Blobs, new_payload
from gemel.carole.store.tables import chunks, payloads
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.vault import OVERHEAD_BYTES, DataKey, Vault
from gemel.common.wire.chunks import Chunk, root_digest

# Digests of plaintext as they rest in the database: encrypted under the key of the payload that they are of.
#
# A digest in the clear would let whoever reads the database, and has no wrapping key, confirm a guess of a whole
# chunk, or see that two uploads are equal; and it would outlive the erasure of its content. Encrypted under the
# payload's own key it is gone with that key. What guards the disk against damage is not this but AES-GCM's tag of each
# chunk.
#
# Content that was encrypted, or has fresh randomness in it, before it came here has a digest that confirms nothing:
# that of a custodian's sealed share, and of artifacts. Their root digests stay in the clear, because a custodian's
# repeated acknowledgement, and an artifact that is sent again, are recognised by them after the erasure too.

DIGEST_BYTES = 32

_ROOT = 2**32 - 1  # no chunk has this place
_PURPOSE = "digests"


def resting(key: DataKey, position: int, digest: bytes) -> bytes:
    """A chunk's digest as it is stored, 60 bytes, other ones every time."""
    return key.apart(_PURPOSE).encrypt(position, digest)


def digest_of(key: DataKey, position: int, stored: bytes) -> bytes:
    """A chunk's digest from `resting`. Raises VAULT if it was changed, or is of another chunk or payload."""
    return key.apart(_PURPOSE).decrypt(position, stored)


def resting_root(key: DataKey, root: bytes) -> bytes:
    """A payload's root digest as it is stored, 60 bytes."""
    return resting(key, _ROOT, root)


def root_of(key: DataKey, stored: bytes | None) -> bytes | None:
    """A payload's root digest as it was stored, in the clear or not; None if there is none. Errors as `digest_of`."""
    if stored is None or len(stored) == DIGEST_BYTES:
        return stored
    return digest_of(key, _ROOT, stored)


Clock = Callable[[], int]
"""Milliseconds since 1970."""


@dataclass(frozen=True)
class StoredChunk:
    """A stored chunk: its place, the digest of its plaintext as it rests, its size, its file, and its place in that."""

    position: int
    digest: bytes
    size: int
    file: str
    start: int = 0

    @property
    def encrypted_bytes(self) -> int:
        """Bytes that it takes in its file."""
        return self.size + OVERHEAD_BYTES


class EncryptedPayloads:
    def __init__(self, blobs: Blobs, vault: Vault) -> None:
        self.blobs, self._vault = blobs, vault

    def create(self, connection: Connection, project: int, writer: str | None = None) -> str:
        """A new payload with a new random key; of a worker that writes it whole, `writer` is the name."""
        payload = new_payload(count(connection, "payloads"))
        _, wrapped = self._vault.create(subject_of(payload))
        values = {"id": payload, "project": project, "wrapped_key": wrapped, "complete": 0, "writer": writer}
        connection.execute(insert(payloads).values(values))
        return payload

    def key(self, connection: Connection, payload: str) -> DataKey:
        """The key of a payload. Raises WRONG_STATE if it has been erased."""
        return self._vault.unwrap(subject_of(payload), self.wrapped_key(connection, payload))

    def wrapped_key(self, connection: Connection, payload: str) -> bytes:
        """The key of a payload as it rests; WRONG_STATE if it has been erased."""
        wrapped = connection.execute(select(payloads.c.wrapped_key).where(payloads.c.id == payload)).scalar()
        if wrapped is None:
            raise erased()
        return bytes(wrapped)

    def store(self, key: DataKey, payload: str, position: int, content: bytes) -> StoredChunk:
        """Write one chunk, encrypted, to the disk. It counts once a row names it."""
        file = self.blobs.write(payload, key.encrypt(position, content))
        return StoredChunk(position, resting(key, position, hashlib.sha256(content).digest()), len(content), file)

    def digests(self, key: DataKey, stored: Iterable[StoredChunk]) -> Iterator[bytes]:
        """The digests of stored chunks' plaintext; VAULT if one was changed."""
        return (digest_of(key, chunk.position, chunk.digest) for chunk in stored)

    def name(
        self, connection: Connection, key: DataKey, payload: str, written: Sequence[StoredChunk], *, randomised: bool
    ) -> None:
        """Write the rows of a payload that is complete on the disk: it counts from the commit on.

        `randomised`: whether its digest confirms no guess, so that the root may rest in the clear.
        """
        rows = [{"payload": payload, **vars(chunk)} for chunk in written]
        if rows:
            connection.execute(insert(chunks), rows)
        root = root_digest(self.digests(key, written))
        stored = root if randomised else resting_root(key, root)
        whole = {"chunks": len(rows), "root": stored, "complete": 1, "writer": None}
        connection.execute(update(payloads).where(payloads.c.id == payload).values(whole))

    @contextmanager
    def receiving(
        self, database: Database, payload: str, chunk: Chunk, where: str, *, randomised: bool
    ) -> Iterator[Callable[[Connection], bool]]:
        """Receive a checked chunk: write it to the disk, then name it in the caller's transaction.

        The yielded function names it, and returns whether the payload is then complete; the caller's transaction must
        lock the payload against other writers. Repeating a chunk is harmless. If the block ends with an error, nothing
        of the chunk is left. `randomised` as of `name`. Raises CHUNK_CONFLICT if the payload was started with other
        content, or has another chunk under this index; UPLOAD_CORRUPT if all chunks are present and do not match their
        root digest; WRONG_STATE if the payload has been erased.
        """
        with self.blobs.writing(payload):
            with database.read() as connection:
                key = self.key(connection, payload)
                known = self._has(connection, key, payload, chunk, where)
                stored = None if known else self.store(key, payload, chunk.index, chunk.data)
            root = chunk.root if randomised else resting_root(key, chunk.root)
            named = False

            def name(connection: Connection) -> bool:
                nonlocal named
                if stored is None or self._has(connection, key, payload, chunk, where):
                    return False
                connection.execute(insert(chunks).values(payload=payload, **vars(stored)))
                named_chunks = select(func.count()).select_from(chunks).where(chunks.c.payload == payload)
                complete = connection.scalar(named_chunks) == chunk.count
                if complete and root_digest(self.digests(key, self.chunks(connection, payload))) != chunk.root:
                    what = "the data received does not match its root digest"
                    remedy = "send it again from its first chunk; an upload under a new name"
                    raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, remedy=remedy)
                whole = {"chunks": chunk.count, "root": root, "complete": int(complete)}
                connection.execute(update(payloads).where(payloads.c.id == payload).values(whole))
                named = True
                return complete

            with ExitStack() as unnamed:
                if stored is not None:
                    unnamed.callback(self.blobs.remove, payload, [stored.file])
                yield name
                if named:
                    unnamed.pop_all()

    def _has(self, connection: Connection, key: DataKey, payload: str, chunk: Chunk, where: str) -> bool:
        """Whether a payload has this chunk; CHUNK_CONFLICT if it has another, or other content."""
        row = connection.execute(select(payloads.c.chunks, payloads.c.root).where(payloads.c.id == payload)).one()
        if row.root is not None and (row.chunks, root_of(key, row.root)) != (chunk.count, chunk.root):
            raise chunk_conflict("the chunk belongs to a payload other than the one that was started", where)
        there = self.chunk(connection, payload, chunk.index)
        if there is not None and digest_of(key, there.position, there.digest) != chunk.sha256:
            raise chunk_conflict("another chunk was sent under this index", where)
        return there is not None

    def chunks(self, connection: Connection, payload: str) -> list[StoredChunk]:
        return [_chunk(row) for row in connection.execute(_chunks(payload).order_by(chunks.c.position))]

    def chunk(self, connection: Connection, payload: str, position: int) -> StoredChunk | None:
        row = connection.execute(_chunks(payload).where(chunks.c.position == position)).first()
        return None if row is None else _chunk(row)

    def read_run(self, payload: str, run: Sequence[StoredChunk]) -> memoryview:
        """The bytes of chunks that follow each other in a file, still encrypted, by one request."""
        first, last = run[0], run[-1]
        length = last.start + last.encrypted_bytes - first.start
        return memoryview(self.blobs.read(payload, first.file, first.start, length))

    def decrypt(
        self, key: DataKey, payload: str, chunk: StoredChunk, encrypted: bytes | memoryview
    ) -> tuple[bytes, bytes]:
        """The content of one chunk and its digest, compared with the stored one; VAULT if it has changed."""
        content = key.decrypt(chunk.position, encrypted)
        digest = hashlib.sha256(content).digest()
        if len(content) != chunk.size or digest != digest_of(key, chunk.position, chunk.digest):
            what = "a stored chunk does not match its database row"
            raise GemelError(ErrorCode.VAULT, what, where=subject_of(payload))
        return content, digest

    def fetch(self, connection: Connection, payload: str, index: int, where: str) -> Chunk:
        """One chunk of a complete payload, to be sent.

        Raises PARAMETER for an index past the end; WRONG_STATE if it has been erased; VAULT.
        """
        row = connection.execute(select(payloads).where(payloads.c.id == payload)).one()
        if index >= row.chunks:
            raise parameter(where, f"there are {row.chunks} chunks", f"index {index}")
        chunk = self.chunk(connection, payload, index)
        key = self.key(connection, payload)
        if chunk is None:
            raise erased()
        content, digest = self.decrypt(key, payload, chunk, self.read_run(payload, [chunk]))
        return Chunk(index, row.chunks, root_of(key, row.root) or b"", digest, content)

    def whole(self, connection: Connection, payload: str, where: str) -> bytes:
        """All bytes of a complete payload; errors as `fetch`."""
        first = self.fetch(connection, payload, 0, where)
        rest = (self.fetch(connection, payload, index, where).data for index in range(1, first.count))
        return first.data + b"".join(rest)

    def erase(self, connection: Connection, which: ColumnElement[bool]) -> dict[str, str]:
        """Destroy the keys of payloads and delete their chunks' rows; `remove` the files after the commit.

        Returns by payload the SHA-256 digest of the wrapped key, in hexadecimal digits: a copy of the key that turns up
        in a backup is recognised as one that was to be destroyed.
        """
        query = select(payloads.c.id, payloads.c.wrapped_key).where(payloads.c.wrapped_key.is_not(None), which)
        found = {row.id: hashlib.sha256(row.wrapped_key).hexdigest() for row in connection.execute(query)}
        for payload in found:
            gone = {"wrapped_key": None, "swept": 0}
            connection.execute(update(payloads).where(payloads.c.id == payload).values(gone))
            encrypted = payloads.c.id == payload, func.length(payloads.c.root) > DIGEST_BYTES
            connection.execute(update(payloads).where(*encrypted).values(root=None))
            connection.execute(delete(chunks).where(chunks.c.payload == payload))
        return found

    def remove(self, erased: Iterable[str]) -> None:
        """Remove the files of payloads whose erasure is committed. Without a key they are already unreadable."""
        for payload in erased:
            self.blobs.remove(payload)

    def rewrap(self, connection: Connection) -> int:
        """Wrap every data key by the current wrapping key; returns how many were under another one."""
        rows = connection.execute(select(payloads).where(payloads.c.wrapped_key.is_not(None))).all()
        former = [row for row in rows if not self._vault.is_current(row.wrapped_key)]
        for row in former:
            wrapped = self._vault.rewrap(subject_of(row.id), row.wrapped_key)
            connection.execute(update(payloads).where(payloads.c.id == row.id).values(wrapped_key=wrapped))
        return len(former)


def chunk_conflict(what: str, where: str) -> GemelError:
    remedy = "send it again from its first chunk; an upload under a new name, for its content may not change"
    return GemelError(ErrorCode.CHUNK_CONFLICT, what, where=where, remedy=remedy)


def erased() -> GemelError:
    what = "the requested content has been erased: it expired, or its project was erased, or it was replaced"
    remedy = "contribute again, under a new upload, if the project still waits for it"
    return GemelError(ErrorCode.WRONG_STATE, what, remedy=remedy)


def subject_of(payload: str) -> str:
    return f"payload {payload}"


def _chunks(payload: str) -> Select[tuple[str, int, bytes, int, str, int]]:
    return select(chunks).where(chunks.c.payload == payload)


def newest(connection: Connection) -> int:
    """Number of the newest payload (see `blobs.new_payload`)."""
    return counter(connection, "payloads")


def _chunk(row: object) -> StoredChunk:
    return StoredChunk(row.position, row.digest, row.size, row.file, row.start)  # type: ignore[attr-defined]
