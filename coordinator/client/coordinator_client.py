"""The coordinator's side of the wire: every command is a few of these calls."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gemel.common.audit.statements import normalized_reason
from gemel.common.documents.assessment_document import AssessmentDocument
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, SigningPurpose
from gemel.common.progress import Progress
from gemel.common.rpc.client import Connection
from gemel.common.rpc.pages import every_page
from gemel.common.rpc.status import passes
from gemel.common.rpc.transfer import Fetch
from gemel.common.witnessing.log_reader import LogReader
from gemel.coordinator.client.log_memory import FileMemory
from gemel.protos.linkage.v1 import (
    coordination_pb2,
    coordination_pb2_grpc,
    project_pb2,
    stewardship_pb2,
    stewardship_pb2_grpc,
)

if TYPE_CHECKING:
    from gemel.common.pki.reader import Reader

WATCH_SECONDS = 60.0
"""How long one WatchRun stream may last; then it is simply opened again."""
WATCH_PAUSE_SECONDS = 0.2

MAX_STATISTICS_BYTES = MAX_REPORT_BYTES = 64 << 20

ENDED = (project_pb2.RUN_STATE_DONE, project_pb2.RUN_STATE_FAILED)


@dataclass(frozen=True)
class Report:
    """A report on disclosure risk, as Carole has it."""

    text: bytes

    @property
    def sha256(self) -> bytes:
        return hashlib.sha256(self.text).digest()

    @property
    def document(self) -> dict[str, Any]:
        return AssessmentDocument.read(self.text, "assessment", MAX_REPORT_BYTES).plain()


@dataclass(frozen=True)
class ReleasedRuns:
    """What a party keeps of released runs."""

    memory: FileMemory
    log: LogReader

    def note(self, statuses: Iterable[project_pb2.ProjectStatus]) -> None:
        """Keep the released runs among these; in the state RELEASED the newest run is the released one.

        A run that is not known yet is verified first, by a call each: nothing is shown as released that is not so in
        the log.
        """
        for status in statuses:
            if status.state != project_pb2.PROJECT_STATE_RELEASED or not status.run.run:
                continue
            if status.run.run not in self.memory.released(status.project):
                self.log.check_release(status.project, status.run.run)
                self.memory.note_released(status.project, status.run.run)


def listed(connection: Connection, method: Any, request: Callable[..., Any], what: str) -> Iterator[Any]:
    return every_page(lambda after: connection.call(method, request(after=after), attempts=3), what)


def changed(connection: Connection, method: Any, request: Any) -> project_pb2.ProjectStatus:
    """The project's status after a call that changes it."""
    status: project_pb2.ProjectStatus = connection.call(method, request, attempts=3).status
    return status


class Caller:
    """What a coordinator and a steward request alike: lists of projects, and reports on disclosure risk."""

    def __init__(self, connection: Connection, identity: Identity, released: ReleasedRuns | None) -> None:
        self._connection, self._identity, self._released = connection, identity, released
        self.certificates: list[project_pb2.EndingCertificate] = []
        """Members' certificates that end soon, by the last answer about projects."""

    def report(self, project: str, run: str) -> Report:
        """The report on a run's disclosure risk."""
        stub = self._connection.stub(stewardship_pb2_grpc.StewardshipStub)

        def request(index: int) -> stewardship_pb2.GetReportRequest:
            return stewardship_pb2.GetReportRequest(project=project, run=run, index=index)

        return Report(
            Fetch(self._connection, stub.GetReport, request, f"report of {project}", MAX_REPORT_BYTES).whole()
        )

    def _projects(self, method: Any, request: Callable[..., Any], what: str) -> list[project_pb2.ProjectStatus]:
        """All projects of a list, oldest first."""
        projects: list[project_pb2.ProjectStatus] = []
        for response in listed(self._connection, method, request, what):
            self._note(response.projects)
            self.certificates = list(response.certificates)
            projects += response.projects
        return projects[::-1]

    def _note(self, statuses: Iterable[project_pb2.ProjectStatus]) -> None:
        if self._released is not None:
            self._released.note(statuses)


