"""A run in mode block_keyed waits: for the custodians to give handles, and for the resolver to say who is who."""

from __future__ import annotations

from dataclasses import replace

from carole.projects.operations.linking import active_run, with_run
from carole.projects.operations.outcome import Outcome, move
from carole.projects.project import Project, Run
from carole.projects.state import RunState
from carole.projects.transitions import SYSTEM, Action, permit
from common.errors import ErrorCode, TrystError
from common.parties import Role, Side

WAITS_FOR_HANDLES = "handles"
WAITS_FOR_RESOLVER = "resolve"


def ask_handles(project: Project, name: str, pairs: int) -> Outcome:
    """Let a run wait until it is known which rows of its candidate pairs are one record.

    Raises
    ------
    TrystError
        WRONG_STATE if nobody works on the run.
    """
    run = active_run(project, name)
    if run.state is not RunState.RUNNING:
        raise TrystError(
            ErrorCode.WRONG_STATE, "nobody works on the run", where=f"{project.name}, run {name}", got=run.state.name
        )
    row = permit(project, SYSTEM, Action.ASK_HANDLES)
    waiting = replace(run, state=RunState.RESOLVING, stage=WAITS_FOR_HANDLES, fraction=0.0, handed=frozenset())
    return move(row, with_run(project, waiting), SYSTEM, {"run": name, "pairs": pairs})


def give_handles(project: Project, side: Side, member: str, name: str) -> Outcome:
    """A custodian has given its handles; when both have, it is the resolver's turn.

    Raises
    ------
    TrystError
        WRONG_STATE if the run does not wait for them.
    """
    run = _waiting(project, name)
    row = permit(project, side.role, Action.GIVE_HANDLES)
    if side in run.handed:
        return Outcome(project)
    handed = run.handed | {side}
    stage = WAITS_FOR_RESOLVER if handed == frozenset(Side) else WAITS_FOR_HANDLES
    after = replace(run, handed=handed, stage=stage, fraction=len(handed) / len(Side))
    return move(row, with_run(project, after), member, {"run": name, "side": str(side)})


def resolve_run(project: Project, member: str, name: str) -> Outcome:
    """The resolver has answered: the run is queued again, for its second half.

    Raises
    ------
    TrystError
        WRONG_STATE if the run does not wait for the resolver.
    """
    run = _waiting(project, name)
    row = permit(project, Role.COORDINATOR, Action.RESOLVE_RUN)
    if run.stage != WAITS_FOR_RESOLVER:
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "both custodians must give their handles first",
            where=f"{project.name}, run {name}",
            got=f"handles of {' and '.join(sorted(str(side) for side in run.handed)) or 'nobody'}",
        )
    # What the two halves take is one attempt: only what a run may itself have brought about uses attempts up.
    queued = replace(run, state=RunState.QUEUED, stage="", fraction=0.0, attempt=max(0, run.attempt - 1))
    return move(row, with_run(project, queued), member, {"run": name})


def _waiting(project: Project, name: str) -> Run:
    run = active_run(project, name)
    if run.state is not RunState.RESOLVING:
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "the run does not wait for who is who",
            where=f"{project.name}, run {name}",
            got=run.state.name,
        )
    return run
