"""The resolver: the coordinator's process resolves the records of a run of mode block_keyed, and sees no signature.

It gets each candidate pair's comparison levels from Carole and from either custodian, signed and sealed to it, a
random handle of each pair's record. It estimates under one-to-one and decides, as Carole does in mode open, seals to
each custodian what it is granted of the pairs, and returns the model, counts and these sealed shares. Carole learns
nothing of a single pair, and not which rows of different rules are one record; the resolver not which record a handle
is.

Where the linked records are assessed, the custodians also report to the resolver each record's row among those of the
codes that Carole holds. Its answer names the links by these rows, in a way that nothing joins them to the requested
pairs (`carole.engine.decision.coded_links`).
"""

from __future__ import annotations

from gemel.carole.engine.resolution.resolution_exchange import decide, open_handles, sealed_result
from gemel.carole.engine.resolution.resolution_request import check_request, unpack_request
from gemel.carole.engine.run.specified import plan_of
from gemel.common.audit.statements import ResolverResult
from gemel.common.keys.identity import Identity
from gemel.common.parties import Side
from gemel.common.pki.reader import Reader
from gemel.common.processes import processors
from gemel.common.progress import Progress
from gemel.common.rpc.client import Connection
from gemel.common.rpc.transfer import Content, Fetch, send
from gemel.common.specification import load_specification
from gemel.common.wire.parties import side_to_wire
from gemel.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, resolution_pb2, transfer_pb2


def resolve(
    connection: Connection,
    stub: coordination_pb2_grpc.CoordinationStub,
    reader: Reader,
    identity: Identity,
    project: str,
    run: str,
    progress: Progress,
) -> None:
    """Resolve the records of a run that waits for the resolver.

    `reader` opens the custodians' handles; `identity`, the same member's, signs the result, and Carole's audit log
    keeps the signature. SEALED if handles do not open; SIGNATURE if a custodian did not sign them for this run,
    specification and question; UPLOAD_CORRUPT if question or handles are not what they should be: then the run cannot
    continue, and another must be requested.
    """

    def fetched(artifact: resolution_pb2.RunArtifact, side: Side | None = None) -> bytes:
        def request(index: int) -> resolution_pb2.FetchArtifactRequest:
            of = None if side is None else side_to_wire(side)
            return resolution_pb2.FetchArtifactRequest(
                project=project, run=run, artifact=artifact, side=of, index=index
            )

        return Fetch(connection, stub.FetchArtifact, request, f"project {project}, run {run}").whole()

    response = connection.call(stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=3)
    spec = load_specification(response.specification, f"{project} at Carole")
    plan = plan_of(spec)
    request = unpack_request(fetched(resolution_pb2.RUN_ARTIFACT_RESOLUTION_REQUEST), plan)
    check_request(request.found, plan)
    handles = {side: fetched(resolution_pb2.RUN_ARTIFACT_HANDLES, side) for side in Side}
    a, b = (open_handles(reader, run, spec, request, side, handles[side]) for side in Side)
    decided = decide(request, a, b, plan, progress, run, processors())
    result = Content.of(sealed_result(decided, request, spec, reader.members, run))
    signature = ResolverResult(project, run, result.root).sign(identity)

    def signed(chunk: transfer_pb2.Chunk) -> resolution_pb2.PutArtifactRequest:
        kind = resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT
        return resolution_pb2.PutArtifactRequest(
            project=project, run=run, artifact=kind, chunk=chunk, signature=signature
        )

    send(connection, stub.PutArtifact, signed, result)
