"""What belongs to runs: shares of results, artifacts of runs that wait, and granted columns on their way.

A custodian's share arrives here sealed to its owner; Carole's own encryption is added, so that it can be erased by
destroying its key like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select, update

from gemel.carole.projects.operations.linking import require_waiting
from gemel.carole.projects.operations.outcome import Outcome
from gemel.carole.projects.operations.release import (
    acknowledge,
    receive_variables,
    require_receivable,
    require_sendable,
    send_variables,
)
from gemel.carole.projects.project import Grant, Project, Run, State
from gemel.carole.projects.restoration import refuse_standstill
from gemel.carole.store.changes import Change, Changes, Part
from gemel.carole.store.payloads.encrypted_payloads import StoredChunk, chunk_conflict, erased
from gemel.carole.store.payloads.payload_reader import PayloadReader, PayloadReference
from gemel.carole.store.tables import artifacts, payloads, results
from gemel.carole.store.uploads import Quota
from gemel.carole.store.view import not_found, read_project, transfer_names
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import DataKey
from gemel.common.parties import CUSTODIANS, Role, Side
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk, rechunked

Owned = Callable[[], AbstractContextManager[Change]]
"""A change of the run's project by the worker that holds the run; it raises where the run is no longer the worker's."""

_SEALED = frozenset(str(role) for role in CUSTODIANS)
"""The recipients whose shares are sealed to them before they are stored."""

REPORT = "assessment"
"""The recipient under which the report on the disclosure risk is stored."""


class _OfRuns(Part):
    """Content that belongs to runs: a row of `_table` names it in its `_named`, beside its payload."""

    _table: Table
    _named: str

    @contextmanager
    def writing(
        self, owned: Owned, writer: str, contents: Mapping[str, Iterable[bytes]]
    ) -> Iterator[Callable[[Connection, str], None]]:
        """Write contents whole to the disk; the yielded function names them in the transaction that makes them count.

        Every key is made in a transaction that holds the run, so that none comes into being once its project is erased.
        If the block ends with an error, nothing of the contents is left; if the worker is killed, `retention` erases
        what it has left as soon as the run is no longer its own. Until they are named the payloads stand under the name
        of `writer`, the worker.
        """
        written: dict[str, tuple[str, DataKey, list[StoredChunk]]] = {}
        made: list[str] = []
        project = ""

        def write(connection: Connection, run: str) -> None:
            for called, (payload, key, chunks) in written.items():
                self._payloads.name(connection, key, payload, chunks, randomised=self._randomised(called))
                connection.execute(insert(self._table).values(run=run, payload=payload, **{self._named: called}))

        try:
            for called, content in contents.items():
                with owned() as change:
                    project = change.project.name
                    payload = self._payloads.create(change.connection, change.id, writer)
                    key = self._payloads.key(change.connection, payload)
                made.append(payload)
                parts = enumerate(rechunked(content))
                written[called] = payload, key, [self._payloads.store(key, payload, i, part) for i, part in parts]
            yield write
        except BaseException:
            # What cannot be erased now, since the database is away, is swept later.
            with suppress(GemelError):
                if made:
                    with self._changes.of(project) as change:
                        change.erase(payloads.c.id.in_(made))
            self._payloads.remove(made)
            raise

    def _randomised(self, called: str) -> bool:
        """Whether the digest of a content confirms no guess (see `encrypted_payloads`)."""
        return True

    def row(self, connection: Connection, run: str, called: str) -> Row[Any] | None:
        """A content's row with the root of its payload and whether it is complete; None if there is none."""
        query = select(self._table, payloads.c.root, payloads.c.complete)
        query = query.join(payloads, payloads.c.id == self._table.c.payload)
        return connection.execute(query.where(self._table.c.run == run, self._table.c[self._named] == called)).first()


