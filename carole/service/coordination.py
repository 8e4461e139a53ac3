"""Carole's service for the coordinators: projects, runs and aggregates; no signature and no record.

Any coordinator may read the state of any project and run. What changes a project, and results, are for its owner.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator

import structlog
from grpc import ServicerContext

from gemel.carole.projects.operations.consent import open_epoch
from gemel.carole.projects.operations.release import erase
from gemel.carole.projects.project import Grant, NewEpoch, Policy, Project
from gemel.carole.service.context import ServiceContext, approve, known_id, project_name, request_id
from gemel.carole.service.exchange import Resolving, require_analysts
from gemel.carole.service.stewardship import hand_over, hand_over_to_wire, require_stewards, steward_names, take_over
from gemel.carole.service.wire import new_epoch_to_wire, newest_first, run_to_wire, status_to_wire
from gemel.carole.store.registry import FormerProjects, NewProject
from gemel.common.audit.statements import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import verify_new_epoch
from gemel.common.parties import Role
from gemel.common.pki.members import Member, compute_members
from gemel.common.pki.sealing_suites import require_sealing_keys
from gemel.common.rpc.certificate_endings import endings_to_wire
from gemel.common.rpc.pages import page
from gemel.common.rpc.trust import Trust
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.protos.linkage.v1 import coordination_pb2 as pb
from gemel.protos.linkage.v1 import coordination_pb2_grpc, project_pb2
from gemel.serving.call_recorder import request_of
from gemel.serving.dispatch import may_wait
from gemel.serving.server import caller

MAX_SPECIFICATION_BYTES = 256 << 10

_WATCH_SECONDS = 0.2

log = structlog.get_logger()


class Coordination(Resolving, coordination_pb2_grpc.CoordinationServicer):
    def __init__(self, service: ServiceContext, trust: Trust) -> None:
        self._service, self._store, self._trust = service, service.store, trust

    def CreateProject(self, request: pb.CreateProjectRequest, context: ServicerContext) -> pb.CreateProjectResponse:
        new = self._new(request.specification)
        project = self._store.projects.create(new, caller(context).name)
        return pb.CreateProjectResponse(status=self._status(project, caller(context)))

    def ApproveProject(self, request: pb.ApproveProjectRequest, context: ServicerContext) -> pb.ApproveProjectResponse:
        name = project_name(request.project)
        require_stewards(self._store.projects.get(name).signatures, self._trust.members)
        project = approve(
            self._service, caller(context), name, request.specification_digest, request.signature, request.epoch
        )
        return pb.ApproveProjectResponse(status=self._status(project, caller(context)))

    def AmendProject(self, request: pb.AmendProjectRequest, context: ServicerContext) -> pb.AmendProjectResponse:
        project = self._store.projects.amend(self._new(request.specification), caller(context).name)
        return pb.AmendProjectResponse(status=self._status(project, caller(context)))

    def NewEpoch(self, request: pb.NewEpochRequest, context: ServicerContext) -> pb.NewEpochResponse:
        member, name, reason = caller(context), project_name(request.project), normalized_reason(request.reason)
        encoding = self._store.projects.get(name).encoding_digest
        verify_new_epoch(member.identity, request.signature, name, encoding, request.epoch, reason)
        project = self._store.apply(
            name,
            lambda project, now: open_epoch(
                project, NewEpoch(request.epoch, member.name, reason, request.signature, now)
            ),
        )
        return pb.NewEpochResponse(status=self._status(project, caller(context)))

    def HandOver(self, request: pb.HandOverRequest, context: ServicerContext) -> pb.HandOverResponse:
        member = caller(context)
        name = project_name(request.project)
        project = hand_over(self._service, self._trust.members, member, name, member.name, request)
        return pb.HandOverResponse(status=self._status(project, caller(context)))

    def TakeOver(self, request: pb.TakeOverRequest, context: ServicerContext) -> pb.TakeOverResponse:
        project = take_over(self._service, self._trust.members, caller(context), project_name(request.project), request)
        return pb.TakeOverResponse(status=self._status(project, caller(context)))

    def GetProject(self, request: pb.GetProjectRequest, context: ServicerContext) -> pb.GetProjectResponse:
        name = project_name(request.project)
        project = self._store.projects.get(name)
        return pb.GetProjectResponse(
            status=self._status(project, caller(context), self._store.projects.former()),
            specification=self._store.projects.specification(name),
            certificates=endings_to_wire(self._service.endings()),
            hand_over=hand_over_to_wire(project),
            new_epoch=None if project.new_epoch is None else new_epoch_to_wire(project.new_epoch),
        )

    def ListProjects(self, request: pb.ListProjectsRequest, context: ServicerContext) -> pb.ListProjectsResponse:
        listed = newest_first(self._store.projects.all(), request.after)
        member, former = caller(context), self._store.projects.former()
        entries = ((project.name, self._status(project, member, former)) for project in listed)
        projects, following = page(entries, request.maximum)
        return pb.ListProjectsResponse(
            projects=projects, next=following, certificates=endings_to_wire(self._service.endings())
        )

    def StartRun(self, request: pb.StartRunRequest, context: ServicerContext) -> pb.StartRunResponse:
        name = project_name(request.project)
        run = self._store.runs.start(
            name, caller(context).name, request_id(request.request), secrets.token_hex(16), request_of(context)
        )
        log.info("run requested", project=name, run=run.run)
        return pb.StartRunResponse(run=run_to_wire(run, judges=True))

    def GetRun(self, request: pb.GetRunRequest, context: ServicerContext) -> pb.GetRunResponse:
        name = project_name(request.project)
        run = self._store.runs.get(name, known_id(request.run))
        return pb.GetRunResponse(run=run_to_wire(run, judges=self._owns(name, caller(context))))

    def WatchRun(self, request: pb.WatchRunRequest, context: ServicerContext) -> Iterator[project_pb2.RunStatus]:
        """Every change of a run until it ends, or shortly before the deadline comes."""
        name, run = project_name(request.project), known_id(request.run)
        end = time.monotonic() + max(0.0, context.time_remaining() - 2 * _WATCH_SECONDS)
        judges = self._owns(name, caller(context))
        shown = self._store.runs.get(name, run)
        yield run_to_wire(shown, judges=judges)
        # A caller that watches too many runs already has the state of this one, and can repeat its request.
        while may_wait(context) and shown.state.active and time.monotonic() < end and context.is_active():
            if self._service.stopping.wait(_WATCH_SECONDS):
                return
            found = self._store.runs.get(name, run)
            if found != shown:
                shown = found
                yield run_to_wire(shown, judges=judges)

    def GetStatistics(self, request: pb.GetStatisticsRequest, context: ServicerContext) -> pb.GetStatisticsResponse:
        name, run = project_name(request.project), known_id(request.run)
        self._service.require_owner(name, caller(context), "fetch of results")
        chunk = self._store.results.fetch(name, Role.COORDINATOR, run, request.index)
        return pb.GetStatisticsResponse(chunk=chunk.message())

    def EraseProject(self, request: pb.EraseProjectRequest, context: ServicerContext) -> pb.EraseProjectResponse:
        member, name = caller(context), project_name(request.project)
        project = self._store.apply(name, lambda project, _: erase(project, member.role, member.name))
        return pb.EraseProjectResponse(status=self._status(project, member))

    def _status(
        self, project: Project, reader: Member, former: Callable[[str], FormerProjects] | None = None
    ) -> project_pb2.ProjectStatus:
        """A project's state as a coordinator may see it: what custodians report, and counts, if it is the owner."""
        stewards = steward_names(self._trust.members)
        if project.owner != reader.name:
            return status_to_wire(project, stewards=stewards)
        counted = None if former is None else former(project.name)
        return status_to_wire(project, self._service.conditions, stewards, counted, judges=True)

    def _owns(self, name: str, reader: Member) -> bool:
        return self._store.projects.get(name).owner == reader.name

    def _new(self, text: str) -> NewProject:
        spec = _read(text)
        new = new_project(text, spec)
        require_stewards(new.signatures, self._trust.members)
        require_analysts(new.transfers, self._trust)
        require_sealing_keys(spec, self._trust.members, f"specification of {spec.project}")
        if spec.mode == "shared":
            compute_members(self._trust.members, spec)
        return new


def _read(text: str) -> Specification:
    size = len(text.encode())
    if size > MAX_SPECIFICATION_BYTES:
        what = f"a specification has at most {MAX_SPECIFICATION_BYTES} bytes"
        raise GemelError(ErrorCode.SPECIFICATION, what, where="specification", got=str(size))
    return load_specification(text, "specification")


def new_project(text: str, spec: Specification) -> NewProject:
    """What the store keeps from a specification besides its text."""
    return NewProject(
        name=spec.project,
        specification=text,
        specification_digest=specification_digest(spec),
        encoding_digest=encoding_digest(spec),
        grants={
            Role.CUSTODIAN_A: Grant(spec.release.alice),
            Role.CUSTODIAN_B: Grant(spec.release.bob),
            Role.COORDINATOR: Grant(spec.release.coordinator),
        },
        policy=Policy.NONE if spec.assessment is None else Policy(spec.assessment.on_breach),
        uploads_days=spec.retention.uploads_days,
        results_days=spec.retention.results_days,
        releases_days=spec.retention.releases_days,
        transfers=spec.release.transfers,
        signatures=1 if spec.assessment is None else spec.assessment.signatures,
    )
