"""The service for the custodian's own operator, on a loopback address, admitting the custodian's own key alone."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import structlog

from gemel.common.audit.checkpoint import LARGEST
from gemel.common.audit.statements import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.pages import page
from gemel.common.rpc.trust import Trust
from gemel.common.specification import load_specification, specification_notes
from gemel.common.wire.checkpoints import checkpoint_to_wire
from gemel.custodian.configuration import Policy
from gemel.custodian.operator.control import announce
from gemel.custodian.operator.restored_log import decide_restored, shown
from gemel.custodian.state.state_database import Project
from gemel.custodian.steps.approval import decide
from gemel.custodian.steps.epochs import epoch_notes
from gemel.custodian.steps.leakage_gate import override
from gemel.custodian.steps.step_context import RESTORED, StepContext
from gemel.custodian.steps.witnessing import decide_alone
from gemel.protos.linkage.v1 import operator_pb2, operator_pb2_grpc, project_pb2
from gemel.serving.call_recorder import CallRecorder
from gemel.serving.server import RunningServer, ServerSettings, start_server

TOO_LATE: Mapping[int, str] = {
    project_pb2.PROJECT_STATE_RELEASED: "its result is released, and what its recipients have cannot be taken back",
    project_pb2.PROJECT_STATE_ERASED: "it is erased at Carole's, and nothing is left to withdraw",
}
"""By a project's state, why it cannot be declined any more."""
_BEFORE_APPROVAL = frozenset({project_pb2.PROJECT_STATE_UNSPECIFIED, project_pb2.PROJECT_STATE_DRAFT})


def is_decidable(project: Project) -> bool:
    # What was declined too late was released: an approval then has the share fetched after all.
    late = project.carole_state == project_pb2.PROJECT_STATE_RELEASED and project.decision == "declined"
    return project.carole_state in _BEFORE_APPROVAL or late


def waits_for_operator(project: Project, policy: Policy) -> bool:
    """Whether a project can only go on with its operator's decision on the specification."""
    return (
        project.carole_state in _BEFORE_APPROVAL
        and bool(project.profile)
        and project.decided_digest != project.specification_digest
        and not policy.consents(project.specification_digest, project.mode, project.epoch)
    )


def open_decisions(context: StepContext, project: Project) -> Iterator[str]:
    """What can be decided, by the names of the commands."""
    decided = project.decision if project.decided_digest == project.specification_digest else ""
    if project.specification and project.profile and is_decidable(project) and decided != "approved":
        yield "approve"
    if project.specification and project.carole_state not in TOO_LATE and decided != "declined":
        yield "decline"
    if project.blocking_error and decided == "approved" and _is_above_limit(context, project):
        yield "override"
    if any(name == project.name for name, _ in list(context.offered)):
        yield "fetch-alone"
    if project.blocking_error.startswith(RESTORED) and project.stage != "erased":
        yield "accept-restore"


def _is_above_limit(context: StepContext, project: Project) -> bool:
    known = context.state.leakage(project.name, project.specification_digest)
    return known is not None and known.exceeds and known.overridden_at is None


_LOOPBACK = re.compile(r"(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]):\d{1,5}")
MAX_CHECKPOINTS = 2000
"""In one response: some 350 KiB."""

log = structlog.get_logger()


