"""A project handed over to another coordinator, and taken over by it: what is verified, signed and sent."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.audit import Checkpoint
from gemel.common.audit.hand_over import HandOver, TakeOver
from gemel.common.audit.reason import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, SigningPurpose
from gemel.common.parties import Role
from gemel.common.pki.members import Members
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.common.wire.checkpoints import checkpoint_from_wire
from gemel.coordinator.client.connection import Client
from gemel.protos.linkage.v1 import (
    coordination_pb2,
    coordination_pb2_grpc,
    project_pb2,
    stewardship_pb2,
    stewardship_pb2_grpc,
)

_ATTEMPTS = 3


def offer_project(
    found: Client, role: Role, project: str, successor: str, reason: str, *, former: str = ""
) -> project_pb2.ProjectStatus:
    """Sign an offer of a project and send it; the project's status after it.

    Parameters
    ----------
    found
        The signer's keys and connection, by which the log was verified.
    role
        Of the signer: coordinator, or steward.
    former
        The owner, where a steward signs.

    Raises
    ------
    GemelError
        PARAMETER for no reason, or a successor that is no coordinator; what Carole refuses with.
    """
    text = normalized_reason(reason)
    owner = former or found.name
    statement = HandOver(project, owner, successor, _seen(found), text)
    size, signature = statement.seen.size, statement.sign(found.identity)
    if role is Role.STEWARD:
        stewardship = found.connection.stub(stewardship_pb2_grpc.StewardshipStub)
        request = stewardship_pb2.StewardHandOverRequest(
            project=project, former=owner, successor=successor, reason=text, seen=size, signature=signature
        )
        response = found.connection.call(stewardship.HandOver, request, attempts=_ATTEMPTS)
    else:
        stub = found.connection.stub(coordination_pb2_grpc.CoordinationStub)
        offer = coordination_pb2.HandOverRequest(
            project=project, successor=successor, reason=text, seen=size, signature=signature
        )
        response = found.connection.call(stub.HandOver, offer, attempts=_ATTEMPTS)
    status: project_pb2.ProjectStatus = response.status
    return status


@dataclass(frozen=True)
class OfferedProject:
    """What a coordinator takes over, as it is read before it is signed.

    Attributes
    ----------
    status, text
        The project's, as Carole has them.
    spec, digest
        Of the text: the digest is computed here, not taken on trust from the other side.
    offered
        The signature of the offer that is taken.
    sentences
        Who offers it and why, and of a later epoch who opened it and why: a sentence each, the offer's signature
        verified.
    epoch_reason
        Of the present epoch; empty for the first.
    """

    status: project_pb2.ProjectStatus
    text: str
    spec: Specification
    digest: bytes
    offered: bytes
    sentences: list[str]
    epoch_reason: str


def offered_project(found: Client, project: str) -> OfferedProject:
    """What would be taken over now.

    Raises
    ------
    GemelError
        SIGNATURE or AUDIT for an offer that its signer has not signed.
    """
    stub = found.connection.stub(coordination_pb2_grpc.CoordinationStub)
    shown = found.connection.call(
        stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=_ATTEMPTS
    )
    spec = load_specification(shown.specification, f"{project} at Carole")
    sentences, reason = [], ""
    if shown.HasField("hand_over"):
        sentences += _offer_lines(project, shown.status.owner, shown.hand_over, found)
    if shown.status.epoch > 1:
        reason = normalized_reason(shown.new_epoch.reason)
        sentences.append(
            f"Custodians enter epoch {shown.status.epoch} by your signature. {shown.new_epoch.member} opened it with "
            f'the reason: "{reason}"'
        )
    offered = shown.hand_over.signature
    digest = specification_digest(spec)
    return OfferedProject(shown.status, shown.specification, spec, digest, offered, sentences, reason)


def take_project(found: Client, taken: OfferedProject) -> project_pb2.ProjectStatus:
    """Sign what was read, and a consent to the project's specification, and send both; the project's status after it.

    Raises
    ------
    GemelError
        NOT_ADMITTED or SIGNATURE: Carole's, also where it is no longer what was read.
    """
    project, epoch = taken.status.project, taken.status.epoch
    statement = TakeOver(project, taken.status.owner, found.name, _seen(found), taken.offered)
    request = coordination_pb2.TakeOverRequest(
        project=project,
        seen=statement.seen.size,
        signature=statement.sign(found.identity),
        specification_digest=taken.digest,
        approval=found.identity.sign(SigningPurpose.APPROVAL, *approval_parts(project, taken.digest, epoch)),
        epoch=epoch,
        epoch_signature=_opening(found.identity, taken),
    )
    stub = found.connection.stub(coordination_pb2_grpc.CoordinationStub)
    status: project_pb2.ProjectStatus = found.connection.call(stub.TakeOver, request, attempts=_ATTEMPTS).status
    return status


def _opening(identity: Identity, taken: OfferedProject) -> bytes:
    """The signature that opens the project's epoch once more; nothing for the first."""
    if taken.status.epoch == 1:
        return b""
    encoding = encoding_digest(taken.spec)
    return sign_new_epoch(identity, taken.status.project, encoding, taken.status.epoch, taken.epoch_reason)


def _offer_lines(project: str, owner: str, offer: coordination_pb2.HandOver, found: Client) -> list[str]:
    """Who offers the project and why, once the signature is verified."""
    seen = checkpoint_from_wire(offer.seen)
    seen.verify(found.linker)
    if (offer.former, offer.successor) != (owner, found.name):
        raise GemelError(
            ErrorCode.SIGNATURE,
            "the offer must be of the project's owner, and to you",
            where=f"hand-over of {project}",
            got=f"of {offer.former}, to {offer.successor}",
            remedy="telephone the owner, and ask Carole's operator",
        )
    lines = [f'{offer.member} hands over the project of {offer.former} with the reason: "{offer.reason}"']
    if not _is_listed(found.members, offer.member):
        return [*lines, f"{offer.member} is no longer a member: only Carole has verified its signature."]
    statement = HandOver(project, offer.former, offer.successor, seen, offer.reason)
    signer = found.members.named(offer.member)
    if signer.role is not Role.STEWARD and offer.member != offer.former:
        raise GemelError(
            ErrorCode.SIGNATURE,
            "an offer is signed by the project's owner or by a steward",
            where=f"hand-over of {project}",
            got=f"{offer.member}, a {signer.role}",
            remedy="telephone the owner, and ask Carole's operator",
        )
    statement.verify(signer.identity, offer.signature)
    return lines


def _is_listed(members: Members, name: str) -> bool:
    return any(member.name == name for member in members)


def _seen(found: Client) -> Checkpoint:
    """The newest checkpoint of the log, verified when the connection was made or the page was."""
    seen = found.memory.newest_seen()
    assert seen is not None  # noqa: S101 - its check has just kept one
    return seen
