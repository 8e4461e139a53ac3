"""Content that Carole writes whole to the disk, before the transaction that makes it count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection

from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import EncryptedPayloads, StoredChunk
from tryst.carole.store.view import number
from tryst.common.wire.chunks import rechunked


@contextmanager
def writing(
    database: Database, payloads: EncryptedPayloads, name: str, contents: Mapping[str, Iterable[bytes]]
) -> Iterator[Callable[[Connection], dict[str, str]]]:
    """Write contents to the disk for a project; the yielded function names them, and returns their payloads.

    If the block ends with an error, nothing of them is left.
    """
    written: dict[str, tuple[str, list[StoredChunk]]] = {}
    made: list[str] = []

    def write(connection: Connection) -> dict[str, str]:
        for payload, chunks in written.values():
            payloads.name(connection, payload, chunks)
        return {called: payload for called, (payload, _) in written.items()}

    try:
        for called, content in contents.items():
            with database.write() as connection:
                payload = payloads.create(connection, number(connection, name))
                key = payloads.key(connection, payload)
            made.append(payload)
            written[called] = (
                payload,
                [payloads.store(key, payload, i, chunk) for i, chunk in enumerate(rechunked(content))],
            )
        yield write
    except BaseException:
        with database.write() as connection:
            for payload in made:
                payloads.erase(connection, payload)
        payloads.remove(made)
        raise