class OperatorService(operator_pb2_grpc.OperatorServicer):
    """Reads the state and stores the operator's decisions; the agent acts on them.

    `decided` is called with the project that a decision was made about, `stop` ends the service; `trust` has the
    custodian's own certificate, and whom it admits: itself.
    """

    def __init__(
        self, step_context: StepContext, decided: Callable[[str], None], stop: Callable[[], None], trust: Trust
    ) -> None:
        self._step_context = step_context
        self._trust = trust
        self._decided = decided
        self._stop = stop

    def Status(self, request: operator_pb2.StatusRequest, context: Any) -> operator_pb2.StatusResponse:  # noqa: N802
        step_context = self._step_context
        entries = ((project.name, self._shown(project)) for project in step_context.state.projects(request.after))
        projects, following = page(entries, request.maximum)
        return operator_pb2.StatusResponse(
            party=step_context.party.name,
            carole=step_context.connection.address,
            connected=step_context.progress.connected,
            refusal=step_context.progress.refusal,
            projects=projects,
            next=following,
            identity_fingerprint=step_context.keyring.identity.public.fingerprint,
            certificate="" if (soon := self._trust.ending()) is None else str(soon),
            certificates=step_context.progress.certificates,
            member=step_context.keyring.member.name,
        )

    def Profile(self, request: operator_pb2.ProfileRequest, context: Any) -> operator_pb2.ProfileResponse:  # noqa: N802
        """Counts of what was read; never values."""
        project = self._known(request.project)
        if not project.profile:
            what = project.blocking_error or "the source has not been read yet"
            raise _wrong_state(project, what, f"look at {self._command('status')}")
        return operator_pb2.ProfileResponse(json=project.profile)

    def Specification(  # noqa: N802
        self, request: operator_pb2.SpecificationRequest, context: Any
    ) -> operator_pb2.SpecificationResponse:
        project = self._with_specification(request.project)
        spec = load_specification(project.specification, f"the specification of project {project.name}")
        text, digest = project.specification, project.specification_digest
        notes = [*epoch_notes(self._step_context, project), *specification_notes(spec)]
        return operator_pb2.SpecificationResponse(text=text, digest=digest, notes=notes, epoch=project.epoch)

    def Approve(  # noqa: N802
        self, request: operator_pb2.OperatorApproveRequest, context: Any
    ) -> operator_pb2.OperatorApproveResponse:
        """Approve the specification whose digest the operator has seen, in the epoch it has seen, and no other."""
        project = self._decidable(request.project, request.specification_digest)
        if project.epoch != (request.epoch or 1):
            what = f"the project is in epoch {project.epoch} by now"
            got = f"an approval for epoch {request.epoch or 1}"
            remedy = f"read why: {self._command(f'specification {project.name}')}"
            raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=f"project {project.name}", got=got, remedy=remedy)
        if not project.profile:
            what = "the source has not been read yet, so there is no profile to check the specification against"
            raise _wrong_state(project, what, "correct the source, or wait a moment", project.blocking_error)
        decide(self._step_context, project.name, project.specification_digest, "approved", "operator")
        digest = project.specification_digest.hex()
        log.info("operator approved", project=project.name, digest=digest, epoch=project.epoch)
        self._decided(project.name)
        return operator_pb2.OperatorApproveResponse()

    def Decline(self, request: operator_pb2.DeclineRequest, context: Any) -> operator_pb2.DeclineResponse:  # noqa: N802
        project = self._with_specification(request.project)
        reason = normalized_reason(request.reason)
        if project.carole_state in TOO_LATE:
            remedy = "ask the coordinator to erase the project; an amendment of it needs your approval"
            raise _wrong_state(project, TOO_LATE[project.carole_state], remedy)
        decide(self._step_context, project.name, project.specification_digest, "declined", "operator", reason)
        log.info("operator declined", project=project.name, digest=project.specification_digest.hex())
        self._decided(project.name)
        return operator_pb2.DeclineResponse()

    def Leakage(self, request: operator_pb2.LeakageRequest, context: Any) -> operator_pb2.LeakageResponse:  # noqa: N802
        project = self._known(request.project)
        found = self._step_context.state.leakage(project.name, project.specification_digest)
        if found is None:
            what = "the service has not measured what Carole could learn under this specification"
            remedy = "it does so before it contributes, where the specification refuses above a limit; measure it"
            remedy += f" yourself with {self._command('leakage')}"
            raise GemelError(ErrorCode.NOT_FOUND, what, where=f"project {project.name}", remedy=remedy)
        return operator_pb2.LeakageResponse(json=found.report, reason=found.reason)

    def Override(self, request: operator_pb2.OverrideRequest, context: Any) -> operator_pb2.OverrideResponse:  # noqa: N802
        project = self._known(request.project)
        override(self._step_context, project.name, request.reason)
        self._step_context.state.update(project.name, blocking_error="")
        self._decided(project.name)
        return operator_pb2.OverrideResponse()

    def FetchAlone(self, request: operator_pb2.FetchAloneRequest, context: Any) -> operator_pb2.FetchAloneResponse:  # noqa: N802
        project = self._known(request.project)
        decide_alone(self._step_context, project, request.reason)
        self._decided(project.name)
        return operator_pb2.FetchAloneResponse()

    def ListCheckpoints(  # noqa: N802
        self, request: operator_pb2.ListCheckpointsRequest, context: Any
    ) -> operator_pb2.ListCheckpointsResponse:
        if request.minimum > LARGEST:
            return operator_pb2.ListCheckpointsResponse()
        state = self._step_context.state
        if request.lost:
            # As many as were verified before the restorations; they are sent at once.
            found = state.all_lost()[:MAX_CHECKPOINTS] if request.minimum == 0 else []
        else:
            found = state.seen(request.minimum, MAX_CHECKPOINTS)
        return operator_pb2.ListCheckpointsResponse(checkpoints=[checkpoint_to_wire(each) for each in found])

    def ShowRestored(  # noqa: N802
        self, request: operator_pb2.ShowRestoredRequest, context: Any
    ) -> operator_pb2.ShowRestoredResponse:
        restored, lines = shown(self._step_context, self._known(request.project))
        return operator_pb2.ShowRestoredResponse(restoration=restored.restoration, lines=lines)

    def DecideRestored(  # noqa: N802
        self, request: operator_pb2.DecideRestoredRequest, context: Any
    ) -> operator_pb2.DecideRestoredResponse:
        project = self._known(request.project)
        reason = request.reason[:1000]
        status = decide_restored(self._step_context, project, request.restoration, accept=request.accept, reason=reason)
        self._decided(project.name)
        return operator_pb2.DecideRestoredResponse(awaits=status.restore_awaits)

    def Stop(self, request: operator_pb2.StopRequest, context: Any) -> operator_pb2.StopResponse:  # noqa: N802
        """Stop the service, once this response is on its way."""
        threading.Timer(0.1, self._stop).start()
        return operator_pb2.StopResponse()

    def _shown(self, project: Project) -> operator_pb2.CustodianProject:
        doing = self._step_context.progress.doing.get(project.name)
        waits = waits_for_operator(project, self._step_context.configuration.policy)
        blocking_error = project.blocking_error
        if project.decision == "declined" and project.decided_digest == project.specification_digest:
            blocking_error = f"declined by the operator: {project.reason}"
        return operator_pb2.CustodianProject(
            project=project.name,
            state=cast(project_pb2.ProjectState, project.carole_state),
            stage=doing.stage if doing else project.stage,
            fraction=doing.fraction if doing else 0.0,
            blocking_error=blocking_error,
            specification_digest=project.specification_digest,
            rows=project.rows,
            links=project.links,
            results=project.results,
            mode=project.mode,
            waits_for_operator=waits,
            epoch=project.epoch,
            decisions=open_decisions(self._step_context, project),
            upload_bytes=self._upload_bytes(project),
        )

    def _upload_bytes(self, project: Project) -> int:
        if project.carole_state <= project_pb2.PROJECT_STATE_APPROVED:
            return 0
        upload = self._step_context.state.uploads.newest(project.name)
        return 0 if upload is None else upload.total_bytes

    def _known(self, name: str) -> Project:
        project = self._step_context.state.project(name)
        if project is None:
            what = "this custodian does not know this project"
            remedy = f"see {self._command('status')} for those it has"
            raise GemelError(ErrorCode.NOT_FOUND, what, where=f"project {name[:64]}", remedy=remedy)
        return project

    def _with_specification(self, name: str) -> Project:
        project = self._known(name)
        if not project.specification:
            what = "Carole has not sent this project's specification yet"
            raise _wrong_state(project, what, "wait until the service is connected to her")
        return project

    def _decidable(self, name: str, digest: bytes) -> Project:
        project = self._with_specification(name)
        if digest != project.specification_digest:
            what = "the decision is about another specification than the one that waits for approval"
            got = digest.hex()[:16]
            remedy = f"read it again: {self._command(f'specification {project.name}')}"
            raise GemelError(ErrorCode.SPECIFICATION, what, where=f"project {project.name}", got=got, remedy=remedy)
        if not is_decidable(project):
            raise _wrong_state(project, "the project does not wait for a decision", "nothing needs to be done")
        return project

    def _command(self, command: str) -> str:
        return f"`gemel {self._step_context.party.name} {command}`"


def _wrong_state(project: Project, what: str, remedy: str, got: str = "") -> GemelError:
    return GemelError(ErrorCode.WRONG_STATE, what, where=f"project {project.name}", got=got, remedy=remedy)


def start_operator(
    step_context: StepContext, service: OperatorService, trust: Trust, recorder: CallRecorder
) -> tuple[RunningServer, str]:
    """Listen on the configured address; the server, and that with its real port; CONFIGURATION if not loopback."""
    configured = step_context.configuration.operator.address
    if not _LOOPBACK.fullmatch(configured):
        # The configuration has checked it; a second look, because listening elsewhere would be a breach.
        what = "the operator's address must be a loopback address"
        raise GemelError(ErrorCode.CONFIGURATION, what, where="operator.address")
    services, settings = [(operator_pb2_grpc.add_OperatorServicer_to_server, service)], ServerSettings(threads=4)
    server = start_server(configured, services, trust, settings, own_operator=True, recorder=recorder)
    address = f"{configured.rpartition(':')[0]}:{server.port}"
    announce(step_context.state.folder, address)
    return server, address
