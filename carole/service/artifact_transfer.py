"""Papers of a run as they come and go on the wire: who may have which, and who may bring which."""

from __future__ import annotations

from collections.abc import Callable

from tryst.carole.projects import Project, operations
from tryst.carole.projects.operations import Outcome
from tryst.carole.service.context import Office, known_id, project_name
from tryst.carole.store.artifacts import ANSWER, QUESTION, handles_of, rows_of
from tryst.carole.store.encrypted_payloads import Piece
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.pki.members import Member
from tryst.common.wire.sides import side_from_wire
from tryst.protos.linkage.v1 import resolution_pb2


def fetch_paper(
    office: Office, request: resolution_pb2.FetchPaperRequest, side: Side | None
) -> resolution_pb2.FetchPaperResponse:
    """A piece of a paper for a custodian (its side given) or for the resolver.

    Raises
    ------
    TrystError
        PARAMETER if the paper is not for this caller; NOT_FOUND, WRONG_STATE.
    """
    paper = request.paper
    if side is not None and paper == resolution_pb2.PAPER_ROWS:
        name = rows_of(side)
    elif side is None and paper == resolution_pb2.PAPER_QUESTION:
        name = QUESTION
    elif side is None and paper == resolution_pb2.PAPER_HANDLES:
        name = handles_of(side_from_wire(request.side))
    else:
        raise _not_for_you(paper)
    piece = office.store.papers.fetch(project_name(request.project), known_id(request.run), name, request.index)
    return resolution_pb2.FetchPaperResponse(data=piece.data, pieces=piece.pieces, sha256=piece.sha256)


def put_paper(
    office: Office, request: resolution_pb2.PutPaperRequest, member: Member, side: Side | None
) -> resolution_pb2.PutPaperResponse:
    """Take a piece of a custodian's handles, or of the resolver's answer.

    Raises
    ------
    TrystError
        PARAMETER if the paper is not this caller's to bring; what `Papers.put` refuses.
    """
    name, run = project_name(request.project), known_id(request.run)
    done: Callable[[Project], Outcome]
    if side is not None and request.paper == resolution_pb2.PAPER_HANDLES:
        paper, giver = handles_of(side), side

        def done(project: Project) -> Outcome:
            return operations.give_handles(project, giver, member.name, run)

    elif side is None and request.paper == resolution_pb2.PAPER_ANSWER:
        paper = ANSWER

        def done(project: Project) -> Outcome:
            return operations.resolve_run(project, member.name, run)

    else:
        raise _not_for_you(request.paper)
    piece = Piece(request.data, request.pieces, request.sha256)
    office.store.papers.put(name, run, paper, piece, request.index, office.limits.max_upload_bytes, done)
    return resolution_pb2.PutPaperResponse()


def _not_for_you(paper: int) -> TrystError:
    return TrystError(
        ErrorCode.PARAMETER, "the paper is of another party", where="paper", got=resolution_pb2.Paper.Name(paper)
        if paper in resolution_pb2.Paper.values() else str(paper),
    )  # fmt: skip
