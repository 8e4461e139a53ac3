"""Shares of a result: written whole before the release that makes them visible, fetched chunk by chunk.

A custodian's share arrives here sealed to its owner; Carole's own encryption is added, so that it can be erased by
destroying its key like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from gemel.carole.projects import Grant, Project, State, operations
from gemel.carole.projects.restoration import refuse_standstill
from gemel.carole.store.changes import Changes
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, erased
from gemel.carole.store.tables import payloads, results
from gemel.carole.store.view import not_found, read_project
from gemel.carole.store.writing import Owned, writing
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role, Side
from gemel.common.wire.chunks import Chunk

_SEALED = frozenset(str(role) for role in CUSTODIANS)
"""The recipients whose shares are sealed to them before they are stored."""

REPORT = "assessment"
"""The recipient under which the report on the disclosure risk is stored."""


class Results:
    """Stores shares until they expire."""

    def __init__(self, database: Database, payloads: EncryptedPayloads, changes: Changes) -> None:
        self._database = database
        self._payloads = payloads
        self._changes = changes

    @contextmanager
    def writing(
        self, owned: Owned, writer: str, shares: Mapping[str, Iterable[bytes]]
    ) -> Iterator[Callable[[Connection, str], None]]:
        """Write shares to the disk; the yielded function names them in the transaction that releases them.

        If the block ends with an error, nothing of them is left. Parameters as of `writing.writing`.
        """
        with writing(self._changes, self._payloads, owned, writer, shares, randomised=_SEALED) as written:

            def write(connection: Connection, run: str) -> None:
                for recipient, payload in written(connection).items():
                    connection.execute(insert(results).values(run=run, recipient=recipient, payload=payload))

            yield write

    def fetch(self, name: str, role: Role, run: str, index: int) -> Chunk:
        """One chunk of the share that `role` has in a released run.

        Raises
        ------
        GemelError
            NOT_FOUND for an unknown run or one without a share for this role; WRONG_STATE before the release and
            after the erasure; PARAMETER for an index past the end.
        """
        with self._database.read() as connection:
            row = self._share(connection, read_project(connection, name).project, role, run)
            return self._payloads.fetch(connection, row.payload, index, name)

    def report(self, name: str, run: str, index: int) -> Chunk:
        """One chunk of the report on a run's disclosure risk, released or not.

        Raises
        ------
        GemelError
            NOT_FOUND for an unknown run or one that was not assessed; WRONG_STATE after the erasure; PARAMETER for an
            index past the end.
        """
        with self._database.read() as connection:
            project = read_project(connection, name).project
            if project.run(run) is None:
                raise not_found()
            if project.state is State.ERASED:
                raise erased()
            return self._payloads.fetch(connection, self._row(connection, run, REPORT).payload, index, name)

    def whole_report(self, name: str, run: str) -> bytes:
        """The report on a run's disclosure risk; errors as `report`."""
        first = self.report(name, run, 0)
        return first.data + b"".join(self.report(name, run, index).data for index in range(1, first.count))

    def reports(self, name: str) -> list[bytes]:
        """The reports on the results released so far, oldest first.

        Raises
        ------
        GemelError
            NOT_FOUND.
        """
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

        Raises
        ------
        GemelError
            As `fetch`; UPLOAD_CORRUPT if the root digest is not the share's.
        """
        with self._changes.of(name) as change:
            row = self._share(change.connection, change.project, side.role, run)
            if row.root != root:
                raise GemelError(
                    ErrorCode.UPLOAD_CORRUPT,
                    "the digest is not that of the share",
                    where=f"{name}, run {run}",
                    remedy="fetch the share again",
                )
            change.apply(operations.acknowledge(change.project, side, member, run, alone))

    def _share(self, connection: Connection, project: Project, role: Role, run: str) -> Row[Any]:
        requested = project.run(run)
        if requested is None or project.grant(role) is Grant.NOTHING:
            raise not_found()
        if project.state is State.ERASED:
            raise erased()
        refuse_standstill(project)
        if not requested.released:
            raise GemelError(
                ErrorCode.WRONG_STATE,
                "the result has not been released",
                where=f"{project.name}, run {run}",
                got=project.state.name,
                remedy="wait until the run has ended and its result is released",
            )
        return self._row(connection, run, str(role))

    def _row(self, connection: Connection, run: str, recipient: str) -> Row[Any]:
        query = select(results, payloads.c.root).join(payloads, payloads.c.id == results.c.payload)
        row = connection.execute(query.where(results.c.run == run, results.c.recipient == recipient)).first()
        if row is None:
            raise not_found()
        return row
