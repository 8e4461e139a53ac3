"""Bodies: what is encrypted under one key of its own, an upload or a share of a result, in chunks."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from tryst.carole.store.blobs import Blobs
from tryst.carole.store.tables import bodies, chunks
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.vault import DataKey, Vault
from tryst.common.wire.chunks import CHUNK_BYTES

Clock = Callable[[], int]
"""Milliseconds since 1970."""


@dataclass(frozen=True)
class Chunk:
    """A stored chunk: its place, digest and size in the clear, and its file."""

    position: int
    sha256: bytes
    size: int
    file: str


@dataclass(frozen=True)
class Piece:
    """A piece of a share or of a paper, how many there are, and the digest of the whole."""

    data: bytes
    pieces: int
    sha256: bytes


class Bodies:
    """Encrypts chunks into blobs, and reads them back."""

    def __init__(self, blobs: Blobs, vault: Vault) -> None:
        self._blobs = blobs
        self._vault = vault

    def create(self, connection: Connection, project: int) -> str:
        """A new body with a new random key."""
        body = secrets.token_hex(16)
        _, wrapped = self._vault.create(_subject(body))
        connection.execute(insert(bodies).values(id=body, project=project, wrapped_key=wrapped))
        return body

    def key(self, connection: Connection, body: str) -> DataKey:
        """The key of a body.

        Raises
        ------
        TrystError
            WRONG_STATE if it has been erased.
        """
        wrapped = connection.execute(select(bodies.c.wrapped_key).where(bodies.c.id == body)).scalar()
        if wrapped is None:
            raise erased()
        return self._vault.unwrap(_subject(body), wrapped)

    def store(self, key: DataKey, body: str, position: int, content: bytes) -> Chunk:
        """Encrypt one chunk onto the disk. It counts once `name` has written its row."""
        file = self._blobs.write(body, key.encrypt(position, content))
        return Chunk(position, hashlib.sha256(content).digest(), len(content), file)

    def name(self, connection: Connection, body: str, chunk: Chunk) -> None:
        """Write a chunk's row: from the commit on, its file counts."""
        connection.execute(
            insert(chunks).values(
                body=body, position=chunk.position, sha256=chunk.sha256, size=chunk.size, file=chunk.file
            )
        )

    def discard(self, body: str, chunk: Chunk) -> None:
        """Remove the file of a chunk whose row was not written."""
        self._blobs.remove(body, chunk.file)

    def chunks(self, connection: Connection, body: str) -> list[Chunk]:
        """The chunks of a body that are there, in order."""
        return [_chunk(row) for row in connection.execute(_chunks(body).order_by(chunks.c.position))]

    def chunk(self, connection: Connection, body: str, position: int) -> Chunk | None:
        """One chunk of a body, if it is there."""
        row = connection.execute(_chunks(body).where(chunks.c.position == position)).first()
        return None if row is None else _chunk(row)

    def read(self, key: DataKey, body: str, chunk: Chunk) -> bytes:
        """Decrypt one chunk and compare it with its digest.

        Raises
        ------
        TrystError
            VAULT if the file is gone or is not what was written.
        """
        content = key.decrypt(chunk.position, self._blobs.read(body, chunk.file))
        if hashlib.sha256(content).digest() != chunk.sha256:
            raise TrystError(ErrorCode.VAULT, "a stored chunk is not what its row says", where=_subject(body))
        return content

    def piece(self, connection: Connection, row: Row[Any], index: int, where: str) -> Piece:
        """One piece of what a row of shares or papers names.

        Raises
        ------
        TrystError
            PARAMETER for an index past the end; WRONG_STATE if it has been erased; VAULT.
        """
        if index >= row.pieces:
            raise TrystError(ErrorCode.PARAMETER, f"there are {row.pieces} pieces", where=where, got=f"index {index}")
        chunk = self.chunk(connection, row.body, index)
        key = self.key(connection, row.body)
        if chunk is None:
            raise erased()
        return Piece(self.read(key, row.body, chunk), row.pieces, row.sha256)

    def erase(self, connection: Connection, body: str) -> None:
        """Destroy a body's key and forget its chunks; `remove` the files after the commit."""
        connection.execute(update(bodies).where(bodies.c.id == body).values(wrapped_key=None))
        connection.execute(delete(chunks).where(chunks.c.body == body))

    def remove(self, erased: Iterable[str]) -> None:
        """Remove the files of bodies whose erasure is committed. Without a key they are worth nothing already."""
        for body in erased:
            self._blobs.remove(body)

    def sweep(self, connection: Connection) -> int:
        """Remove the files that no row names; returns how many."""
        rows = connection.execute(select(chunks.c.body, chunks.c.file))
        return self._blobs.sweep({(row.body, row.file) for row in rows})

    def rewrap(self, connection: Connection) -> int:
        """Wrap every data key by the current wrapping key; returns how many were under another one."""
        count = 0
        for row in connection.execute(select(bodies).where(bodies.c.wrapped_key.is_not(None))).all():
            if not self._vault.is_current(row.wrapped_key):
                wrapped = self._vault.rewrap(_subject(row.id), row.wrapped_key)
                connection.execute(update(bodies).where(bodies.c.id == row.id).values(wrapped_key=wrapped))
                count += 1
        return count


class BodyReader:
    """Reads a body's bytes one after the other, a chunk in memory at a time."""

    def __init__(self, bodies: Bodies, key: DataKey, body: str, chunks: Sequence[Chunk]) -> None:
        self._content = self._decrypted(bodies, key, body, chunks)
        self._held = memoryview(b"")

    def take(self, size: int) -> memoryview:
        """The next `size` bytes.

        Raises
        ------
        TrystError
            UPLOAD_CORRUPT if the body is shorter; VAULT.
        """
        taken = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            if not self._held:
                piece = next(self._content, None)
                if piece is None:
                    raise TrystError(ErrorCode.UPLOAD_CORRUPT, "the body is shorter than its layout says")
                self._held = memoryview(piece)
            part = self._held[: size - filled]
            taken[filled : filled + len(part)] = part
            filled += len(part)
            self._held = self._held[len(part) :]
        return taken

    @staticmethod
    def _decrypted(bodies: Bodies, key: DataKey, body: str, chunks: Sequence[Chunk]) -> Iterator[bytes]:
        for chunk in chunks:
            yield bodies.read(key, body, chunk)


def pieces(content: Iterable[bytes]) -> Iterator[bytes]:
    """Cut content into pieces of 1 MiB, the last one shorter."""
    held = bytearray()
    for part in content:
        held += part
        while len(held) >= CHUNK_BYTES:
            yield bytes(held[:CHUNK_BYTES])
            del held[:CHUNK_BYTES]
    if held:
        yield bytes(held)


def erased() -> TrystError:
    """What is asked for was erased."""
    return TrystError(
        ErrorCode.WRONG_STATE,
        "what is asked for has been erased: its time was over, or its project was erased, or it was replaced",
        remedy="contribute again, under a new upload, if the project still waits for it",
    )


def _subject(body: str) -> str:
    return f"body {body}"


def _chunks(body: str) -> Select[tuple[str, int, bytes, int, str]]:
    return select(chunks).where(chunks.c.body == body)


def _chunk(row: object) -> Chunk:
    return Chunk(row.position, row.sha256, row.size, row.file)  # type: ignore[attr-defined]
