"""Carole's services for several parties: her audit log, a restored log, and what she passes on sealed.

Sealed are granted columns, from a custodian to a recipient, and the artifacts of a run that waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import structlog
from grpc import ServicerContext

from gemel.carole.projects.operations.linking import resolve_run, submit_row_handles
from gemel.carole.projects.operations.outcome import Outcome
from gemel.carole.projects.project import Project, State
from gemel.carole.service.context import ServiceContext, known_id, project_name
from gemel.carole.service.wire import entry_to_wire, newest_first, status_to_wire
from gemel.carole.store import Store
from gemel.carole.store.results import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.carole.store.view import not_found
from gemel.common.audit import Checkpoint
from gemel.common.audit.signed_note import Cosignature, NoteLine
from gemel.common.audit.statements import ResolverResult, RestorationDecision, normalized_reason
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.identity import Identity
from gemel.common.parties import SIDE_OF_ROLE, Role, Side
from gemel.common.pki.members import Member
from gemel.common.rpc.pages import page
from gemel.common.rpc.trust import Trust
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.checkpoints import checkpoint_from_wire, checkpoint_to_wire
from gemel.common.wire.chunks import Chunk
from gemel.common.wire.parties import side_from_wire, side_to_wire
from gemel.protos.linkage.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    project_pb2,
    resolution_pb2,
    restoration_pb2,
    restoration_pb2_grpc,
    variables_pb2,
    variables_pb2_grpc,
)
from gemel.serving.server import caller

log = structlog.get_logger()


class Auditing(audit_pb2_grpc.AuditServicer):
    def __init__(self, service: ServiceContext, trust: Trust, identity: Identity) -> None:
        self._log = service.store.audit
        self._trust, self._identity = trust, identity
        self._noted: Checkpoint | None = None

    def Witness(self, request: audit_pb2.WitnessRequest, context: ServicerContext) -> audit_pb2.WitnessResponse:
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


# Carole's service for all parties of a project after her store was put back from a backup.

MAX_RUNS = 1000

ROOT_BYTES = 32


class Restoration(restoration_pb2_grpc.RestorationServicer):
    def __init__(self, service: ServiceContext, trust: Trust) -> None:
        self._store = service.store
        self._trust = trust

    def GetRestoration(
        self, request: restoration_pb2.GetRestorationRequest, context: ServicerContext
    ) -> restoration_pb2.GetRestorationResponse:
        found = self._store.restorations.newest()
        if found is None:
            return restoration_pb2.GetRestorationResponse(newest=checkpoint_to_wire(self._store.audit.checkpoint()))
        return restoration_pb2.GetRestorationResponse(
            newest=checkpoint_to_wire(found.newest),
            entry=entry_to_wire(found.entry, found.included),
            restored=checkpoint_to_wire(found.restored),
            continues=found.continues,
        )

    def DecideRestoration(
        self, request: restoration_pb2.DecideRestorationRequest, context: ServicerContext
    ) -> restoration_pb2.DecideRestorationResponse:
        member = caller(context)
        found = self._store.restorations.newest()
        if found is None:
            raise not_found()
        if len(request.runs) > MAX_RUNS or any(len(run.root) not in (0, ROOT_BYTES) for run in request.runs):
            what = f"a decision names at most {MAX_RUNS} runs, each with a digest of {ROOT_BYTES} bytes or none"
            raise parameter("runs", what, f"{len(request.runs)} runs")
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


# Carole's part in `release.variables`: she passes sealed columns from a custodian to a recipient, and reads none.


class Receiving:
    """What every recipient of granted columns may call."""

    _store: Store

    def FetchVariables(
        self, request: variables_pb2.FetchVariablesRequest, context: ServicerContext
    ) -> variables_pb2.FetchVariablesResponse:
        member, name, run = caller(context), project_name(request.project), known_id(request.run)
        transfer = Transfer(side_from_wire(request.sender), recipient_name(member))
        chunk = self._store.variables.fetch(name, member.role, run, transfer, request.index)
        return variables_pb2.FetchVariablesResponse(chunk=chunk.message())

    def AcknowledgeVariables(
        self, request: variables_pb2.AcknowledgeVariablesRequest, context: ServicerContext
    ) -> variables_pb2.AcknowledgeVariablesResponse:
        member, name, run = caller(context), project_name(request.project), known_id(request.run)
        transfer = Transfer(side_from_wire(request.sender), recipient_name(member))
        self._store.variables.acknowledge(name, member.role, member.name, run, transfer, request.root)
        return variables_pb2.AcknowledgeVariablesResponse()


def recipient_name(member: Member) -> str:
    """How a specification names a recipient: a custodian by its side, an analyst by its name."""
    side = SIDE_OF_ROLE.get(member.role)
    return member.name if side is None else str(side)


def require_analysts(transfers: tuple[Transfer, ...], trust: Trust) -> None:
    """Refuse a specification that grants columns to an analyst who is no member of that role."""
    analysts = {member.name for member in trust.members.with_role(Role.ANALYST)}
    if missing := sorted({transfer.to for transfer in transfers if transfer.to_analyst} - analysts):
        what = "columns are granted to a recipient that is no member with the role analyst"
        got = ", ".join(missing)
        remedy = (
            "enrol it (`gemel party enrol --role analyst`) and have all take the new membership list, or name"
            " alice or bob"
        )
        raise GemelError(ErrorCode.SPECIFICATION, what, where="release.variables", got=got, remedy=remedy)


class Analysis(Receiving, variables_pb2_grpc.AnalysisServicer):
    def __init__(self, service: ServiceContext) -> None:
        self._store = service.store

    def ListVariables(
        self, request: variables_pb2.ListVariablesRequest, context: ServicerContext
    ) -> variables_pb2.ListVariablesResponse:
        """The projects whose columns are granted to the caller, with their specifications; no run before a release."""
        listed = newest_first(self._store.projects.all(), request.after)
        found, following = page(self._granted(listed, recipient_name(caller(context))), request.maximum)
        return variables_pb2.ListVariablesResponse(projects=found, next=following)

    def _granted(self, projects: Iterable[Project], own: str) -> Iterator[tuple[str, variables_pb2.VariableTransfers]]:
        for project in projects:
            mine = [transfer for transfer in project.transfers if transfer.to == own]
            if not mine or project.state is State.ERASED:
                continue
            run = project.released_run if project.state is State.RELEASED else None
            yield (
                project.name,
                variables_pb2.VariableTransfers(
                    project=project.name,
                    specification=self._store.projects.specification(project.name),
                    run="" if run is None else run.run,
                    sent=[side_to_wire(transfer.sender) for transfer in mine if transfer in project.sent],
                    received=[side_to_wire(transfer.sender) for transfer in mine if transfer in project.received],
                ),
            )


# Transfer of a run's artifacts: which caller may fetch which, and which caller may submit which.


class Resolving:
    """What custodians and the resolver, a project's owner, exchange while a run waits."""

    _service: ServiceContext
    _store: Store

    def FetchArtifact(
        self, request: resolution_pb2.FetchArtifactRequest, context: ServicerContext
    ) -> resolution_pb2.FetchArtifactResponse:
        """A chunk of a custodian's own rows of candidate pairs; for the resolver of its request, or of handles."""
        name, side = self._party(request.project, caller(context), "fetch of an artifact")
        if side is not None and request.artifact == resolution_pb2.RUN_ARTIFACT_ROWS:
            artifact = rows_of(side)
        elif side is None and request.artifact == resolution_pb2.RUN_ARTIFACT_RESOLUTION_REQUEST:
            artifact = RESOLUTION_REQUEST
        elif side is None and request.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES:
            artifact = handles_of(side_from_wire(request.side))
        else:
            raise _not_for_you(request.artifact)
        chunk = self._store.artifacts.fetch(name, known_id(request.run), artifact, request.index)
        return resolution_pb2.FetchArtifactResponse(chunk=chunk.message())

    def PutArtifact(
        self, request: resolution_pb2.PutArtifactRequest, context: ServicerContext
    ) -> resolution_pb2.PutArtifactResponse:
        member = caller(context)
        name, side = self._party(request.project, member, "result of the resolver")
        run, chunk = known_id(request.run), Chunk.of(request.chunk)
        if side is not None and request.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES:
            artifact = handles_of(side)
        elif side is None and request.artifact == resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT:
            artifact = RESOLUTION_RESULT
            ResolverResult(name, run, chunk.root).verify(member.identity, request.signature)
        else:
            raise _not_for_you(request.artifact)

        def done(project: Project, total_bytes: int) -> Outcome:
            if side is None:
                return resolve_run(project, member.name, run, chunk.root.hex(), request.signature.hex())
            return submit_row_handles(project, side, member.name, run)

        self._store.artifacts.put(name, run, artifact, chunk, self._service.limits.max_upload_bytes, done)
        return resolution_pb2.PutArtifactResponse()

    def _party(self, project: str, member: Member, doing: str) -> tuple[str, Side | None]:
        """The project's name, and the custodian that the caller is; None for the resolver, who must own the project."""
        name, side = project_name(project), SIDE_OF_ROLE.get(member.role)
        if side is None:
            self._service.require_owner(name, member, doing)
        return name, side


def _not_for_you(artifact: int) -> GemelError:
    known = artifact in resolution_pb2.RunArtifact.values()
    got = resolution_pb2.RunArtifact.Name(artifact) if known else str(artifact)
    return parameter("artifact", "the artifact is not addressed to this party", got)
