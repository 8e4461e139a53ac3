"""A custodian's next task, derived from the project's state.

Nothing is queued: a task is a function of the state, so it can neither be lost nor done twice, and a custodian that
was away for a week gets the right task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum

from gemel.carole.projects.operations.consent import key_mismatch
from gemel.carole.projects.project import Grant, MessageKind, Project, RunState, State
from gemel.carole.projects.restoration import no_further_run, standstill
from gemel.common.language.message_words import listed
from gemel.common.parties import Side


class TaskKind(IntEnum):
    """A kind of work, as numbered on the wire."""

    APPROVE = 2
    AGREE = 3
    CONTRIBUTE = 4
    FETCH = 5
    HANDLES = 6
    SEND_VARIABLES = 7
    FETCH_VARIABLES = 8


@dataclass(frozen=True)
class Task:
    """One task of a custodian in one project; `run` is given from FETCH on, `recipient` for SEND_VARIABLES."""

    kind: TaskKind
    project: str
    run: str = ""
    recipient: str = ""


def next_task(project: Project, side: Side) -> Task | None:
    """The next task of the custodian on `side` in this project; None while it can only wait."""
    if standstill(project):
        return None
    match project.state:
        case State.DRAFT if side.role not in project.approvals:
            return Task(TaskKind.APPROVE, project.name)
        case State.APPROVED if _can_agree(project, side):
            return Task(TaskKind.AGREE, project.name)
        case State.KEYED if not project.contributed(side):
            return Task(TaskKind.CONTRIBUTE, project.name)
        case State.CONTRIBUTED if (active := project.active_run) is not None:
            if active.state is RunState.RESOLVING and side not in active.handles_received_from:
                return Task(TaskKind.HANDLES, project.name, active.run)
        case State.RELEASED if side not in project.acknowledged:
            run = project.released_run
            if run is not None and project.grant(side.role) is not Grant.NOTHING:
                return Task(TaskKind.FETCH, project.name, run.run)
        case State.RELEASED if (run := project.released_run) is not None:
            for transfer in project.transfers:
                if transfer.sender is side and transfer not in project.sent:
                    return Task(TaskKind.SEND_VARIABLES, project.name, run.run, transfer.to)
            for transfer in project.transfers:
                if transfer.to == side and transfer in project.sent - project.received:
                    return Task(TaskKind.FETCH_VARIABLES, project.name, run.run)
    return None


def is_over(project: Project, side: Side) -> bool:
    """Whether the custodian has nothing more to do or to wait for in this project, unless another party acts again."""
    if project.state is State.ERASED:
        return True
    if project.state is not State.RELEASED or standstill(project) or next_task(project, side) is not None:
        return False
    return not any(transfer.to == side for transfer in set(project.transfers) - project.received)


def choose(projects: Iterable[Project], side: Side, waiting: Collection[str]) -> Task | None:
    """The first task among several projects, leaving out those in `waiting`.

    A project whose keys do not agree comes last: its task is offered repeatedly until the error is corrected, and must
    not keep the custodian from the others.
    """
    tasks = [
        (key_mismatch(project) is not None, task)
        for project in projects
        if project.name not in waiting and (task := next_task(project, side)) is not None
    ]
    return min(tasks, key=lambda pair: pair[0])[1] if tasks else None


def blocking_error(project: Project) -> str:
    """Why the project cannot continue, in words; empty when it can."""
    if why := standstill(project):
        return why
    if project.state is State.DRAFT and project.declines:
        declined = " and ".join(sorted(project.declines))
        return f"{declined} declined the specification: amend it and let all approve, or erase the project"
    if project.state is State.APPROVED:
        error = key_mismatch(project)
        return "" if error is None else str(error)
    if project.state is State.KEYED:
        expired = [str(side) for side, upload in sorted(project.uploads.items()) if upload.expired]
        if expired:
            return f"the upload of {' and '.join(expired)} expired and was erased; contribute again"
    if project.state is State.ASSESSED:
        return "the result was refused: its disclosure risk is above a limit; the report shows what would lower it"
    if project.state is State.HELD:
        return f"the result waits for {_stewards(project)}: its disclosure risk is above a limit"
    if project.state in (State.DRAFT, State.APPROVED, State.KEYED, State.CONTRIBUTED):
        return no_further_run(project)
    return ""


def _stewards(project: Project) -> str:
    if project.signatures == 1:
        return "a steward"
    signed = [one.member for one in project.release_signatures]
    by = f" ({listed(signed)} has signed its release)" if signed else ""
    return f"{project.signatures} stewards, who must both sign its release{by}"


def _can_agree(project: Project, side: Side) -> bool:
    """Whether the custodian can take a step now, whether it uses agreement messages or a seed file."""
    if side in project.reports:
        return key_mismatch(project) is not None
    for kind in MessageKind:
        mine, theirs = ((sender, kind) in project.messages for sender in (side, side.other))
        if mine and not theirs:
            return False
        if not mine:
            return True
    return True
