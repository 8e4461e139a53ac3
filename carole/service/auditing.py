"""Carole's audit log as shown to other parties, so that they detect changes."""

from __future__ import annotations

from dataclasses import replace

import grpc
import structlog

from gemel.carole.service.context import ServiceContext
from gemel.carole.service.wire import entry_to_wire
from gemel.common.audit import Checkpoint
from gemel.common.audit.signed_note import Cosignature, NoteLine
from gemel.common.keys.identity import Identity
from gemel.common.parties import SIDE_OF_ROLE, Role
from gemel.common.pki.members import Member
from gemel.common.rpc.server import caller
from gemel.common.rpc.trust import Trust
from gemel.common.wire.checkpoints import checkpoint_from_wire, checkpoint_to_wire
from gemel.protos.linkage.v1 import audit_pb2, audit_pb2_grpc

log = structlog.get_logger()


class Auditing(audit_pb2_grpc.AuditServicer):
    """The audit log's service."""

    def __init__(self, service: ServiceContext, trust: Trust, identity: Identity) -> None:
        self._log = service.store.audit
        self._trust = trust
        self._identity = identity
        self._noted: Checkpoint | None = None

    def Witness(  # noqa: N802
        self, request: audit_pb2.WitnessRequest, context: grpc.ServicerContext
    ) -> audit_pb2.WitnessResponse:
        """The current log, with the entry of a release if one is asked for; for a custodian also what the other one has
        seen of it."""
        member = caller(context)
        seen = checkpoint_from_wire(request.seen) if request.HasField("seen") else None
        if seen is not None:
            seen.verify(self._trust.members.in_role(Role.LINKER).identity)
            seen.verify_countersignature(request.countersignature, member.identity)
            self._notice_rollback(member.name, seen)
        newest, continues = self._log.continued(0 if seen is None else seen.size)
        response = audit_pb2.WitnessResponse(newest=checkpoint_to_wire(self._with_note(newest)), continues=continues)
        # Whoever may call this is shown every project's state, so this discloses no other.
        released = self._log.released(request.project, request.run, newest.size) if request.run else None
        if released is not None:
            response.release.CopyFrom(entry_to_wire(*released))
        if member.role not in SIDE_OF_ROLE:
            return response
        if seen is not None:
            self._log.note(member.name, seen, request.countersignature, _cosigned(request, seen, member))
        other = self._trust.members.in_role(SIDE_OF_ROLE[member.role].other.role)
        noted = self._log.noted(other.name)
        if noted is not None:
            theirs, countersignature = noted
            response.other.CopyFrom(checkpoint_to_wire(theirs))
            response.other_countersignature = countersignature
            response.other_continues.extend(self._log.proof(theirs.size, newest.size))
        return response

    def _with_note(self, newest: Checkpoint) -> Checkpoint:
        """With the signature of its note: made once for each, however many ask for it."""
        noted = self._noted
        if noted is None or replace(noted, note=b"") != newest:
            self._noted = noted = newest.noted(self._identity)
        return noted

    def _notice_rollback(self, member: str, seen: Checkpoint) -> None:
        """Name a checkpoint that Carole signed for more than there is: her store is an old copy."""
        newest = self._log.checkpoint()
        if seen.log == newest.log and seen.size > newest.size:
            log.error(
                "the audit log has been rolled back",
                member=member,
                seen=seen.size,
                entries=newest.size,
                remedy="the store is an old copy: stop her and find the newest; if it was restored by other means than "
                "'gemel carole restore', declare it by 'gemel carole declare-restored'",
            )


def _cosigned(request: audit_pb2.WitnessRequest, seen: Checkpoint, member: Member) -> NoteLine:
    """The line of the caller's cosignature, verified."""
    cosignature = Cosignature(request.cosigned_at, request.cosignature)
    cosignature.verify(member.identity, seen.log, seen.size, seen.root)
    return cosignature.line(seen.log, member.name, member.identity)