class Results(_OfRuns):
    """Stores shares until they expire."""

    _table, _named = results, "recipient"

    def _randomised(self, called: str) -> bool:
        return called in _SEALED

    def fetch(self, name: str, role: Role, run: str, index: int) -> Chunk:
        """One chunk of the share that `role` has in a released run.

        Raises NOT_FOUND for an unknown run or one without a share for this role; WRONG_STATE before the release and
        after the erasure; PARAMETER for an index past the end.
        """
        with self._database.read() as connection:
            row = self._share(connection, read_project(connection, name).project, role, run)
            return self._payloads.fetch(connection, row.payload, index, name)

    def report(self, name: str, run: str, index: int) -> Chunk:
        """One chunk of the report on a run's disclosure risk, released or not.

        Raises NOT_FOUND for an unknown run or one that was not assessed; WRONG_STATE after the erasure; PARAMETER for
        an index past the end.
        """
        with self._database.read() as connection:
            return self._payloads.fetch(connection, self._reported(connection, name, run), index, name)

    def whole_report(self, name: str, run: str) -> bytes:
        """The report on a run's disclosure risk; errors as `report`."""
        with self._database.read() as connection:
            return self._payloads.whole(connection, self._reported(connection, name, run), name)

    def _reported(self, connection: Connection, name: str, run: str) -> str:
        project = read_project(connection, name).project
        if project.run(run) is None:
            raise not_found()
        if project.state is State.ERASED:
            raise erased()
        return str(self._there(connection, run, REPORT).payload)

    def reports(self, name: str) -> list[bytes]:
        """The reports on the results released so far, oldest first. Raises NOT_FOUND."""
        with self._database.read() as connection:
            released = [run.run for run in read_project(connection, name).project.runs if run.released]
        found = []
        for run in released:
            try:
                found.append(self.whole_report(name, run))
            except GemelError as error:
                if error.code is not ErrorCode.NOT_FOUND:
                    raise
                # Released under a specification that requested no assessment.
        return found

    def acknowledge(self, name: str, side: Side, member: str, run: str, root: bytes, alone: str = "") -> None:
        """A custodian confirms that it holds its share; `alone` as in `operations.acknowledge`.

        Errors as `fetch`; UPLOAD_CORRUPT if the root digest is not the share's.
        """
        with self._changes.of(name) as change:
            row = self._share(change.connection, change.project, side.role, run)
            if row.root != root:
                what = "the digest is not that of the share"
                remedy = "fetch the share again"
                raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=f"{name}, run {run}", remedy=remedy)
            change.apply(acknowledge(change.project, side, member, run, alone))

    def _share(self, connection: Connection, project: Project, role: Role, run: str) -> Row[Any]:
        requested = project.run(run)
        if requested is None or project.grant(role) is Grant.NOTHING:
            raise not_found()
        if project.state is State.ERASED:
            raise erased()
        refuse_standstill(project)
        if not requested.released:
            what = "the result has not been released"
            remedy = "wait until the run has ended and its result is released"
            got = project.state.name
            raise GemelError(ErrorCode.WRONG_STATE, what, where=f"{project.name}, run {run}", got=got, remedy=remedy)
        return self._there(connection, run, str(role))

    def _there(self, connection: Connection, run: str, recipient: str) -> Row[Any]:
        row = self.row(connection, run, recipient)
        if row is None:
            raise not_found()
        return row


# Artifacts of a run in mode block_keyed: the data exchanged between Carole, the custodians and the resolver.

Allowed = Callable[[Project], object]
"""Raises where the project does not let an artifact be exchanged now."""

RESOLUTION_REQUEST = "question"
RESOLUTION_RESULT = "response"


def rows_of(side: Side) -> str:
    return f"rows-{side}"


def handles_of(side: Side) -> str:
    return f"handles-{side}"


