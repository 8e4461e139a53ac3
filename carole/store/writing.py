"""Content written whole to the disk, before the transaction that makes it count."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Bodies, Chunk, pieces
from tryst.carole.store.view import number


@dataclass(frozen=True)
class Written:
    """A body on the disk whose chunks no row names yet, and the digest of the whole."""

    body: str
    chunks: tuple[Chunk, ...]
    sha256: bytes

    def name(self, bodies: Bodies, connection: Connection) -> None:
        """Write the chunks' rows: from the commit on, they count."""
        for chunk in self.chunks:
            bodies.name(connection, self.body, chunk)


@contextmanager
def writing(
    database: Database, bodies: Bodies, name: str, contents: Mapping[str, Iterable[bytes]]
) -> Iterator[dict[str, Written]]:
    """Write contents to the disk for a project; if the block ends with an error, nothing of them is left."""
    written: dict[str, Written] = {}
    made: list[str] = []
    try:
        for called, content in contents.items():
            with database.write() as connection:
                body = bodies.create(connection, number(connection, name))
                key = bodies.key(connection, body)
            made.append(body)
            whole = hashlib.sha256()
            chunks = []
            for position, piece in enumerate(pieces(content)):
                whole.update(piece)
                chunks.append(bodies.store(key, body, position, piece))
            written[called] = Written(body, tuple(chunks), whole.digest())
        yield written
    except BaseException:
        with database.write() as connection:
            for body in made:
                bodies.erase(connection, body)
        bodies.remove(made)
        raise
