"""Artifacts of a run in mode block_keyed: the data exchanged between Carole, the custodians and the resolver.

Carole writes the custodians' rows and the resolution request; a custodian submits its handles, sealed to the resolver,
and the resolver its result. Every artifact is encrypted here like an upload, and erased when its run ends. Granted
columns of the linked records are kept in the same way after it (`granted_variables`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from gemel.carole.projects import Project, Run
from gemel.carole.projects.operations import Outcome, require_waiting
from gemel.carole.projects.restoration import refuse_standstill
from gemel.carole.store.changes import Change, Changes
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, chunk_conflict
from gemel.carole.store.payloads.payload_reader import PayloadReader
from gemel.carole.store.tables import artifacts, payloads
from gemel.carole.store.view import not_found, read_project
from gemel.carole.store.writing import Owned, writing
from gemel.common.parties import Side
from gemel.common.wire.chunks import Chunk

Allowed = Callable[[Project], object]
"""Raises where the project does not let an artifact be exchanged now."""

RESOLUTION_REQUEST = "question"
RESOLUTION_RESULT = "response"


def rows_of(side: Side) -> str:
    """Name of the artifact with a custodian's rows."""
    return f"rows-{side}"


def handles_of(side: Side) -> str:
    """Name of the artifact with a custodian's handles."""
    return f"handles-{side}"


class Artifacts:
    """Keeps the artifacts of runs while these wait."""

    def __init__(self, database: Database, payloads: EncryptedPayloads, changes: Changes) -> None:
        self._database = database
        self._payloads = payloads
        self._changes = changes

    @contextmanager
    def writing(
        self, owned: Owned, writer: str, contents: Mapping[str, Iterable[bytes]]
    ) -> Iterator[Callable[[Connection, str], None]]:
        """Write Carole's own artifacts; the yielded function names them in the transaction that lets the run wait.

        Parameters as of `writing.writing`.
        """
        with writing(self._changes, self._payloads, owned, writer, contents, randomised=contents) as written:

            def write(connection: Connection, run: str) -> None:
                for called, payload in written(connection).items():
                    connection.execute(insert(artifacts).values(run=run, name=called, payload=payload))

            yield write

    def fetch(self, name: str, run: str, artifact: str, index: int, allowed: Allowed | None = None) -> Chunk:
        """One chunk of a complete artifact.

        Parameters
        ----------
        allowed
            By default the run must wait.

        Raises
        ------
        GemelError
            NOT_FOUND if there is no such artifact; errors of `allowed`: WRONG_STATE if the run does not wait;
            PARAMETER for an index past the end.
        """
        with self._database.read() as connection:
            (allowed or partial(_waiting, run))(read_project(connection, name).project)
            row = row_of(connection, run, artifact)
            if row is None or not row.complete:
                raise not_found()
            return self._payloads.fetch(connection, row.payload, index, name)

    def read(self, run: str, artifact: str) -> memoryview | None:
        """The whole of a complete artifact; None if there is none."""
        with self._database.read() as connection:
            row = row_of(connection, run, artifact)
            if row is None or not row.complete:
                return None
            chunks = self._payloads.chunks(connection, row.payload)
            key = self._payloads.key(connection, row.payload)
        size, where = sum(chunk.size for chunk in chunks), f"run {run}, {artifact}"
        return PayloadReader(self._payloads, key, row.payload, chunks, size, where).read(0, size)

    def put(
        self,
        name: str,
        run: str,
        artifact: str,
        chunk: Chunk,
        max_bytes: int,
        complete: Callable[[Project, int], Outcome],
        allowed: Allowed | None = None,
        begin: Callable[[Change], None] = lambda change: None,
    ) -> None:
        """Take a chunk of an artifact; the last one makes it complete and applies `complete` to the project
        and the artifact's length in bytes.

        The first chunk of other content restarts an incomplete artifact.

        Parameters
        ----------
        allowed
            By default the run must wait.
        begin
            Called before an artifact is begun, or begun again.

        Raises
        ------
        GemelError
            NOT_FOUND, WRONG_STATE; errors of `allowed` and `begin`; PARAMETER, UPLOAD_LIMIT and UPLOAD_CORRUPT as
            `Chunk.check`; CHUNK_CONFLICT for a chunk of other content, or another one under an index that has one;
            UPLOAD_CORRUPT if the content does not match its root digest.
        """
        where = f"{name}, run {run}, {artifact}, chunk {chunk.index}"
        chunk.check(max_bytes, where)
        require = allowed or partial(_waiting, run)
        with self._changes.of(name) as change:
            row = row_of(change.connection, run, artifact)
            if row is not None and row.complete and row.root == chunk.root:
                return
            require(change.project)
            if row is None or row.root not in (None, chunk.root):
                begin(change)
            payload = self._begun(change, run, artifact, row, chunk, where)
        receiving = self._payloads.receiving(self._database, payload, chunk, where, randomised=True)
        with receiving as name_chunk, self._changes.of(name) as change:
            require(change.project)
            row = row_of(change.connection, run, artifact)
            if row is None or row.payload != payload:
                raise chunk_conflict("the artifact was started again", where)
            if name_chunk(change.connection):
                total_bytes = sum(stored.size for stored in self._payloads.chunks(change.connection, payload))
                change.apply(complete(change.project, total_bytes))

    def _begun(self, change: Change, run: str, artifact: str, row: Row[Any] | None, chunk: Chunk, where: str) -> str:
        """The payload that the chunk belongs to."""
        if row is not None and row.root in (None, chunk.root):
            return str(row.payload)
        if row is not None:
            if row.complete or chunk.index:
                raise chunk_conflict("another artifact was started under this name", where)
            change.erase_artifacts(artifacts.c.run == run, artifacts.c.name == artifact)
        payload = self._payloads.create(change.connection, change.id)
        change.connection.execute(insert(artifacts).values(run=run, name=artifact, payload=payload))
        return payload


def row_of(connection: Connection, run: str, artifact: str) -> Row[Any] | None:
    """An artifact with the root of its payload and whether it is complete; None if there is none."""
    query = select(artifacts, payloads.c.root, payloads.c.complete).join(payloads, payloads.c.id == artifacts.c.payload)
    return connection.execute(query.where(artifacts.c.run == run, artifacts.c.name == artifact)).first()


def _waiting(name: str, project: Project) -> Run:
    run = project.run(name)
    if run is None:
        raise not_found()
    refuse_standstill(project)
    return require_waiting(project, run)
