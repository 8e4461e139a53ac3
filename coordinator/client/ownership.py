"""A project handed over to another coordinator, and taken over by it: what is verified, signed and sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemel.common.audit import Checkpoint
from gemel.common.audit.statements import HandOver, TakeOver, normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, SigningPurpose
from gemel.common.parties import Role
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.common.wire.checkpoints import checkpoint_from_wire
from gemel.coordinator.client.connection import Client
from gemel.coordinator.client.coordinator_client import changed
from gemel.protos.linkage.v1 import (
    coordination_pb2,
    coordination_pb2_grpc,
    project_pb2,
    stewardship_pb2,
    stewardship_pb2_grpc,
)


def offer_project(
    caller: Client, role: Role, project: str, successor: str, reason: str, *, former: str = ""
) -> project_pb2.ProjectStatus:
    """Sign an offer of a project as coordinator or steward, and send it; the project's status after it.

    `former` is the owner, where a steward signs; by `caller` the log was verified.
    """
    text = normalized_reason(reason)
    owner = former or caller.name
    statement = HandOver(project, owner, successor, _seen(caller), text)
    stub: Any
    request: Any
    offer: dict[str, Any] = {"project": project, "successor": successor, "reason": text, "seen": statement.seen.size}
    offer["signature"] = statement.sign(caller.identity)
    if role is Role.STEWARD:
        stub = caller.connection.stub(stewardship_pb2_grpc.StewardshipStub)
        request = stewardship_pb2.StewardHandOverRequest(former=owner, **offer)
    else:
        stub = caller.connection.stub(coordination_pb2_grpc.CoordinationStub)
        request = coordination_pb2.HandOverRequest(**offer)
    return changed(caller.connection, stub.HandOver, request)


@dataclass(frozen=True)
class OfferedProject:
    """What a coordinator takes over, as it is read before it is signed."""

    status: project_pb2.ProjectStatus
    text: str
    spec: Specification
    digest: bytes
    offered: bytes
    sentences: list[str]
    epoch_reason: str


def offered_project(caller: Client, project: str) -> OfferedProject:
    stub = caller.connection.stub(coordination_pb2_grpc.CoordinationStub)
    shown = caller.connection.call(stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=3)
    spec = load_specification(shown.specification, f"{project} at Carole")
    sentences, reason = [], ""
    if shown.HasField("hand_over"):
        sentences += _offer_lines(project, shown.status.owner, shown.hand_over, caller)
    if shown.status.epoch > 1:
        reason = normalized_reason(shown.new_epoch.reason)
        sentences.append(
            f"Custodians enter epoch {shown.status.epoch} by your signature. {shown.new_epoch.member} opened it with "
            f'the reason: "{reason}"'
        )
    offered = shown.hand_over.signature
    digest = specification_digest(spec)
    return OfferedProject(shown.status, shown.specification, spec, digest, offered, sentences, reason)


def take_project(caller: Client, taken: OfferedProject) -> project_pb2.ProjectStatus:
    """Sign what was read and a consent to the project's specification, and send both; the project's status after."""
    project, epoch = taken.status.project, taken.status.epoch
    statement = TakeOver(project, taken.status.owner, caller.name, _seen(caller), taken.offered)
    request = coordination_pb2.TakeOverRequest(
        project=project,
        seen=statement.seen.size,
        signature=statement.sign(caller.identity),
        specification_digest=taken.digest,
        approval=caller.identity.sign(SigningPurpose.APPROVAL, *approval_parts(project, taken.digest, epoch)),
        epoch=epoch,
        epoch_signature=_opening(caller.identity, taken),
    )
    stub = caller.connection.stub(coordination_pb2_grpc.CoordinationStub)
    return changed(caller.connection, stub.TakeOver, request)


def _opening(identity: Identity, taken: OfferedProject) -> bytes:
    """The signature that opens the project's epoch once more; nothing for the first."""
    if taken.status.epoch == 1:
        return b""
    encoding = encoding_digest(taken.spec)
    return sign_new_epoch(identity, taken.status.project, encoding, taken.status.epoch, taken.epoch_reason)


def _offer_lines(project: str, owner: str, offer: coordination_pb2.HandOver, caller: Client) -> list[str]:
    """Who offers the project and why, once the signature is verified."""
    seen = checkpoint_from_wire(offer.seen)
    seen.verify(caller.linker)
    if (offer.former, offer.successor) != (owner, caller.name):
        what = "the offer must be of the project's owner, and to you"
        got = f"of {offer.former}, to {offer.successor}"
        remedy = "telephone the owner, and ask Carole's operator"
        raise GemelError(ErrorCode.SIGNATURE, what, where=f"hand-over of {project}", got=got, remedy=remedy)
    lines = [f'{offer.member} hands over the project of {offer.former} with the reason: "{offer.reason}"']
    if all(member.name != offer.member for member in caller.members):
        return [*lines, f"{offer.member} is no longer a member: only Carole has verified its signature."]
    statement = HandOver(project, offer.former, offer.successor, seen, offer.reason)
    signer = caller.members.named(offer.member)
    if signer.role is not Role.STEWARD and offer.member != offer.former:
        what = "an offer is signed by the project's owner or by a steward"
        got = f"{offer.member}, a {signer.role}"
        remedy = "telephone the owner, and ask Carole's operator"
        raise GemelError(ErrorCode.SIGNATURE, what, where=f"hand-over of {project}", got=got, remedy=remedy)
    statement.verify(signer.identity, offer.signature)
    return lines


def _seen(caller: Client) -> Checkpoint:
    """The newest checkpoint of the log, verified when the connection was made or the page was."""
    seen = caller.memory.newest_seen()
    assert seen is not None  # noqa: S101 - its check has just kept one
    return seen
