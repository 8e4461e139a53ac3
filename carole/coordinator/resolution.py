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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING

import numpy as np

from carole.engine import conclude
from carole.engine.coded_links import coded_links
from carole.engine.findings import findings
from carole.engine.plan import Resources
from carole.engine.question import checked_codes, checked_handles, pack_answer, unpack_question
from carole.engine.specified import plan_of
from common.errors import ErrorCode, TrystError
from common.keys.identity import PublicIdentity
from common.keys.sealing_key import SealingKey
from common.parties import Role, Side
from common.pki.folders import PartyFolder
from common.pki.members import Members
from common.rpc.client import CHUNK_SECONDS, Connection
from common.specification import load_specification, specification_digest
from common.wire.chunks import CHUNK_BYTES
from common.wire.handles import CODES_ROWS, HANDLES, About, open_answer
from common.wire.sides import side_to_wire
from protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, resolution_pb2

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PIECES = 1 << 16

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Resolver:
    """Who opens what custodians seal to the resolver: the coordinator, by its name in the membership list."""

    name: str
    custodians: Mapping[Side, PublicIdentity]
    """Who must have signed it."""
    key: SealingKey = dataclass_field(repr=False)

    @classmethod
    def load(cls, folder: PartyFolder) -> Resolver:
        """From the coordinator's key folder.

        Raises
        ------
        TrystError
            CONFIGURATION, CERTIFICATE.
        """
        members = Members.load(folder.members)
        custodians = {side: members.in_role(side.role).identity for side in Side}
        return cls(members.in_role(Role.COORDINATOR).name, custodians, SealingKey.load(folder.sealing))


def resolve(
    connection: Connection,
    stub: coordination_pb2_grpc.CoordinationStub,
    resolver: Resolver,
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
    found = question.found
    handles: list[NDArray[np.int32]] = []
    codes: list[NDArray[np.int32]] = []
    for side, asked, n_records in zip(Side, question.asked, (found.n_a, found.n_b), strict=True):
        about = About(
            project=project,
            run=run,
            side=side,
            specification=specification_digest(spec),
            question=asked,
            reader=resolver.name,
            key=resolver.key.public,
        )
        sealed = exchange.fetch(resolution_pb2.PAPER_HANDLES, side)
        told = open_answer(resolver.key, resolver.custodians[side], about, sealed)
        handles.append(checked_handles(told[HANDLES], len(found.pattern), n_records))
        if spec.assessment is not None:
            codes.append(checked_codes(told.get(CODES_ROWS), handles[-1], n_records))
    _refuse_repeated(handles[0], handles[1], run)
    linkage, order = conclude(found, handles[0], handles[1], plan, progress)
    document = findings(linkage, plan, Resources(found.peak_bytes, question.threads), {})
    coded = coded_links(linkage, codes[0], codes[1]) if codes else None
    exchange.put(resolution_pb2.PAPER_ANSWER, pack_answer(linkage, order, document, coded))


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


def _refuse_repeated(a: NDArray[np.int32], b: NDArray[np.int32], run: str) -> None:
    """No pair of records is asked about twice; handles that say so are not what they should be."""
    pairs = a.astype(np.int64) << 32 | b
    if len(np.unique(pairs)) != len(pairs):
        raise TrystError(
            ErrorCode.UPLOAD_CORRUPT,
            "two candidate pairs are said to be the same two records",
            where=f"run {run}",
            remedy="ask the custodians whether an identifier of theirs is on several records, and start another run",
        )
