"""Shares of a result: written whole before the release that makes them visible, fetched piece by piece.

A custodian's share arrives here sealed to its owner; Carole's own encryption comes on top, so that it can be erased
with its key like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from tryst.carole.projects import Grant, State, operations
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Bodies, Clock, Piece, erased
from tryst.carole.store.tables import results, runs
from tryst.carole.store.view import Held, hold, look, not_found, settle
from tryst.carole.store.writing import writing
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role, Side

REPORT = "assessment"
"""As whose share the report on the disclosure risk is kept."""


class Results:
    """Keeps shares until their recipients have them and their time is over."""

    def __init__(self, database: Database, bodies: Bodies, clock: Clock) -> None:
        self._database = database
        self._bodies = bodies
        self._clock = clock

    @contextmanager
    def writing(self, name: str, shares: Mapping[str, Iterable[bytes]]) -> Iterator[Callable[[Connection, str], None]]:
        """Write shares to the disk; the function given names them in the transaction that releases them.

        If the block ends with an error, nothing of them is left.
        """
        with writing(self._database, self._bodies, name, shares) as written:

            def write(connection: Connection, run: str) -> None:
                for recipient, share in written.items():
                    share.name(self._bodies, connection)
                    connection.execute(
                        insert(results).values(
                            run=run,
                            recipient=recipient,
                            body=share.body,
                            sha256=share.sha256,
                            pieces=len(share.chunks),
                        )
                    )

            yield write

    def fetch(self, name: str, role: Role, run: str, index: int) -> Piece:
        """One piece of the share that `role` has in a released run.

        Raises
        ------
        TrystError
            NOT_FOUND for an unknown run or one without a share for this role; WRONG_STATE before the release and
            after the erasure; PARAMETER for an index past the end.
        """
        with self._database.read() as connection:
            held = look(connection, name)
            return self._bodies.piece(connection, self._share(connection, held, role, run), index, name)

    def report(self, name: str, run: str, index: int) -> Piece:
        """One piece of the report on a run's disclosure risk, released or not.

        Raises
        ------
        TrystError
            NOT_FOUND for an unknown run or one that was not assessed; WRONG_STATE after the erasure; PARAMETER for an
            index past the end.
        """
        with self._database.read() as connection:
            held = look(connection, name)
            if held.project.run(run) is None:
                raise not_found()
            if held.project.state is State.ERASED:
                raise erased()
            return self._bodies.piece(connection, self._row(connection, run, REPORT), index, name)

    def reports(self, name: str) -> list[bytes]:
        """The reports on the results released so far, oldest first.

        Raises
        ------
        TrystError
            NOT_FOUND.
        """
        with self._database.read() as connection:
            released = [run.run for run in look(connection, name).project.runs if run.released]
        found = []
        for run in released:
            try:
                first = self.report(name, run, 0)
            except TrystError as error:
                if error.code is not ErrorCode.NOT_FOUND:
                    raise
                continue  # released under a specification that asked for no assessment
            found.append(first.data + b"".join(self.report(name, run, i).data for i in range(1, first.pieces)))
        return found

    def acknowledge(self, name: str, side: Side, member: str, run: str, sha256: bytes) -> None:
        """A custodian confirms that it holds its share.

        Raises
        ------
        TrystError
            As `fetch`; UPLOAD_CORRUPT if the digest is not the share's.
        """
        with self._database.write() as connection:
            held = hold(connection, name)
            row = self._share(connection, held, side.role, run)
            if row.sha256 != sha256:
                raise TrystError(
                    ErrorCode.UPLOAD_CORRUPT,
                    "the digest is not that of the share",
                    where=f"{name}, run {run}",
                    remedy="fetch the share again",
                )
            outcome = operations.acknowledge(held.project, side, member, run)
            if outcome.changed:
                now = self._clock()
                connection.execute(update(results).where(results.c.body == row.body).values(acknowledged_at=now))
                settle(connection, held, outcome, now)

    def end(self, connection: Connection, project: int) -> list[str]:
        """Erase every share of a project; returns the bodies to remove after the commit."""
        query = select(results.c.body).join(runs, runs.c.run == results.c.run).where(runs.c.project == project)
        found = list(connection.execute(query).scalars())
        for body in found:
            self._bodies.erase(connection, body)
        return found

    def _share(self, connection: Connection, held: Held, role: Role, run: str) -> Row[Any]:
        project = held.project
        asked = project.run(run)
        if asked is None or project.grant(role) is Grant.NOTHING:
            raise not_found()
        if project.state is State.ERASED:
            raise erased()
        if not asked.released:
            raise TrystError(
                ErrorCode.WRONG_STATE,
                "the result has not been released",
                where=f"{project.name}, run {run}",
                got=project.state.name,
                remedy="wait until the run has ended and its result is released",
            )
        return self._row(connection, run, str(role))

    def _row(self, connection: Connection, run: str, recipient: str) -> Row[Any]:
        query = select(results).where(results.c.run == run, results.c.recipient == recipient)
        row = connection.execute(query).first()
        if row is None:
            raise not_found()
        return row
