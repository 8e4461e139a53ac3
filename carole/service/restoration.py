"""Carole's service for all parties of a project after her store was put back from a backup."""

from __future__ import annotations

import grpc

from gemel.carole.service.context import ServiceContext, known_id, project_name
from gemel.carole.service.wire import entry_to_wire, status_to_wire
from gemel.carole.store.view import not_found
from gemel.common.audit.reason import normalized_reason
from gemel.common.audit.restoration import RestorationDecision
from gemel.common.errors import parameter
from gemel.common.parties import Role
from gemel.common.rpc.server import caller
from gemel.common.rpc.trust import Trust
from gemel.common.wire.checkpoints import checkpoint_from_wire, checkpoint_to_wire
from gemel.protos.linkage.v1 import project_pb2, restoration_pb2, restoration_pb2_grpc

MAX_RUNS = 1000
"""In one decision."""

ROOT_BYTES = 32


class Restoration(restoration_pb2_grpc.RestorationServicer):
    """The service for restored logs."""

    def __init__(self, service: ServiceContext, trust: Trust) -> None:
        self._store = service.store
        self._trust = trust

    def GetRestoration(  # noqa: N802
        self, request: restoration_pb2.GetRestorationRequest, context: grpc.ServicerContext
    ) -> restoration_pb2.GetRestorationResponse:
        """The newest restoration, with its proofs."""
        found = self._store.restorations.newest()
        if found is None:
            return restoration_pb2.GetRestorationResponse(newest=checkpoint_to_wire(self._store.audit.checkpoint()))
        return restoration_pb2.GetRestorationResponse(
            newest=checkpoint_to_wire(found.newest),
            entry=entry_to_wire(found.entry, found.included),
            restored=checkpoint_to_wire(found.restored),
            continues=found.continues,
        )

    def DecideRestoration(  # noqa: N802
        self, request: restoration_pb2.DecideRestorationRequest, context: grpc.ServicerContext
    ) -> restoration_pb2.DecideRestorationResponse:
        """Take a party's decision."""
        member = caller(context)
        found = self._store.restorations.newest()
        if found is None:
            raise not_found()
        if len(request.runs) > MAX_RUNS or any(len(run.root) not in (0, ROOT_BYTES) for run in request.runs):
            raise parameter(
                "runs",
                f"a decision names at most {MAX_RUNS} runs, each with a digest of {ROOT_BYTES} bytes or none",
                f"{len(request.runs)} runs",
            )
        lost = checkpoint_from_wire(request.lost) if request.HasField("lost") else None
        if lost is not None:
            lost.verify(self._trust.members.in_role(Role.LINKER).identity)
        decision = RestorationDecision(
            project_name(request.project),
            request.restoration,
            found.restored,
            lost,
            request.accept,
            "" if request.accept else normalized_reason(request.reason),
            {known_id(run.run): run.root for run in request.runs},
        )
        decision.verify(member.identity, request.signature)
        project = self._store.restorations.decide(member.role, member.name, decision, request.signature)
        status = project_pb2.ProjectStatus(project=decision.project) if project is None else status_to_wire(project)
        return restoration_pb2.DecideRestorationResponse(status=status)
