"""Projects, runs and agreement messages as messages of the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from gemel.carole.projects.operations.outcome import Detail
from gemel.carole.projects.project import Project, Run, State
from gemel.carole.projects.restoration import awaited, name_of
from gemel.carole.projects.tasks import blocking_error, is_over
from gemel.carole.service.context import Conditions, Reported
from gemel.carole.store import Store
from gemel.carole.store.registry import FormerProjects
from gemel.common.audit import AuditEntry
from gemel.common.audit.statements import MAX_REASON
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.check import PART_BYTES, canary_part_names
from gemel.common.parties import Side
from gemel.common.rpc.pages import size_of
from gemel.common.specification import Specification
from gemel.common.wire.parties import side_to_wire
from gemel.protos.linkage.v1 import audit_pb2, contribution_pb2, custody_pb2, project_pb2

_LONGEST_ERROR = 2000


def approvals_to_wire(project: Project) -> list[project_pb2.Approval]:
    return [
        project_pb2.Approval(
            member=approval.member,
            specification_digest=approval.digest,
            signature=approval.signature,
            at_unix_ms=approval.at,
        )
        for approval in project.approvals.values()
    ]


def status_to_wire(
    project: Project,
    conditions: Conditions | None = None,
    stewards: Iterable[str] = (),
    former: FormerProjects | None = None,
    *,
    judges: bool = False,
) -> project_pb2.ProjectStatus:
    """The state of a project, without record-level data; for its owner, with what the custodians report."""
    run = project.newest_run
    signed = [one.member for one in project.release_signatures]
    return project_pb2.ProjectStatus(
        project=project.name,
        state=project_pb2.ProjectState.Name(int(project.state)),
        specification_digest=project.specification_digest,
        encoding_digest=project.encoding_digest,
        epoch=project.epoch,
        approvals=approvals_to_wire(project),
        contributions=[
            project_pb2.ContributionStatus(
                side=side_to_wire(side),
                rows=upload.rows,
                bytes_expected=upload.total_bytes,
                bytes_received=upload.received_bytes,
                committed=upload.committed,
            )
            for side, upload in sorted(project.uploads.items())
            if not upload.expired
        ],
        blocking_error=blocking_error(project),
        transfers=[
            project_pb2.GrantedTransfer(
                sender=side_to_wire(transfer.sender),
                recipient=transfer.to,
                sent=transfer in project.sent,
                received=transfer in project.received,
            )
            for transfer in project.transfers
        ],
        restore_awaits=[name_of(role) for role in awaited(project)],
        owner=project.owner,
        successor="" if project.hand_over is None else project.hand_over.statement.successor,
        signatures=project.signatures,
        signed=signed,
        signers=[name for name in stewards if project.state is State.HELD and name not in signed],
        former_projects=0 if former is None else former.projects,
        former_links=0 if former is None else former.links,
        run=None if run is None else run_to_wire(run, judges=judges),
        sides=[_side_to_wire(project, side, conditions) for side in Side],
    )


def entry_to_wire(entry: AuditEntry, included: Iterable[bytes]) -> audit_pb2.AuditEntry:
    return audit_pb2.AuditEntry(
        sequence=entry.sequence,
        at_unix_ms=entry.at,
        project=entry.project,
        actor=entry.actor,
        action=entry.action,
        details=entry.text,
        salt=entry.salt,
        included=included,
    )


def leakage_details(request: contribution_pb2.BeginUploadRequest) -> dict[str, Detail]:
    """The leakage that a custodian measured before it contributed, for the audit log; empty where it measured none."""
    if not request.HasField("leakage"):
        return {}
    stated = request.leakage
    if not (0.0 <= stated.worst <= 1.0 and 0.0 <= stated.limit <= 1.0):
        raise parameter("leakage", "shares are from 0 to 1", "others")
    if stated.overridden and not 0 < len(stated.reason.strip()) <= MAX_REASON:
        what = f"an override has a reason of up to {MAX_REASON} characters"
        raise parameter("leakage", what, f"{len(stated.reason)} characters")
    details: dict[str, Detail] = {"leakage": round(stated.worst, 4), "leakage_limit": round(stated.limit, 4)}
    if stated.overridden:
        details |= {"leakage_override": stated.reason.strip()}
    return details


def canary_parts(request: custody_pb2.ReportKeysRequest, spec: Specification) -> dict[str, bytes]:
    """The digests of the canary's parts by name: in the wire's order, and by names that Carole herself gives."""
    names, found = canary_part_names(field.name for field in spec.fields), list(request.canary_parts)
    if len(found) != len(names) or any(len(part) != PART_BYTES for part in found):
        what = f"a canary of this specification has {len(names)} parts of {PART_BYTES} bytes"
        raise parameter("report", what, f"{len(found)} parts")
    return dict(zip(names, found, strict=True))


def new_epoch_to_wire(project: Project) -> project_pb2.NewEpoch | None:
    """What has opened the project's epoch; None of the first."""
    new = project.new_epoch
    if new is None:
        return None
    return project_pb2.NewEpoch(
        epoch=new.epoch, member=new.member, reason=new.reason, signature=new.signature, at_unix_ms=new.at
    )


