"""What a project waits for, and for whom, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tryst.common.message_words import listed
from tryst.coordinator.client.run_progress import RESOLVE, STAGE_WORDS
from tryst.protos.linkage.v1 import project_pb2

S = project_pb2.ProjectState
R = project_pb2.RunState
NAMES = {project_pb2.SIDE_ALICE: "Alice", project_pb2.SIDE_BOB: "Bob"}
CAROLE = "Carole"
_HANDLES = ("handles", "handles-for-carole")


@dataclass(frozen=True)
class Wait:
    """One thing that is awaited.

    Attributes
    ----------
    who
        For whom the project waits.
    what
        What that party has to do.
    """

    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.who}: {self.what}"


def waits(status: project_pb2.ProjectStatus) -> list[Wait]:
    """What a project waits for; empty where nothing is to happen any more.

    A project whose log was restored waits for the decisions on that first.
    """
    if status.restore_awaits:
        return [Wait(name, "accept or refuse Carole's restored audit log") for name in status.restore_awaits]
    return list(_BY_STATE.get(status.state, _nothing)(status))


def owner_of(status: project_pb2.ProjectStatus) -> str:
    """The coordinator that a project belongs to, by name."""
    return status.owner or "the coordinator"


def has_approved(status: project_pb2.ProjectStatus, member: str) -> bool:
    """Whether a coordinator has approved the present specification."""
    return any(each.member == member for each in status.approvals)


def _nothing(_: project_pb2.ProjectStatus) -> Iterator[Wait]:
    yield from ()


def _draft(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    if not has_approved(status, status.owner):
        yield Wait(owner_of(status), "approve the specification")
    for side in status.sides:
        if side.declined and not side.approved:
            yield Wait(
                NAMES[side.side],
                "approve after all what was declined; or the coordinator amends the specification",
            )
        elif not side.approved:
            yield Wait(NAMES[side.side], "approve or decline the specification")


def _approved(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    for side in status.sides:
        if not side.keyed:
            yield Wait(NAMES[side.side], "agree on a seed with the other custodian; its service does so by itself")


def _keyed(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    received = {each.side: each for each in status.contributions}
    for side in status.sides:
        if side.contributed:
            continue
        found = received.get(side.side)
        part = ""
        if found is not None and found.bytes_expected:
            part = f"; {found.bytes_received / found.bytes_expected:.0%} has arrived"
        yield Wait(NAMES[side.side], f"read, sign and send its records{part}")


def _contributed(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    run = status.run
    if not run.run:
        yield Wait(owner_of(status), "start a run")
    elif run.state == R.RUN_STATE_FAILED:
        yield Wait(owner_of(status), "start another run, once the cause of the failure is removed")
    elif run.state == R.RUN_STATE_QUEUED:
        yield Wait(CAROLE, "begin the run, which is in her queue")
    elif run.state == R.RUN_STATE_RESOLVING and run.stage == RESOLVE:
        yield Wait(owner_of(status), "resolve the records of the run")
    elif run.state == R.RUN_STATE_RESOLVING and run.stage in _HANDLES:
        yield Wait("Alice and Bob", STAGE_WORDS[run.stage])
    else:
        yield Wait(CAROLE, STAGE_WORDS.get(run.stage, "link"))


def _run(_: project_pb2.ProjectStatus) -> Iterator[Wait]:
    yield Wait(CAROLE, "assess the result, or release it")


def _refused(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    yield Wait(owner_of(status), "amend the specification, since the result was refused; or erase the project")


def _held(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    missing = max(status.signatures, 1) - len(status.signed)
    signers = listed(list(status.signers), "or") if status.signers else "a steward"
    if max(status.signatures, 1) == 1:
        yield Wait(signers, "read the report on disclosure risk, and release the held result or refuse it")
    else:
        more = "one more signature" if missing == 1 else f"{missing} more signatures"
        signed = f"; {listed(list(status.signed))} has signed" if status.signed else ""
        yield Wait(signers, f"decide on the held result: its release needs {more}{signed}")


def _released(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    for side in status.sides:
        if not side.result_acknowledged:
            yield Wait(NAMES[side.side], "fetch its share of the result; its service does so by itself")


_BY_STATE = {
    S.PROJECT_STATE_DRAFT: _draft,
    S.PROJECT_STATE_APPROVED: _approved,
    S.PROJECT_STATE_KEYED: _keyed,
    S.PROJECT_STATE_CONTRIBUTED: _contributed,
    S.PROJECT_STATE_RUN: _run,
    S.PROJECT_STATE_ASSESSED: _refused,
    S.PROJECT_STATE_HELD: _held,
    S.PROJECT_STATE_RELEASED: _released,
}
