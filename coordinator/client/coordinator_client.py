"""The coordinator's side of the wire: every command is a few of these calls."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gemel.common.audit.reason import normalized_reason
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, SigningPurpose
from gemel.common.progress import Progress
from gemel.common.rpc.client import Connection
from gemel.common.rpc.pages import every_page
from gemel.common.rpc.status import passes
from gemel.common.rpc.transfer import Fetch
from gemel.coordinator.client.released_runs import ReleasedRuns
from gemel.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, project_pb2

if TYPE_CHECKING:
    from gemel.common.pki.reader import Reader
    from gemel.coordinator.client.risk_reports import Report

WATCH_SECONDS = 60.0
"""How long one WatchRun stream may last; then it is simply opened again."""

WATCH_PAUSE_SECONDS = 0.2

MAX_STATISTICS_BYTES = 64 << 20

ENDED = (project_pb2.RUN_STATE_DONE, project_pb2.RUN_STATE_FAILED)


class Coordinator:
    """Drives projects at Carole.

    Parameters
    ----------
    connection
        A channel to Carole with the coordinator's certificate.
    identity
        The Ed25519 identity that signs the coordinator's approvals.
    resolver
        What opens handles in mode block_keyed; None where no run is to be resolved here.
    released
        Verifies and keeps which runs are released; None where nothing outlives the process.
    """

    def __init__(
        self,
        connection: Connection,
        identity: Identity,
        resolver: Reader | None = None,
        released: ReleasedRuns | None = None,
    ) -> None:
        self._released = released
        self.certificates: list[project_pb2.EndingCertificate] = []
        """Members' certificates that end soon, by the last answer about projects."""
        self._connection = connection
        self._identity = identity
        self._resolver = resolver
        self._stub = connection.stub(coordination_pb2_grpc.CoordinationStub)

    def create(self, specification: str) -> project_pb2.ProjectStatus:
        """Create the project that a specification describes."""
        request = coordination_pb2.CreateProjectRequest(specification=specification)
        status: project_pb2.ProjectStatus = self._connection.call(self._stub.CreateProject, request, attempts=3).status
        return status

    def approve(self, project: str, digest: bytes, epoch: int = 1) -> project_pb2.ProjectStatus:
        """Sign the specification with `digest` on the coordinator's behalf, for an epoch of the project."""
        request = coordination_pb2.ApproveProjectRequest(
            project=project,
            specification_digest=digest,
            signature=self._identity.sign(SigningPurpose.APPROVAL, *approval_parts(project, digest, epoch)),
            epoch=epoch,
        )
        status: project_pb2.ProjectStatus = self._connection.call(self._stub.ApproveProject, request, attempts=3).status
        return status

    def amend(self, specification: str) -> project_pb2.ProjectStatus:
        """Put another specification with the same encoding in the place of a project's."""
        request = coordination_pb2.AmendProjectRequest(specification=specification)
        status: project_pb2.ProjectStatus = self._connection.call(self._stub.AmendProject, request, attempts=3).status
        return status

    def open_epoch(self, project: str, epoch: int, encoding_digest: bytes, reason: str) -> project_pb2.ProjectStatus:
        """Open the project's next epoch, signed."""
        text = normalized_reason(reason)
        request = coordination_pb2.NewEpochRequest(
            project=project,
            epoch=epoch,
            reason=text,
            signature=sign_new_epoch(self._identity, project, encoding_digest, epoch, text),
        )
        status: project_pb2.ProjectStatus = self._connection.call(self._stub.NewEpoch, request, attempts=3).status
        return status

    def get(self, project: str) -> tuple[project_pb2.ProjectStatus, str]:
        """A project's status and its specification."""
        response = self._connection.call(
            self._stub.GetProject, coordination_pb2.GetProjectRequest(project=project), attempts=3
        )
        self._note([response.status])
        self.certificates = list(response.certificates)
        return response.status, response.specification

    def projects(self) -> list[project_pb2.ProjectStatus]:
        """Every project, oldest first."""

        def request(after: str) -> coordination_pb2.ListProjectsResponse:
            requested = coordination_pb2.ListProjectsRequest(after=after)
            response: coordination_pb2.ListProjectsResponse = self._connection.call(
                self._stub.ListProjects, requested, attempts=3
            )
            return response

        found: list[project_pb2.ProjectStatus] = []
        for response in every_page(request, "list of projects"):
            self._note(response.projects)
            self.certificates = list(response.certificates)
            found += response.projects
        return found[::-1]

    @property
    def shared_request(self) -> str:
        """As `Connection.shared_request`."""
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
        from gemel.coordinator.resolver.resolver import resolve

        if self._resolver is None:
            raise GemelError(
                ErrorCode.CONFIGURATION,
                "the run waits for a resolver, and this process has no key to open the custodians' handles with",
                where=f"project {project}, run {run}",
                remedy=f"gemel project watch {project}, with the coordinator's configuration",
            )
        resolve(self._connection, self._stub, self._resolver, self._identity, project, run, progress)

    def statistics(self, project: str, run: str) -> StatisticsDocument:
        """The model and the aggregate statistics of a released run."""

        def request(index: int) -> coordination_pb2.GetStatisticsRequest:
            return coordination_pb2.GetStatisticsRequest(project=project, run=run, index=index)

        fetch = Fetch(self._connection, self._stub.GetStatistics, request, project, MAX_STATISTICS_BYTES)
        text = fetch.whole()
        if self._released is not None:
            self._released.note_fetched(project, run, fetch.root)
        return StatisticsDocument.read(bytes(text), "statistics")

    def _note(self, statuses: Iterable[project_pb2.ProjectStatus]) -> None:
        if self._released is not None:
            self._released.note(statuses)

    def report(self, project: str, run: str) -> Report:
        """The report on a run's disclosure risk, as the steward judges by it.

        Raises
        ------
        GemelError
            NOT_FOUND if the run was not assessed; UPLOAD_CORRUPT if what arrived does not have its digest.
        """
        from gemel.coordinator.client.risk_reports import fetch_report

        return fetch_report(self._connection, project, run)

    def erase(self, project: str) -> project_pb2.ProjectStatus:
        """Destroy the keys of everything uploaded to a project. Cannot be undone."""
        request = coordination_pb2.EraseProjectRequest(project=project)
        status: project_pb2.ProjectStatus = self._connection.call(self._stub.EraseProject, request, attempts=3).status
        return status
