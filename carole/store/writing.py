"""Content that a worker writes whole to the disk, before the transaction that makes it count."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress

from sqlalchemy import Connection

from gemel.carole.store.changes import Change, Changes
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, StoredChunk
from gemel.carole.store.tables import payloads as rows
from gemel.common.errors import GemelError
from gemel.common.keys.vault import DataKey
from gemel.common.wire.chunks import rechunked

Owned = Callable[[], AbstractContextManager[Change]]
"""A change of the run's project by the worker that holds the run; it raises where the run is no longer the worker's."""


@contextmanager
def writing(
    changes: Changes,
    payloads: EncryptedPayloads,
    owned: Owned,
    writer: str,
    contents: Mapping[str, Iterable[bytes]],
    *,
    randomised: Container[str],
) -> Iterator[Callable[[Connection], dict[str, str]]]:
    """Write contents to the disk for a run; the yielded function names them, and returns their payloads.

    Every key is made in a transaction that holds the run, so that none comes into being once its project is erased. If
    the block ends with an error, nothing of the contents is left; if the worker is killed, `sweeping` erases what it
    has left as soon as the run is no longer its own.

    Parameters
    ----------
    writer
        The worker, under whose name the payloads stand until they are named.
    randomised
        Names of the contents whose digests confirm no guess (`resting_digests`).
    """
    written: dict[str, tuple[str, DataKey, list[StoredChunk]]] = {}
    made: list[str] = []
    project = ""

    def write(connection: Connection) -> dict[str, str]:
        for called, (payload, key, chunks) in written.items():
            payloads.name(connection, key, payload, chunks, randomised=called in randomised)
        return {called: payload for called, (payload, *_) in written.items()}

    try:
        for called, content in contents.items():
            with owned() as change:
                project = change.project.name
                payload = payloads.create(change.connection, change.id, writer)
                key = payloads.key(change.connection, payload)
            made.append(payload)
            written[called] = (
                payload,
                key,
                [payloads.store(key, payload, i, chunk) for i, chunk in enumerate(rechunked(content))],
            )
        yield write
    except BaseException:
        # What cannot be erased now, since the database is away, is swept later.
        with suppress(GemelError):
            if made:
                with changes.of(project) as change:
                    change.erase(rows.c.id.in_(made))
        payloads.remove(made)
        raise
