"""Runs: asked for, taken, given up, ended and released."""

from __future__ import annotations

from dataclasses import replace

from carole.projects.operations.outcome import Outcome, move
from carole.projects.project import Project, Run
from carole.projects.state import RunState
from carole.projects.transitions import SYSTEM, Action, permit
from common.errors import ErrorCode, TrystError
from common.parties import Role


def start_run(project: Project, member: str, request: str, name: str) -> Outcome:
    """Ask for a run. The same request is the same run, whatever has become of it.

    Raises
    ------
    TrystError
        RUN_ACTIVE if another run is queued or running; NOT_ADMITTED, WRONG_STATE.
    """
    if any(run.request == request for run in project.runs):
        return Outcome(project)
    row = permit(project, Role.COORDINATOR, Action.START_RUN)
    active = project.active_run
    if active is not None:
        raise TrystError(
            ErrorCode.RUN_ACTIVE,
            f"a run of this project is {active.state.name.lower()} already",
            where=project.name,
            got=f"run {active.run}",
            remedy="watch it, and start another when it has ended",
        )
    after = replace(project, runs=(*project.runs, Run(name, request, RunState.QUEUED)))
    return move(row, after, member, {"run": name})


def take_run(project: Project, name: str) -> Outcome:
    """Begin to work on a queued run, or on one whose worker has died.

    Raises
    ------
    TrystError
        WRONG_STATE if the run is not active.
    """
    run = _active(project, name)
    row = permit(project, SYSTEM, Action.TAKE_RUN)
    taken = replace(run, state=RunState.RUNNING, attempt=run.attempt + 1, stage="", fraction=0.0)
    return move(row, _with_run(project, taken), SYSTEM, {"run": name, "attempt": taken.attempt})


def fail_run(project: Project, name: str, error: str) -> Outcome:
    """Give a run up; another may be asked for.

    Raises
    ------
    TrystError
        WRONG_STATE if the run is not active.
    """
    run = _active(project, name)
    row = permit(project, SYSTEM, Action.FAIL_RUN)
    failed = replace(run, state=RunState.FAILED, error=error)
    return move(row, _with_run(project, failed), SYSTEM, {"run": name, "attempt": run.attempt, "error": error})


def finish_run(project: Project, name: str, links: int) -> Outcome:
    """End a run with links, and release it: the specification asks for no assessment.

    Two transitions, and two audit entries, that stand or fall together.

    Raises
    ------
    TrystError
        WRONG_STATE if the run is not running.
    """
    run = _active(project, name)
    row = permit(project, SYSTEM, Action.FINISH_RUN)
    done = replace(run, state=RunState.DONE, fraction=1.0, links=links)
    ended = move(row, _with_run(project, done), SYSTEM, {"run": name, "links": links})
    row = permit(ended.project, SYSTEM, Action.RELEASE)
    grants = {str(role): str(grant) for role, grant in sorted(project.grants.items())}
    released = move(row, ended.project, SYSTEM, {"run": name, "assessment": "none", **grants})
    return Outcome(released.project, ended.entries + released.entries)


def _with_run(project: Project, changed: Run) -> Project:
    return replace(project, runs=tuple(changed if run.run == changed.run else run for run in project.runs))


def _active(project: Project, name: str) -> Run:
    run = project.run(name)
    if run is None or not run.state.active:
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "the run is not under way",
            where=f"{project.name}, run {name}",
            got="no such run" if run is None else run.state.name,
        )
    return run
