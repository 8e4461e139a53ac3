"""After the release: acknowledgements, and the end of the project."""

from __future__ import annotations

from dataclasses import replace

from gemel.carole.projects.operations.outcome import Outcome, move
from gemel.carole.projects.ownership import acting
from gemel.carole.projects.project import Project
from gemel.carole.projects.state import RunState, State
from gemel.carole.projects.transitions import SYSTEM, Action, Actor, permit
from gemel.common.parties import Role, Side


def acknowledge(project: Project, side: Side, member: str, name: str, alone: str = "") -> Outcome:
    """A custodian confirms that it holds its share of a released run, whose digest has been compared before.

    Parameters
    ----------
    alone
        Its operator's reason to fetch it before the other custodian had countersigned the release; empty if it had.

    Raises
    ------
    GemelError
        NOT_ADMITTED, WRONG_STATE.
    """
    newest = project.released_run
    superseded = newest is not None and newest.run != name
    if (superseded or side in project.acknowledged) and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, side.role, Action.ACKNOWLEDGE)
    after = replace(project, acknowledged=project.acknowledged | {side})
    return move(row, after, member, {"run": name, **({"alone": alone} if alone else {})})


def expire_result(project: Project) -> Outcome:
    """Expire the result, and the project with it.

    Raises
    ------
    GemelError
        WRONG_STATE.
    """
    return move(permit(project, SYSTEM, Action.EXPIRE_RESULT), _erased(project), SYSTEM, {})


def erase(project: Project, role: Actor, member: str) -> Outcome:
    """Erase everything stored for the project. An active run ends without a result.

    Raises
    ------
    GemelError
        NOT_ADMITTED.
    """
    actor = acting(project, role, member, Action.ERASE)
    if project.state is State.ERASED and role == Role.COORDINATOR:
        return Outcome(project)
    return move(permit(project, actor, Action.ERASE), _erased(project), member, {})


def _erased(project: Project) -> Project:
    ended = fail_active_runs(project, "the project was erased")
    return replace(ended, messages={}, reports={}, uploads={}, pending={}, declines={}, hand_over=None)


def fail_active_runs(project: Project, error: str) -> Project:
    """The project with its active run ended without a result; whoever works on it learns that it has lost it."""
    runs = tuple(replace(run, state=RunState.FAILED, error=error) if run.state.active else run for run in project.runs)
    return replace(project, runs=runs)
