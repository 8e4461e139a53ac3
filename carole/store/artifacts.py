"""Papers of a run in mode block_keyed: what is handed over between Carole, the custodians and the resolver.

Carole writes the custodians' rows and the resolver's question; a custodian brings its handles, sealed to the resolver,
and the resolver its answer, in pieces that come in order. Whatever a paper is, it is encrypted here like an upload, and
erased when its run ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from tryst.carole.projects import Project, Run, RunState
from tryst.carole.projects.operations import Outcome
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Bodies, BodyReader, Clock, Piece
from tryst.carole.store.tables import papers, runs
from tryst.carole.store.view import hold, look, not_found, settle
from tryst.carole.store.writing import writing
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.wire.chunks import CHUNK_BYTES

QUESTION = "question"
ANSWER = "answer"


def rows_of(side: Side) -> str:
    """Name of the paper with a custodian's rows."""
    return f"rows-{side}"


def handles_of(side: Side) -> str:
    """Name of the paper with a custodian's handles."""
    return f"handles-{side}"


class Papers:
    """Keeps the papers of runs while these wait."""

    def __init__(self, database: Database, bodies: Bodies, clock: Clock) -> None:
        self._database = database
        self._bodies = bodies
        self._clock = clock

    @contextmanager
    def writing(
        self, name: str, contents: Mapping[str, Iterable[bytes]]
    ) -> Iterator[Callable[[Connection, str], None]]:
        """Write Carole's own papers; the function given names them in the transaction that lets the run wait."""
        with writing(self._database, self._bodies, name, contents) as written:

            def write(connection: Connection, run: str) -> None:
                for called, paper in written.items():
                    paper.name(self._bodies, connection)
                    row = {"body": paper.body, "sha256": paper.sha256, "pieces": len(paper.chunks), "complete": 1}
                    connection.execute(insert(papers).values(run=run, name=called, **row))

            yield write

    def fetch(self, name: str, run: str, paper: str, index: int) -> Piece:
        """One piece of a complete paper.

        Raises
        ------
        TrystError
            NOT_FOUND if there is no such paper; WRONG_STATE if the run does not wait; PARAMETER for an index past the
            end.
        """
        with self._database.read() as connection:
            _waiting(look(connection, name).project, run)
            row = _row(connection, run, paper)
            if row is None or not row.complete:
                raise not_found()
            return self._bodies.piece(connection, row, index, name)

    def read(self, run: str, paper: str) -> memoryview | None:
        """The whole of a complete paper; None if there is none."""
        with self._database.read() as connection:
            row = _row(connection, run, paper)
            if row is None or not row.complete:
                return None
            chunks = self._bodies.chunks(connection, row.body)
            key = self._bodies.key(connection, row.body)
        return BodyReader(self._bodies, key, row.body, chunks).take(sum(chunk.size for chunk in chunks))

    def put(
        self,
        name: str,
        run: str,
        paper: str,
        piece: Piece,
        index: int,
        most_bytes: int,
        complete: Callable[[Project], Outcome],
    ) -> None:
        """Take a piece of a paper; with the last, the paper counts and `complete` is done to the project.

        Raises
        ------
        TrystError
            NOT_FOUND, WRONG_STATE; PARAMETER for a size or an index that cannot be; UPLOAD_LIMIT if the paper is too
            long; UPLOAD_GAPS for a piece out of order; CHUNK_CONFLICT for another piece under an index that has one;
            UPLOAD_CORRUPT if the whole is not what its digest says.
        """
        where = f"{name}, run {run}, {paper}, piece {index}"
        _check_piece(piece, index, most_bytes, where)
        dropped: list[str] = []
        with self._database.write() as connection:
            held = hold(connection, name)
            row = _row(connection, run, paper)
            if row is not None and row.complete and row.sha256 == piece.sha256:
                return
            _waiting(held.project, run)
            if row is not None and (row.sha256, row.pieces) != (piece.sha256, piece.pieces):
                if row.complete or index:
                    raise _conflict("another paper was begun under this name", where)
                self._forget(connection, row)
                dropped, row = [row.body], None
            if row is None:
                if index:
                    raise _gap(0, where)
                body = self._bodies.create(connection, held.id)
                values = {"body": body, "sha256": piece.sha256, "pieces": piece.pieces, "complete": 0}
                connection.execute(insert(papers).values(run=run, name=paper, **values))
            else:
                body = row.body
            there = self._bodies.chunks(connection, body)
            key = self._bodies.key(connection, body)
            if index > len(there):
                raise _gap(len(there), where)
            if index < len(there):
                if there[index].sha256 != hashlib.sha256(piece.data).digest():
                    raise _conflict("another piece was sent under this index", where)
            else:
                chunk = self._bodies.store(key, body, index, piece.data)
                self._bodies.name(connection, body, chunk)
                there = [*there, chunk]
            if len(there) == piece.pieces and index == piece.pieces - 1:
                whole = hashlib.sha256()
                for part in there:
                    whole.update(self._bodies.read(key, body, part))
                if whole.digest() != piece.sha256:
                    raise TrystError(
                        ErrorCode.UPLOAD_CORRUPT, "the paper is not what its digest says", where=where,
                        remedy="send it again from its first piece",
                    )  # fmt: skip
                connection.execute(update(papers).where(papers.c.body == body).values(complete=1))
                outcome = complete(held.project)
                if outcome.changed:
                    after = outcome.project.run(run)
                    assert after is not None  # noqa: S101 - the operation is about this run
                    connection.execute(update(runs).where(runs.c.run == run).values(**_columns(after)))
                    settle(connection, held, outcome, self._clock())
        self._bodies.remove(dropped)

    def end(self, connection: Connection, project: int) -> list[str]:
        """Erase every paper of a project; returns the bodies to remove after the commit."""
        query = select(papers).join(runs, runs.c.run == papers.c.run).where(runs.c.project == project)
        found = connection.execute(query).all()
        for row in found:
            self._forget(connection, row)
        return [row.body for row in found]

    def remove(self, gone: list[str]) -> None:
        """Remove the files of papers whose erasure is committed."""
        self._bodies.remove(gone)

    def _forget(self, connection: Connection, row: Row[Any]) -> None:
        connection.execute(delete(papers).where(papers.c.body == row.body))
        self._bodies.erase(connection, row.body)


