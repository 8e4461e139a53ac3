"""The steward's side of the wire: reports, decisions, and an audit log that is verified entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gemel.common.audit import AuditEntry, Checkpoint
from gemel.common.audit.statements import StewardDecision, normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity
from gemel.common.parties import Role
from gemel.common.rpc.client import Connection
from gemel.common.wire.checkpoints import checkpoint_from_wire
from gemel.common.witnessing.shown_entry import believed_entry
from gemel.coordinator.client.connection import client
from gemel.coordinator.client.coordinator_client import Caller, ReleasedRuns
from gemel.protos.linkage.v1 import audit_pb2, project_pb2, stewardship_pb2, stewardship_pb2_grpc


class Steward(Caller):
    """Reads and decides at Carole."""

    def __init__(
        self, connection: Connection, identity: Identity, linker: PublicIdentity, released: ReleasedRuns | None = None
    ) -> None:
        super().__init__(connection, identity, released)
        self._linker = linker
        self._stub = connection.stub(stewardship_pb2_grpc.StewardshipStub)

    def assessed(self) -> list[project_pb2.ProjectStatus]:
        """Every project whose result has been judged, oldest first."""
        return self._projects(self._stub.ListAssessed, stewardship_pb2.ListAssessedRequest, "list of results")

    def judged(self, project: str, remedy: str) -> project_pb2.ProjectStatus:
        """A project whose result has been judged; NOT_FOUND, with the remedy, for any other."""
        for status in self.assessed():
            if status.project == project:
                return status
        what = "no result of this project has been judged"
        raise GemelError(ErrorCode.NOT_FOUND, what, where=project, remedy=remedy)

    def decide(self, project: str, run: str, report: bytes, *, release: bool, reason: str) -> project_pb2.ProjectStatus:
        """Release a held result against the policy, or refuse it; `report` is the digest of what was read."""
        text = normalized_reason(reason)
        request = stewardship_pb2.DecideRequest(
            project=project,
            run=run,
            release=release,
            reason=text,
            signature=StewardDecision(project, run, report, release, text).sign(self._identity),
        )
        status: project_pb2.ProjectStatus = self._connection.call(self._stub.Decide, request).status
        self._note([status])
        return status

    def entries(self, project: str = "", after: int = 0) -> Iterator[AuditEntry]:
        """The audit log, each entry verified to be in the log that Carole has signed; of one project if it is named,
        and those behind entry `after`.
        """
        while True:
            request = stewardship_pb2.ListEntriesRequest(project=project, after=after)
            response = self._connection.call(self._stub.ListEntries, request, attempts=3)
            shown = checkpoint_from_wire(response.checkpoint)
            shown.verify(self._linker)
            if not response.entries:
                return
            for reported in response.entries:
                yield _believed(reported, shown, after)
                after = reported.sequence


def _believed(reported: audit_pb2.AuditEntry, shown: Checkpoint, after: int) -> AuditEntry:
    entry = believed_entry(reported, shown)
    if entry.sequence <= after:
        raise GemelError(
            ErrorCode.AUDIT,
            "Carole shows entries of her audit log out of their order",
            where=f"audit log, entry {entry.sequence}",
            got=f"after entry {after}",
            remedy="keep what she has shown, and ask Carole's operator",
        )
    return entry


@contextmanager
def connect_steward(config: Path, *, dry_run: bool = False) -> Iterator[Steward]:
    """A steward connected to the Carole of its configuration, ``steward.yaml``; parameters and errors as `client`."""
    with client(config, Role.STEWARD, dry_run=dry_run) as found:
        yield Steward(found.connection, found.identity, found.linker, found.released)
