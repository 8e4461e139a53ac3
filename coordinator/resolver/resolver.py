"""The resolver: the coordinator's process says who is who in a run of mode block_keyed, and sees no signature.

It gets each candidate pair's comparison levels from Carole and from either custodian, signed and sealed to it, a
random handle of each pair's record. It estimates under one-to-one and decides, as Carole does in mode open, and returns
the pairs' probabilities and the links. Carole does not learn which rows of different rules are one record, and the
resolver not which record a handle is.

Where the linked records are assessed, the custodians tell the resolver also each record's row among those of the codes
that Carole holds, and its answer names the links by these rows too, in a way that nothing joins them to the pairs asked
about (`carole.engine.coded_links`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from tryst.carole.engine.resolution_exchange import Reader, answer
from tryst.carole.engine.resolution_request import unpack_question
from tryst.carole.engine.specified import plan_of
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.progress import Progress
from tryst.common.rpc.client import CHUNK_SECONDS, Connection
from tryst.common.specification import load_specification
from tryst.common.wire.chunks import CHUNK_BYTES
from tryst.common.wire.sides import side_to_wire
from tryst.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, resolution_pb2

MAX_PIECES = 1 << 16


def resolve(
    connection: Connection,
    stub: coordination_pb2_grpc.CoordinationStub,
    reader: Reader,
    project: str,
    run: str,
    progress: Progress,
) -> None:
    """Answer a run that waits for the resolver.

    Raises
    ------
    TrystError
        What Carole refuses with; SEALED if handles do not open; SIGNATURE if a custodian did not sign them for this
        run, specification and question; UPLOAD_CORRUPT if question or handles are not what they should be: then the
        run cannot go on, and another must be asked for.
    """
    exchange = _Exchange(connection, stub, project, run)
    response = connection.call(stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=3)
    spec = load_specification(response.specification, f"{project} at Carole")
    plan = plan_of(spec)
    question = unpack_question(exchange.fetch(resolution_pb2.PAPER_QUESTION), plan)
    handles = {side: exchange.fetch(resolution_pb2.PAPER_HANDLES, side) for side in Side}
    a, b = (reader.open(run, spec, question, side, handles[side]) for side in Side)
    exchange.put(resolution_pb2.PAPER_ANSWER, answer(question, a, b, plan, progress, run))


class _Exchange:
    """Papers of one run, in pieces."""

    def __init__(
        self, connection: Connection, stub: coordination_pb2_grpc.CoordinationStub, project: str, run: str
    ) -> None:
        self._connection, self._stub, self._project, self._run = connection, stub, project, run

    def fetch(self, paper: resolution_pb2.Paper, side: Side | None = None) -> bytes:
        """The whole of a paper."""
        content = b"".join(self._pieces(paper, side))
        return content

    def _pieces(self, paper: resolution_pb2.Paper, side: Side | None) -> Iterator[bytes]:
        whole = hashlib.sha256()
        digest, index, count = b"", 0, 1
        while index < count:
            request = resolution_pb2.FetchPaperRequest(
                project=self._project,
                run=self._run,
                paper=paper,
                side=None if side is None else side_to_wire(side),
                index=index,
            )
            piece = self._connection.call(self._stub.FetchPaper, request, deadline=CHUNK_SECONDS, attempts=3)
            if index == 0:
                digest, count = piece.sha256, piece.pieces
            if (piece.sha256, piece.pieces) != (digest, count) or not 1 <= count <= MAX_PIECES:
                raise self._changed()
            whole.update(piece.data)
            yield piece.data
            index += 1
        if whole.digest() != digest:
            raise self._changed()

    def put(self, paper: resolution_pb2.Paper, content: bytes) -> None:
        """Bring a paper."""
        digest = hashlib.sha256(content).digest()
        pieces = [content[start : start + CHUNK_BYTES] for start in range(0, len(content), CHUNK_BYTES)]
        for index, piece in enumerate(pieces):
            request = resolution_pb2.PutPaperRequest(
                project=self._project,
                run=self._run,
                paper=paper,
                index=index,
                pieces=len(pieces),
                sha256=digest,
                data=piece,
            )
            self._connection.call(self._stub.PutPaper, request, deadline=CHUNK_SECONDS, attempts=3)

    def _changed(self) -> TrystError:
        return TrystError(
            ErrorCode.UPLOAD_CORRUPT,
            "a paper of the run changed on its way",
            where=f"project {self._project}, run {self._run}",
            remedy="watch the run again; if this stays so, tell Carole's operator",
        )
