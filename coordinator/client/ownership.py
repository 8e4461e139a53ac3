"""A project handed over to another coordinator, and taken over by it: what is shown, signed and sent."""

from __future__ import annotations

from pathlib import Path

import typer

from tryst.common.audit import Checkpoint
from tryst.common.audit.hand_over import HandOver, TakeOver
from tryst.common.audit.reason import normalized_reason
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.epochs import approval_parts, sign_new_epoch
from tryst.common.keys.identity import Identity
from tryst.common.keys.signing_purpose import SigningPurpose
from tryst.common.parties import Role
from tryst.common.pki.members import Members
from tryst.common.specification import encoding_digest, load_specification, specification_digest
from tryst.common.wire.checkpoints import checkpoint_from_wire
from tryst.coordinator.client.connection import Client, client
from tryst.coordinator.client.terminal import console, show_mode
from tryst.protos.linkage.v1 import (
    coordination_pb2,
    coordination_pb2_grpc,
    project_pb2,
    stewardship_pb2,
    stewardship_pb2_grpc,
)

_ATTEMPTS = 3


def hand_over(
    config: Path, role: Role, project: str, successor: str, reason: str, *, former: str = "", dry_run: bool = False
) -> project_pb2.ProjectStatus:
    """Sign an offer of a project and send it; the project's status after it.

    Parameters
    ----------
    role
        Of the signer: coordinator, or steward.
    former
        The owner, where a steward signs.
    dry_run
        Show what would be sent, and send nothing.

    Raises
    ------
    TrystError
        PARAMETER for no reason, or a successor that is no coordinator; what Carole refuses with.
    """
    text = normalized_reason(reason)
    with client(config, role, dry_run=dry_run) as found:
        owner = former or _own_name(found)
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
    if status.successor:
        console.print(f"Next: {successor} runs `tryst project take-over {project}`.", highlight=False)
    return status


def take_over(config: Path, project: str, *, yes: bool, dry_run: bool = False) -> project_pb2.ProjectStatus:
    """Show what is taken over, sign that and a consent to the project's specification, and send both.

    Raises
    ------
    TrystError
        SIGNATURE or AUDIT for an offer that its signer has not signed; NOT_ADMITTED: Carole's.
    """
    with client(config, Role.COORDINATOR, dry_run=dry_run) as found:
        stub = found.connection.stub(coordination_pb2_grpc.CoordinationStub)
        shown = found.connection.call(
            stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=_ATTEMPTS
        )
        # The digest is computed here, from the text that is there: not taken on trust from the other side.
        spec = load_specification(shown.specification, f"{project} at Carole")
        digest, epoch = specification_digest(spec), shown.status.epoch
        show_mode(spec)
        console.print(f"Taking over {project}, and consenting to specification {digest.hex()}", highlight=False)
        if shown.HasField("hand_over"):
            for line in _offer_lines(project, shown.status.owner, shown.hand_over, found):
                console.print(line, highlight=False, markup=False)
        if epoch > 1:
            reason = normalized_reason(shown.new_epoch.reason)
            console.print(
                f"Custodians enter epoch {epoch} by your signature. {shown.new_epoch.member} opened it with the reason:"
                f' "{reason}"',
                highlight=False,
                markup=False,
            )
        if not yes and not dry_run:
            typer.confirm(f"Take {project} over?", abort=True)
        offered = shown.hand_over.signature
        statement = TakeOver(project, shown.status.owner, _own_name(found), _seen(found), offered)
        request = coordination_pb2.TakeOverRequest(
            project=project,
            seen=statement.seen.size,
            signature=statement.sign(found.identity),
            specification_digest=digest,
            approval=found.identity.sign(SigningPurpose.APPROVAL, *approval_parts(project, digest, epoch)),
            epoch=epoch,
            epoch_signature=_opening(found.identity, project, encoding_digest(spec), shown.new_epoch, epoch),
        )
        status: project_pb2.ProjectStatus = found.connection.call(stub.TakeOver, request, attempts=_ATTEMPTS).status
    return status


def _opening(identity: Identity, project: str, encoding: bytes, opened: project_pb2.NewEpoch, epoch: int) -> bytes:
    """The signature that opens the project's epoch once more; nothing for the first."""
    if epoch == 1:
        return b""
    return sign_new_epoch(identity, project, encoding, epoch, normalized_reason(opened.reason))


def _offer_lines(project: str, owner: str, offer: coordination_pb2.HandOver, found: Client) -> list[str]:
    """Who offers the project and why, once the signature is verified."""
    seen = checkpoint_from_wire(offer.seen)
    seen.verify(found.linker)
    if (offer.former, offer.successor) != (owner, _own_name(found)):
        raise TrystError(
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
        raise TrystError(
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


def _own_name(found: Client) -> str:
    """This party's name in the membership list."""
    for member in found.members:
        if member.identity.hex == found.identity.public.hex:
            return member.name
    raise TrystError(
        ErrorCode.CONFIGURATION,
        "the membership list does not have this folder's identity",
        where=str(found.folder.members),
        remedy="get the current membership list from the linkage unit",
    )


def _seen(found: Client) -> Checkpoint:
    """The newest checkpoint of the log, verified when the connection was made."""
    seen = found.memory.newest_seen()
    assert seen is not None  # noqa: S101 - `client` has just kept one
    return seen
