"""Transfer of a run's artifacts: which caller may fetch which, and which caller may submit which."""

from __future__ import annotations

from collections.abc import Callable

from gemel.carole.projects import Project, operations
from gemel.carole.projects.operations import Outcome
from gemel.carole.service.context import ServiceContext, known_id, project_name
from gemel.carole.store.artifacts import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.common.audit.resolver_result import verify_result
from gemel.common.errors import GemelError, parameter
from gemel.common.parties import Side
from gemel.common.pki.members import Member
from gemel.common.wire.chunks import Chunk
from gemel.common.wire.parties import side_from_wire
from gemel.protos.linkage.v1 import resolution_pb2


def fetch_artifact(
    service: ServiceContext, request: resolution_pb2.FetchArtifactRequest, side: Side | None
) -> resolution_pb2.FetchArtifactResponse:
    """A chunk of an artifact for a custodian (its side given) or for the resolver."""
    artifact = request.artifact
    if side is not None and artifact == resolution_pb2.RUN_ARTIFACT_ROWS:
        name = rows_of(side)
    elif side is None and artifact == resolution_pb2.RUN_ARTIFACT_RESOLUTION_REQUEST:
        name = RESOLUTION_REQUEST
    elif side is None and artifact == resolution_pb2.RUN_ARTIFACT_HANDLES:
        name = handles_of(side_from_wire(request.side))
    else:
        raise _not_for_you(artifact)
    chunk = service.store.artifacts.fetch(project_name(request.project), known_id(request.run), name, request.index)
    return resolution_pb2.FetchArtifactResponse(chunk=chunk.message())


def put_artifact(
    service: ServiceContext, request: resolution_pb2.PutArtifactRequest, member: Member, side: Side | None
) -> resolution_pb2.PutArtifactResponse:
    """Take a chunk of a custodian's handles, or of the resolver's result."""
    name, run = project_name(request.project), known_id(request.run)
    chunk = Chunk.of(request.chunk)
    done: Callable[[Project, int], Outcome]
    if side is not None and request.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES:
        artifact, giver = handles_of(side), side

        def done(project: Project, total_bytes: int) -> Outcome:
            return operations.submit_row_handles(project, giver, member.name, run)

    elif side is None and request.artifact == resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT:
        artifact = RESOLUTION_RESULT
        verify_result(member.identity, request.signature, name, run, chunk.root)

        def done(project: Project, total_bytes: int) -> Outcome:
            return operations.resolve_run(project, member.name, run, chunk.root.hex(), request.signature.hex())

    else:
        raise _not_for_you(request.artifact)
    service.store.artifacts.put(name, run, artifact, chunk, service.limits.max_upload_bytes, done)
    return resolution_pb2.PutArtifactResponse()


def _not_for_you(artifact: int) -> GemelError:
    known = artifact in resolution_pb2.RunArtifact.values()
    got = resolution_pb2.RunArtifact.Name(artifact) if known else str(artifact)
    return parameter("artifact", "the artifact is not addressed to this party", got)
