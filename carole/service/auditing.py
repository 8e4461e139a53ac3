"""Carole's audit log as shown to other parties, so that they detect changes."""

from __future__ import annotations

import grpc

from tryst.carole.service.context import ServiceContext
from tryst.common.parties import SIDE_OF_ROLE, Role
from tryst.common.rpc.server import caller
from tryst.common.rpc.trust import Trust
from tryst.common.wire.checkpoints import checkpoint_from_wire, checkpoint_to_wire
from tryst.protos.linkage.v1 import audit_pb2, audit_pb2_grpc


class Auditing(audit_pb2_grpc.AuditServicer):
    """The audit log's service."""

    def __init__(self, service: ServiceContext, trust: Trust) -> None:
        self._log = service.store.audit
        self._trust = trust

    def Witness(  # noqa: N802
        self, request: audit_pb2.WitnessRequest, context: grpc.ServicerContext
    ) -> audit_pb2.WitnessResponse:
        """The current log, and what the other custodian has seen of it."""
        member = caller(context)
        seen = checkpoint_from_wire(request.seen) if request.HasField("seen") else None
        newest, continues = self._log.continued(0 if seen is None else seen.size)
        response = audit_pb2.WitnessResponse(newest=checkpoint_to_wire(newest), continues=continues)
        if seen is not None:
            seen.verify(self._trust.members.in_role(Role.LINKER).identity)
            seen.verify_countersignature(request.countersignature, member.identity)
            self._log.note(member.name, seen, request.countersignature)
        other = self._trust.members.in_role(SIDE_OF_ROLE[member.role].other.role)
        noted = self._log.noted(other.name)
        if noted is not None:
            theirs, countersignature = noted
            response.other.CopyFrom(checkpoint_to_wire(theirs))
            response.other_countersignature = countersignature
            response.other_continues.extend(self._log.proof(theirs.size, newest.size))
        return response