class Artifacts(_OfRuns):
    _table, _named = artifacts, "name"

    def fetch(self, name: str, run: str, artifact: str, index: int, allowed: Allowed | None = None) -> Chunk:
        """One chunk of a complete artifact.

        `allowed`: by default the run must wait. Raises NOT_FOUND if there is no such artifact; errors of `allowed`:
        WRONG_STATE if the run does not wait; PARAMETER for an index past the end.
        """
        with self._database.read() as connection:
            (allowed or partial(_waiting, run))(read_project(connection, name).project)
            row = self.row(connection, run, artifact)
            if row is None or not row.complete:
                raise not_found()
            return self._payloads.fetch(connection, row.payload, index, name)

    def read(self, run: str, artifact: str) -> memoryview | None:
        """The whole of a complete artifact; None if there is none."""
        with self._database.read() as connection:
            row = self.row(connection, run, artifact)
            if row is None or not row.complete:
                return None
            chunks = tuple(self._payloads.chunks(connection, row.payload))
            key = self._payloads.key(connection, row.payload)
        size = sum(chunk.size for chunk in chunks)
        reference = PayloadReference(row.payload, chunks, size, f"run {run}, {artifact}")
        return PayloadReader(self._payloads, key, reference).read(0, size)

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

        The first chunk of other content restarts an incomplete artifact. Raises NOT_FOUND, WRONG_STATE; errors of
        `allowed` and `begin`; PARAMETER, UPLOAD_LIMIT and UPLOAD_CORRUPT as `Chunk.check`; CHUNK_CONFLICT for a chunk
        of other content, or another one under an index that has one; UPLOAD_CORRUPT if the content does not match its
        root digest. `allowed`: by default the run must wait. `begin`: called before an artifact is begun, or begun
        again.
        """
        where = f"{name}, run {run}, {artifact}, chunk {chunk.index}"
        chunk.check(max_bytes, where)
        require = allowed or partial(_waiting, run)
        with self._changes.of(name) as change:
            row = self.row(change.connection, run, artifact)
            if row is not None and row.complete and row.root == chunk.root:
                return
            require(change.project)
            if row is None or row.root not in (None, chunk.root):
                begin(change)
            payload = self._begun(change, run, artifact, row, chunk, where)
        receiving = self._payloads.receiving(self._database, payload, chunk, where, randomised=True)
        with receiving as name_chunk, self._changes.of(name) as change:
            require(change.project)
            row = self.row(change.connection, run, artifact)
            if row is None or row.payload != payload:
                raise chunk_conflict("the artifact was started again", where)
            if name_chunk(change.connection):
                total_bytes = sum(stored.size for stored in self._payloads.chunks(change.connection, payload))
                change.apply(complete(change.project, total_bytes))

    def _begun(self, change: Change, run: str, artifact: str, row: Row[Any] | None, chunk: Chunk, where: str) -> str:
        if row is not None and row.root in (None, chunk.root):
            return str(row.payload)
        if row is not None:
            if row.complete or chunk.index:
                raise chunk_conflict("another artifact was started under this name", where)
            change.erase_artifacts(artifacts.c.run == run, artifacts.c.name == artifact)
        payload = self._payloads.create(change.connection, change.id)
        change.connection.execute(insert(artifacts).values(run=run, name=artifact, payload=payload))
        return payload


def _waiting(name: str, project: Project) -> Run:
    run = project.run(name)
    if run is None:
        raise not_found()
    refuse_standstill(project)
    return require_waiting(project, run)


# Granted columns of linked records (`release.variables`), on their way from a custodian to a recipient.
#
# They come sealed to the recipient, after the release, and are kept like the artifacts of a run: under a key of their
# own, until the project is erased, or amended, which needs another release.


class GrantedVariables(Part):
    def __init__(self, changes: Changes) -> None:
        super().__init__(changes)
        self._artifacts = Artifacts(changes)

    def put(
        self, name: str, member: str, run: str, transfer: Transfer, chunk: Chunk, max_bytes: int, quota: Quota
    ) -> None:
        """Take a chunk of what a custodian sends; with the last one it is sent.

        The first chunk of other content restarts what is not complete. Errors as `operations.require_sendable` and
        `Artifacts.put`; UPLOAD_LIMIT above the quota.
        """

        def begin(change: Change) -> None:
            quota.check_stored(change.connection, transfer.sender, chunk.count * CHUNK_BYTES)

        def complete(project: Project, total_bytes: int) -> Outcome:
            return send_variables(project, member, run, transfer, total_bytes)

        allowed = partial(require_sendable, run=run, transfer=transfer)
        self._artifacts.put(name, run, self._artifact(name, transfer), chunk, max_bytes, complete, allowed, begin)

    def fetch(self, name: str, role: Role, run: str, transfer: Transfer, index: int) -> Chunk:
        """A chunk of what was sent to the caller.

        Errors as `operations.require_receivable`; PARAMETER for an index past the end.
        """
        allowed = partial(require_receivable, role=role, run=run, transfer=transfer)
        return self._artifacts.fetch(name, run, self._artifact(name, transfer), index, allowed)

    def acknowledge(self, name: str, role: Role, member: str, run: str, transfer: Transfer, root: bytes) -> None:
        """The recipient confirms that it holds what was sent to it.

        Errors as `fetch`; UPLOAD_CORRUPT if the root digest is another.
        """
        artifact = self._artifact(name, transfer)
        with self._changes.of(name) as change:
            outcome = receive_variables(change.project, role, member, run, transfer)
            row = self._artifacts.row(change.connection, run, artifact)
            if row is None or row.root != root:
                what = "the digest is not that of the columns sent"
                where = f"{name}, run {run}, columns of {transfer.sender}"
                raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, remedy="fetch them again")
            change.apply(outcome)
            if outcome.changed:
                which = artifacts.c.run == run, artifacts.c.name == artifact
                change.connection.execute(update(artifacts).where(*which).values(acknowledged_at=change.at))

    def _artifact(self, name: str, transfer: Transfer) -> str:
        with self._database.read() as connection:
            project = read_project(connection, name).project
        if transfer not in project.transfers:
            raise not_found()
        return transfer_names(project.transfers)[transfer]
