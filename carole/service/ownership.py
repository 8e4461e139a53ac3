"""Signed statements by which a project goes from one coordinator to another: verified here, kept by the store."""

from __future__ import annotations

from gemel.carole.projects import Project
from gemel.carole.service.context import ServiceContext
from gemel.common.audit.hand_over import HandOver, TakeOver
from gemel.common.audit.reason import normalized_reason
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.epochs import approval_parts, verify_new_epoch
from gemel.common.keys.identity import SigningPurpose
from gemel.common.parties import Role
from gemel.common.pki.members import Member, Members
from gemel.common.wire.checkpoints import checkpoint_to_wire
from gemel.protos.linkage.v1 import coordination_pb2, stewardship_pb2

HandOverRequest = coordination_pb2.HandOverRequest | stewardship_pb2.StewardHandOverRequest


def hand_over(
    service: ServiceContext, members: Members, signer: Member, name: str, former: str, request: HandOverRequest
) -> Project:
    """Take an offer of a project.

    Parameters
    ----------
    members
        The newest list.
    signer, former
        The caller, and the owner: the same for a coordinator, another for a steward.

    Raises
    ------
    GemelError
        PARAMETER if the successor is no coordinator, or for no reason; NOT_ADMITTED for a steward while the owner is a
        member; AUDIT for an unknown checkpoint; SIGNATURE; errors of `Ownership.hand_over`.
    """
    if signer.role is Role.STEWARD:
        _require_gone(members, former, name)
    if request.successor not in _coordinators(members):
        raise parameter(
            f"hand-over of {name}",
            "the successor must be a coordinator in the membership list",
            repr(request.successor[:40]),
            "write its name as the membership list has it",
        )
    seen = service.store.ownership.checkpoint(request.seen)
    statement = HandOver(name, former, request.successor, seen, normalized_reason(request.reason))
    statement.verify(signer.identity, request.signature)
    return service.store.ownership.hand_over(signer.role, signer.name, statement, request.signature)


def take_over(
    service: ServiceContext, members: Members, signer: Member, name: str, request: coordination_pb2.TakeOverRequest
) -> Project:
    """Make the caller the owner of a project that waits for it. The same again changes nothing.

    Raises
    ------
    GemelError
        NOT_ADMITTED for a steward's offer when the owner is a member again; AUDIT for an unknown checkpoint; SIGNATURE;
        errors of `Ownership.take_over`.
    """
    project = service.store.projects.get(name)
    if project.owner == signer.name:
        return project
    if project.hand_over is not None and project.hand_over.member != project.owner:
        _require_gone(members, project.owner, name)
    offered = b"" if project.hand_over is None else project.hand_over.signature
    seen = service.store.ownership.checkpoint(request.seen)
    statement = TakeOver(name, project.owner, signer.name, seen, offered)
    statement.verify(signer.identity, request.signature)
    digest, consented = request.specification_digest, request.epoch
    signer.identity.verify(request.approval, SigningPurpose.APPROVAL, *approval_parts(name, digest, consented))
    opened, opening = project.new_epoch, request.epoch_signature
    if opened is not None:
        verify_new_epoch(signer.identity, opening, name, project.encoding_digest, opened.epoch, opened.reason)
    return service.store.ownership.take_over(
        statement, request.signature, digest, request.approval, consented, b"" if opened is None else opening
    )


def _coordinators(members: Members) -> set[str]:
    return {member.name for member in members.with_role(Role.COORDINATOR)}


def _require_gone(members: Members, owner: str, name: str) -> None:
    if owner in _coordinators(members):
        raise GemelError(
            ErrorCode.NOT_ADMITTED,
            "a steward hands a project over only where its owner is no longer a member",
            where=name,
            got=f"{owner}, which is one",
            remedy=f"let {owner} hand it over: `gemel project hand-over`",
        )


def hand_over_to_wire(project: Project) -> coordination_pb2.HandOver | None:
    """The offer that waits for its successor."""
    pending = project.hand_over
    if pending is None:
        return None
    statement = pending.statement
    return coordination_pb2.HandOver(
        former=statement.former,
        successor=statement.successor,
        member=pending.member,
        reason=statement.reason,
        seen=checkpoint_to_wire(statement.seen),
        signature=pending.signature,
        at_unix_ms=pending.at,
    )
