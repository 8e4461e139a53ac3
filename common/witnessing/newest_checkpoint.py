"""The newest checkpoint of Carole's audit log, by which a caller sees that it is she who answers."""

from __future__ import annotations

from gemel.common.audit import Checkpoint, Witness
from gemel.common.keys.identity import PublicIdentity
from gemel.common.rpc.client import Connection
from gemel.common.wire.checkpoints import checkpoint_from_wire, proof_from_wire
from gemel.protos.linkage.v1 import audit_pb2, audit_pb2_grpc


def newest_checkpoint(connection: Connection, linker: PublicIdentity) -> Checkpoint:
    """Request it and verify its signature; nothing is kept, here or at Carole's. Raises SIGNATURE if it is not signed
    by `linker`; her error, or UNAVAILABLE."""
    stub = connection.stub(audit_pb2_grpc.AuditStub)
    response = connection.call(stub.Witness, audit_pb2.WitnessRequest())
    newest = checkpoint_from_wire(response.newest)
    Witness(linker, None).believe(newest, proof_from_wire(response.continues))
    return newest
