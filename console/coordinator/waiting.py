"""What a project waits for, and for whom, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gemel.common.language import clauses, gettext, listed, named, ngettext, written
from gemel.coordinator.client.coordinator_client import Report
from gemel.coordinator.client.risk_reports import verdict_lines
from gemel.coordinator.client.run_progress import DOERS, RESOLVE, STAGE_WORDS
from gemel.coordinator.client.terminal import ABSENT
from gemel.protos.linkage.v1 import project_pb2

S = project_pb2.ProjectState
R = project_pb2.RunState
NAMES = {project_pb2.SIDE_ALICE: "Alice", project_pb2.SIDE_BOB: "Bob"}
CAROLE = "Carole"
_HANDLES = ("handles", "handles-for-carole")


class Wait(NamedTuple):
    who: str
    what: str

    def __str__(self) -> str:
        return named(self.who, self.what)


def waits(status: project_pb2.ProjectStatus) -> list[Wait]:
    """What a project waits for; empty where nothing is to happen any more.

    A project whose log was restored waits for the decisions on that first.
    """
    if status.restore_awaits:
        what = gettext("accept or refuse Carole's restored audit log")
        return [Wait(name, what) for name in status.restore_awaits]
    return list(_awaited(status))


def owner_of(status: project_pb2.ProjectStatus) -> str:
    return status.owner or gettext("the coordinator")


def stage_words(stage: str) -> str:
    """What is done in a stage of a run; the stage's name where a newer Carole has another one."""
    return gettext(STAGE_WORDS[stage]) if stage in STAGE_WORDS else stage


def has_approved(status: project_pb2.ProjectStatus, member: str) -> bool:
    return any(each.member == member for each in status.approvals)


def _draft(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    if not has_approved(status, status.owner):
        yield Wait(owner_of(status), gettext("approve the specification"))
    for side in status.sides:
        if side.declined and not side.approved:
            yield Wait(
                NAMES[side.side],
                gettext("approve after all what was declined; or the coordinator amends the specification"),
            )
        elif not side.approved:
            yield Wait(NAMES[side.side], gettext("approve or decline the specification"))


def _awaited(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    match status.state:
        case S.PROJECT_STATE_DRAFT:
            yield from _draft(status)
        case S.PROJECT_STATE_APPROVED:
            agree = gettext("agree on a seed with the other custodian; its service does so by itself")
            yield from (Wait(NAMES[side.side], agree) for side in status.sides if not side.keyed)
        case S.PROJECT_STATE_KEYED:
            yield from _keyed(status)
        case S.PROJECT_STATE_CONTRIBUTED:
            yield from _contributed(status)
        case S.PROJECT_STATE_RUN:
            yield Wait(CAROLE, gettext("assess the result, or release it"))
        case S.PROJECT_STATE_ASSESSED:
            what = gettext("amend the specification, since the result was refused; or erase the project")
            yield Wait(owner_of(status), what)
        case S.PROJECT_STATE_HELD:
            yield _held(status)
        case S.PROJECT_STATE_RELEASED:
            fetch = gettext("fetch its share of the result; its service does so by itself")
            yield from (Wait(NAMES[side.side], fetch) for side in status.sides if not side.result_acknowledged)


def _keyed(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    received = {each.side: each for each in status.contributions}
    for side in status.sides:
        if side.contributed:
            continue
        found = received.get(side.side)
        parts = [gettext("read, sign and send its records")]
        if found is not None and found.bytes_expected:
            share = written(found.bytes_received / found.bytes_expected, ".0%")
            parts.append(gettext("{share} has arrived").format(share=share))
        yield Wait(NAMES[side.side], clauses(parts))


def _contributed(status: project_pb2.ProjectStatus) -> Iterator[Wait]:
    run = status.run
    if not run.run:
        yield Wait(owner_of(status), gettext("start a run"))
    elif run.state == R.RUN_STATE_FAILED:
        yield Wait(owner_of(status), gettext("start another run, once the cause of the failure is removed"))
    elif run.state == R.RUN_STATE_QUEUED and not run.stage:
        yield Wait(CAROLE, gettext("begin the run, which is in her queue"))
    elif run.state == R.RUN_STATE_RESOLVING and run.stage == RESOLVE:
        yield Wait(owner_of(status), gettext("resolve the records of the run"))
    elif run.stage in ABSENT or (run.state == R.RUN_STATE_RESOLVING and run.stage in _HANDLES):
        yield Wait(gettext(DOERS[run.stage]), stage_words(run.stage))
    else:
        yield Wait(CAROLE, stage_words(run.stage) if run.stage in STAGE_WORDS else gettext("link"))


def _held(status: project_pb2.ProjectStatus) -> Wait:
    signers = _either(status.signers) or gettext("a steward")
    if status.signatures == 1:
        return Wait(signers, gettext("read the report on disclosure risk, and release the held result or refuse it"))
    missing = status.signatures - len(status.signed)
    needs = ngettext(
        "decide on the held result: its release needs one more signature",
        "decide on the held result: its release needs {missing} more signatures",
        missing,
    )
    parts = [needs.format(missing=missing)]
    if status.signed:
        parts.append(gettext("{names} has signed").format(names=listed(list(status.signed))))
    return Wait(signers, clauses(parts))


def _either(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return gettext("{names} or {last}").format(names=", ".join(names[:-1]), last=names[-1])


def risk_shown(report: Report, project: str) -> dict[str, Any]:
    return {
        "verdict": list(verdict_lines(report.document)),
        "within": report.document["verdict"] == "within",
        "sha256": report.sha256.hex(),
        "report_address": f"/projects/{project}/risk.html",
    }