def _row(connection: Connection, run: str, paper: str) -> Row[Any] | None:
    return connection.execute(select(papers).where(papers.c.run == run, papers.c.name == paper)).first()


def _columns(run: Run) -> dict[str, Any]:
    return {"state": int(run.state), "stage": run.stage, "fraction": run.fraction, "attempt": run.attempt}


def _waiting(project: Project, name: str) -> Run:
    run = project.run(name)
    if run is None:
        raise not_found()
    if run.state is not RunState.RESOLVING:
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "the run does not wait for who is who",
            where=f"{project.name}, run {name}",
            got=run.state.name,
        )
    return run


def _check_piece(piece: Piece, index: int, most_bytes: int, where: str) -> None:
    if not 0 <= index < piece.pieces or len(piece.sha256) != 32:
        raise TrystError(ErrorCode.PARAMETER, "an index below the number of pieces, and a SHA-256", where=where)
    if piece.pieces > -(-most_bytes // CHUNK_BYTES):
        raise TrystError(
            ErrorCode.UPLOAD_LIMIT, f"a paper may have {most_bytes} bytes", where=where, got=f"{piece.pieces} pieces"
        )
    last = index == piece.pieces - 1
    if not 0 < len(piece.data) <= CHUNK_BYTES or (not last and len(piece.data) != CHUNK_BYTES):
        raise TrystError(
            ErrorCode.PARAMETER,
            f"a piece has {CHUNK_BYTES} bytes, the last one fewer",
            where=where,
            got=f"{len(piece.data)} bytes",
        )


def _gap(expected: int, where: str) -> TrystError:
    return TrystError(ErrorCode.UPLOAD_GAPS, "pieces come in order", where=where, remedy=f"send piece {expected} next")


def _conflict(what: str, where: str) -> TrystError:
    return TrystError(ErrorCode.CHUNK_CONFLICT, what, where=where, remedy="send the paper again from its first piece")
