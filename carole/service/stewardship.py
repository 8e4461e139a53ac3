"""Carole's service for a data steward: reports, decisions on held results, the audit log with its proofs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from grpc import ServicerContext

from gemel.carole.projects.operations.release import override, refuse
from gemel.carole.projects.project import Project, ReleaseSignature, State
from gemel.carole.service.context import ServiceContext, known_id, project_name
from gemel.carole.service.wire import entry_to_wire, newest_first, status_to_wire
from gemel.carole.store import Store
from gemel.common.audit.statements import HandOver, StewardDecision, TakeOver, normalized_reason
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.epochs import approval_parts, verify_new_epoch
from gemel.common.keys.identity import SigningPurpose
from gemel.common.parties import Role
from gemel.common.pki.members import Member, Members
from gemel.common.rpc.certificate_endings import endings_to_wire
from gemel.common.rpc.pages import page
from gemel.common.rpc.trust import Trust
from gemel.common.specification import load_specification
from gemel.common.wire.checkpoints import checkpoint_to_wire
from gemel.protos.linkage.v1 import coordination_pb2, stewardship_pb2_grpc
from gemel.protos.linkage.v1 import stewardship_pb2 as pb
from gemel.serving.server import caller

# The stewards of the membership list, and whether they are as many as a specification requires.


def steward_names(members: Members) -> tuple[str, ...]:
    """Their names, in the order of the list."""
    return tuple(member.name for member in members.with_role(Role.STEWARD))


def require_stewards(signatures: int, members: Members) -> None:
    """Refuse a specification that requires more signatures than the membership list has stewards.

    One is not required of every list: a result that is held may wait until there is a steward.
    """
    found = len(steward_names(members))
    if signatures > 1 and found < signatures:
        what = f"a release must be signed by {signatures} stewards, and the membership list has fewer"
        remedy = "make another steward a member, or amend the specification to `signatures: 1`"
        raise GemelError(ErrorCode.SPECIFICATION, what, where="assessment.signatures", got=str(found), remedy=remedy)


# Signed statements by which a project goes from one coordinator to another: verified here, kept by the store.

HandOverRequest = coordination_pb2.HandOverRequest | pb.StewardHandOverRequest


def hand_over(
    service: ServiceContext, members: Members, signer: Member, name: str, former: str, request: HandOverRequest
) -> Project:
    """Take an offer of a project.

    `members`: the newest list. `signer`, `former`: the caller, and the owner: the same for a coordinator, another for a
    steward. Raises PARAMETER if the successor is no coordinator, or for no reason; NOT_ADMITTED for a steward while the
    owner is a member; AUDIT for an unknown checkpoint; SIGNATURE; errors of `Registry.hand_over`.
    """
    if signer.role is Role.STEWARD:
        _require_gone(members, former, name)
    if request.successor not in _coordinators(members):
        what = "the successor must be a coordinator in the membership list"
        remedy = "write its name as the membership list has it"
        raise parameter(f"hand-over of {name}", what, repr(request.successor[:40]), remedy)
    seen = service.store.audit.at(request.seen)
    statement = HandOver(name, former, request.successor, seen, normalized_reason(request.reason))
    statement.verify(signer.identity, request.signature)
    return service.store.projects.hand_over(signer.role, signer.name, statement, request.signature)


def take_over(
    service: ServiceContext, members: Members, signer: Member, name: str, request: coordination_pb2.TakeOverRequest
) -> Project:
    """Make the caller the owner of a project that waits for it. The same again changes nothing.

    Raises NOT_ADMITTED for a steward's offer when the owner is a member again; AUDIT for an unknown checkpoint;
    SIGNATURE; errors of `Registry.take_over`.
    """
    project = service.store.projects.get(name)
    if project.owner == signer.name:
        return project
    if project.hand_over is not None and project.hand_over.member != project.owner:
        _require_gone(members, project.owner, name)
    offered = b"" if project.hand_over is None else project.hand_over.signature
    seen = service.store.audit.at(request.seen)
    statement = TakeOver(name, project.owner, signer.name, seen, offered)
    statement.verify(signer.identity, request.signature)
    digest, consented = request.specification_digest, request.epoch
    signer.identity.verify(request.approval, SigningPurpose.APPROVAL, *approval_parts(name, digest, consented))
    opened, opening = project.new_epoch, request.epoch_signature
    if opened is not None:
        verify_new_epoch(signer.identity, opening, name, project.encoding_digest, opened.epoch, opened.reason)
    return service.store.projects.take_over(
        statement, request.signature, digest, request.approval, consented, b"" if opened is None else opening
    )


def _coordinators(members: Members) -> set[str]:
    return {member.name for member in members.with_role(Role.COORDINATOR)}


def _require_gone(members: Members, owner: str, name: str) -> None:
    if owner in _coordinators(members):
        what = "a steward hands a project over only where its owner is no longer a member"
        remedy = f"let {owner} hand it over: `gemel project hand-over`"
        raise GemelError(ErrorCode.NOT_ADMITTED, what, where=name, got=f"{owner}, which is one", remedy=remedy)


def hand_over_to_wire(project: Project) -> coordination_pb2.HandOver | None:
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


# A held result that others have overtaken: what was released since it was assessed is compared before it is released.
#
# Its report does not have these releases, so that a steward who reads it cannot know what they tell together.


def refuse_unassessed(store: Store, name: str, run: str) -> None:
    """Refuse the release of a held result that breaches the limit on differences with one that was released since."""
    content = store.releases.held_counts(name, run)
    if content is None:
        return
    spec = load_specification(store.projects.specification(name), name)
    if spec.assessment is None:
        return
    # Here and not above: the assessment brings all of Carole's numbers along, more than the rest of her service
    # together. She starts and serves without them; her worker has them.
    from gemel.carole.assessment.differences import EarlierRelease, differences
    from gemel.carole.assessment.ladders import ladders_of
    from gemel.carole.assessment.released_counts import unpack

    def since() -> Iterator[EarlierRelease]:
        for trace in store.releases.since(name, run):
            found = store.releases.counts(trace)
            if found is not None:
                yield EarlierRelease(trace.run, trace.project, None, unpack(found))

    found = differences(spec.variables, unpack(content), since(), ladders_of(spec))
    measure = found.measures.get("differences")
    if measure is not None and measure.value > spec.assessment.judged_limits["differences"]:
        what = (
            "another result of the same custodians was released since this one was assessed, and its report does not"
            " have what the two tell together"
        )
        remedy = "refuse it; the coordinator amends the specification and starts a run, which is assessed with both"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=f"{name}, run {run}", got=found.reason, remedy=remedy)


MAX_ENTRIES = 200

_JUDGED = (State.ASSESSED, State.HELD, State.RELEASED)


class Stewardship(stewardship_pb2_grpc.StewardshipServicer):
    def __init__(self, service: ServiceContext, trust: Trust) -> None:
        self._service = service
        self._store = service.store
        self._endings = service.endings
        self._trust = trust

    def ListAssessed(self, request: pb.ListAssessedRequest, context: ServicerContext) -> pb.ListAssessedResponse:
        """Every project whose result has been assessed, or released without an assessment; page by page."""
        stewards = steward_names(self._trust.members)
        listed = newest_first(self._store.projects.all(), request.after)
        former = self._store.projects.former()
        entries = (
            (each.name, status_to_wire(each, stewards=stewards, judges=True, former=former(each.name)))
            for each in listed
            if each.state in _JUDGED
        )
        projects, following = page(entries, request.maximum)
        return pb.ListAssessedResponse(projects=projects, next=following, certificates=endings_to_wire(self._endings()))

    def GetReport(self, request: pb.GetReportRequest, context: ServicerContext) -> pb.GetReportResponse:
        """A chunk of the report on a run; of coordinators, for the project's owner."""
        member = caller(context)
        name, run = project_name(request.project), known_id(request.run)
        if member.role is Role.COORDINATOR:
            self._service.require_owner(name, member, "fetch of the report")
        chunk = self._store.results.report(name, run, request.index)
        return pb.GetReportResponse(chunk=chunk.message())

    def Decide(self, request: pb.DecideRequest, context: ServicerContext) -> pb.DecideResponse:
        member = caller(context)
        name, run = project_name(request.project), known_id(request.run)
        report = hashlib.sha256(self._store.results.whole_report(name, run)).digest()
        # As the log keeps it: what is verified here can be verified there.
        reason = normalized_reason(request.reason)
        StewardDecision(name, run, report, request.release, reason).verify(member.identity, request.signature)
        given = ReleaseSignature(run, member.name, member.identity.hex, report, request.signature)
        members = self._trust.members
        if request.release:
            stewards = {steward.name: steward.identity.hex for steward in members.with_role(Role.STEWARD)}
            refuse_unassessed(self._store, name, run)
            project = self._store.apply(
                name, lambda project, now: override(project, replace(given, at=now), reason, stewards)
            )
        else:
            project = self._store.apply(name, lambda project, _: refuse(project, given, reason))
        return pb.DecideResponse(status=status_to_wire(project, stewards=steward_names(members), judges=True))

    def HandOver(self, request: pb.StewardHandOverRequest, context: ServicerContext) -> pb.StewardHandOverResponse:
        """Offer the project of an owner that is no longer a member to another coordinator."""
        member, name = caller(context), project_name(request.project)
        project = hand_over(self._service, self._trust.members, member, name, request.former, request)
        return pb.StewardHandOverResponse(status=status_to_wire(project))

    def ListEntries(self, request: pb.ListEntriesRequest, context: ServicerContext) -> pb.ListEntriesResponse:
        project = project_name(request.project) if request.project else None
        shown, entries = self._store.audit.proven(project, request.after, MAX_ENTRIES)
        return pb.ListEntriesResponse(
            entries=[entry_to_wire(entry, proof) for entry, proof in entries], checkpoint=checkpoint_to_wire(shown)
        )