class Coordinator(Caller):
    """Drives projects at Carole.

    `identity` signs approvals; `resolver` opens handles in mode block_keyed, where runs are resolved here; `released`
    verifies and keeps which runs are released, where something outlives the process.
    """

    def __init__(
        self,
        connection: Connection,
        identity: Identity,
        resolver: Reader | None = None,
        released: ReleasedRuns | None = None,
    ) -> None:
        super().__init__(connection, identity, released)
        self._resolver = resolver
        self._stub = connection.stub(coordination_pb2_grpc.CoordinationStub)

    def create(self, specification: str) -> project_pb2.ProjectStatus:
        request = coordination_pb2.CreateProjectRequest(specification=specification)
        return changed(self._connection, self._stub.CreateProject, request)

    def approve(self, project: str, digest: bytes, epoch: int = 1) -> project_pb2.ProjectStatus:
        """Sign the specification with `digest` on the coordinator's behalf, for an epoch of the project."""
        request = coordination_pb2.ApproveProjectRequest(
            project=project,
            specification_digest=digest,
            signature=self._identity.sign(SigningPurpose.APPROVAL, *approval_parts(project, digest, epoch)),
            epoch=epoch,
        )
        return changed(self._connection, self._stub.ApproveProject, request)

    def amend(self, specification: str) -> project_pb2.ProjectStatus:
        """Put another specification with the same encoding in the place of a project's."""
        request = coordination_pb2.AmendProjectRequest(specification=specification)
        return changed(self._connection, self._stub.AmendProject, request)

    def open_epoch(self, project: str, epoch: int, encoding_digest: bytes, reason: str) -> project_pb2.ProjectStatus:
        text = normalized_reason(reason)
        request = coordination_pb2.NewEpochRequest(
            project=project,
            epoch=epoch,
            reason=text,
            signature=sign_new_epoch(self._identity, project, encoding_digest, epoch, text),
        )
        return changed(self._connection, self._stub.NewEpoch, request)

    def get(self, project: str) -> tuple[project_pb2.ProjectStatus, str]:
        response = self._connection.call(
            self._stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=3
        )
        self._note([response.status])
        self.certificates = list(response.certificates)
        return response.status, response.specification

    def projects(self) -> list[project_pb2.ProjectStatus]:
        return self._projects(self._stub.ListProjects, coordination_pb2.ListProjectsRequest, "list of projects")

    @property
    def shared_request(self) -> str:
        return self._connection.shared_request

    def start(self, project: str) -> project_pb2.RunStatus:
        """Request a run; it continues at Carole whatever happens to this connection."""
        request = coordination_pb2.StartRunRequest(project=project, request=secrets.token_hex(16))
        run: project_pb2.RunStatus = self._connection.call(self._stub.StartRun, request, attempts=3).run
        return run

    def watch(self, project: str, run: str) -> Iterator[project_pb2.RunStatus]:
        """Progress until the run has ended; a stream that breaks is opened again."""
        request = coordination_pb2.WatchRunRequest(project=project, run=run)
        while True:
            try:
                for status in self._connection.watch(self._stub.WatchRun, request, deadline=WATCH_SECONDS):
                    yield status
                    if status.state in ENDED:
                        return
            except GemelError as error:
                if not passes(error.code):
                    raise
            # The stream's deadline came, or Carole is away or has too many watchers: this call shows which.
            time.sleep(WATCH_PAUSE_SECONDS)
            status = self._connection.call(
                self._stub.GetRun, coordination_pb2.GetRunRequest(project=project, run=run), attempts=5
            ).run
            yield status
            if status.state in ENDED:
                return

    def resolve(self, project: str, run: str, progress: Progress) -> None:
        """Resolve the records of a run of mode block_keyed that waits for it; see `resolution`."""
        from gemel.coordinator.client.resolver import resolve

        if self._resolver is None:
            what = "the run waits for a resolver, and this process has no key to open the custodians' handles with"
            remedy = f"gemel project watch {project}, with the coordinator's configuration"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=f"project {project}, run {run}", remedy=remedy)
        resolve(self._connection, self._stub, self._resolver, self._identity, project, run, progress)

    def statistics(self, project: str, run: str) -> StatisticsDocument:
        """The model and the aggregate statistics of a released run."""

        def request(index: int) -> coordination_pb2.GetStatisticsRequest:
            return coordination_pb2.GetStatisticsRequest(project=project, run=run, index=index)

        fetch = Fetch(self._connection, self._stub.GetStatistics, request, project, MAX_STATISTICS_BYTES)
        text = fetch.whole()
        if self._released is not None:
            self._released.memory.note_released(project, run, fetch.root)
        return StatisticsDocument.read(bytes(text), "statistics")

    def erase(self, project: str) -> project_pb2.ProjectStatus:
        """Destroy the keys of everything uploaded to a project. Cannot be undone."""
        request = coordination_pb2.EraseProjectRequest(project=project)
        return changed(self._connection, self._stub.EraseProject, request)