def run_to_wire(run: Run, *, judges: bool) -> project_pb2.RunStatus:
    """The state of a run; before its release the number of its links is for the project's owner and stewards."""
    shown = judges or run.released
    return project_pb2.RunStatus(
        run=run.run,
        state=project_pb2.RunState.Name(int(run.state)),
        stage=run.stage,
        fraction=run.fraction,
        error=run.error[:_LONGEST_ERROR],
        links=run.links if shown else 0,
        links_withheld=not shown,
        attempt=run.attempt,
    )


def messages_to_wire(project: Project) -> list[custody_pb2.AgreementMessage]:
    return [
        custody_pb2.AgreementMessage(
            kind=custody_pb2.AgreementMessageKind.Name(int(kind)), sender=side_to_wire(sender), payload=payload
        )
        for (sender, kind), payload in sorted(project.messages.items())
    ]


def _side_to_wire(project: Project, side: Side, conditions: Conditions | None) -> project_pb2.SideStatus:
    reported = Reported() if conditions is None else conditions.of(side, project.name)
    declined = project.declines.get(side)
    return project_pb2.SideStatus(
        side=side_to_wire(side),
        approved=side.role in project.approvals,
        keyed=side in project.reports,
        contributed=project.contributed(side),
        result_acknowledged=side in project.acknowledged,
        condition=project_pb2.CustodianCondition.Name(reported.condition),
        condition_since_unix_ms=reported.since,
        last_poll_unix_ms=reported.last_poll,
        declined=declined is not None,
        decline_reason="" if declined is None or conditions is None else declined.reason,
    )


# Which projects' states a custodian is shown with its next task: what goes on, and what has changed since.

ANSWER_BYTES = 256 << 10

_MAX_CHANGED = 5000
"""Read from the log for one answer: more than an answer has place for."""


def next_task_response(store: Store, side: Side, since: custody_pb2.StatusPosition) -> custody_pb2.NextTaskResponse:
    """An answer without a task, with the states of projects to show to a custodian.

    Projects that go on have three quarters of the answer, and take turns where that is too little. O(projects), and
    O(entries of the log after `since`).
    """
    # The log first: what is read of a project after it is never older than the entry that is named.
    start = store.audit.confirmed(since.entry, since.leaf)
    changed, newest = store.audit.changed(start, _MAX_CHANGED)
    projects = store.projects.all()
    room = _Room(ANSWER_BYTES)
    going_on = [project for project in projects if not is_over(project, side)]
    at = next((place for place, project in enumerate(projects) if project.name == since.open), -1)
    later = {project.name for project in projects[at + 1 :]}
    in_turn = sorted(going_on, key=lambda project: project.name not in later)
    shown = [project.name for project in takewhile(lambda project: room.take(project, 3 / 4), in_turn)]
    last = shown[-1] if len(shown) < len(in_turn) else ""
    by_name = {project.name: project for project in projects}
    reached, more = start, False
    for place, (name, entry) in enumerate(changed):
        # The first is always taken: else one that is larger than its part of an answer would never be passed.
        if name in by_name and not room.take(by_name[name], always=place == 0):
            more = True
            break
        reached = entry
    else:
        more = len(changed) == _MAX_CHANGED
        reached = reached if more else newest
    position = custody_pb2.StatusPosition(entry=reached, leaf=store.audit.leaf(reached), open=last)
    return custody_pb2.NextTaskResponse(
        kind=custody_pb2.TASK_KIND_IDLE, projects=room.found.values(), position=position, more=more
    )


class _Room:
    """The states in an answer, as many as have place."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._size = 0
        self.found: dict[str, project_pb2.ProjectStatus] = {}

    def take(self, project: Project, share: float = 1.0, *, always: bool = False) -> bool:
        """Take a project in, if it is not there yet; False where a share of the answer has no place for it.

        There is place for the first of all, however large.
        """
        if project.name in self.found:
            return True
        status = status_to_wire(project)
        size = size_of(status)
        if self.found and not always and self._size + size > share * self._budget:
            return False
        self.found[project.name] = status
        self._size += size
        return True


# Projects in the order in which lists show them, page by page.


def newest_first(projects: Sequence[Project], after: str) -> list[Project]:
    """The projects that were created before one, the newest first; all, if none is named.

    What is created while a caller turns the pages is on none of them, and moves no other project to another page.
    """
    if not after:
        return list(reversed(projects))
    found = [place for place, project in enumerate(projects) if project.name == after]
    if not found:
        what = "the list has changed since its page before"
        remedy = "begin with the first page again"
        raise GemelError(ErrorCode.NOT_FOUND, what, where="after", got="the name of no project", remedy=remedy)
    return list(reversed(projects[: found[0]]))
