"""A run in mode block_keyed waits for the custodians' handles, and for the resolver's result.

Where the specification lets Carole join rows herself there is no resolver to wait for, and the join is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gemel.carole.projects.operations.linking import active_run, require_worked_on, with_run
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.ownership import acting
from gemel.carole.projects.project import Project, Run
from gemel.carole.projects.state import JoinedBy, RunState
from gemel.carole.projects.transitions import SYSTEM, Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side

WAITS_FOR_HANDLES = "handles"
WAITS_FOR_RESOLVER = "resolve"
WAITS_TO_JOIN = "handles-for-carole"
"""As `WAITS_FOR_HANDLES`, where they are submitted to Carole."""

_JOINED_BY = {WAITS_FOR_HANDLES: JoinedBy.RESOLVER, WAITS_TO_JOIN: JoinedBy.CAROLE}


def request_row_handles(project: Project, name: str, pairs: int, by: JoinedBy) -> Outcome:
    """Let a run wait until the joining party knows which rows of its candidate pairs are one record.

    Raises
    ------
    GemelError
        WRONG_STATE if no worker has the run.
    """
    run = require_worked_on(project, name)
    row = permit(project, SYSTEM, Action.REQUEST_ROW_HANDLES)
    stage = WAITS_TO_JOIN if by is JoinedBy.CAROLE else WAITS_FOR_HANDLES
    waiting = replace(run, state=RunState.RESOLVING, stage=stage, fraction=0.0, handles_received_from=frozenset())
    return move(row, with_run(project, waiting), SYSTEM, {"run": name, "pairs": pairs, "joined_by": str(by)})


def submit_row_handles(project: Project, side: Side, member: str, name: str) -> Outcome:
    """A custodian has submitted its handles; when both have, the run waits for the joining party.

    Raises
    ------
    GemelError
        WRONG_STATE if the run does not wait for them.
    """
    run = require_waiting(project, active_run(project, name))
    row = permit(project, side.role, Action.SUBMIT_ROW_HANDLES)
    if side in run.handles_received_from:
        return Outcome(project)
    by = _JOINED_BY[run.stage]
    after = replace(
        run,
        handles_received_from=run.handles_received_from | {side},
        fraction=len(run.handles_received_from | {side}) / len(Side),
    )
    if after.handles_received_from == frozenset(Side):
        after = _queued(after) if by is JoinedBy.CAROLE else replace(after, stage=WAITS_FOR_RESOLVER)
    return move(row, with_run(project, after), member, {"run": name, "side": str(side), "joined_by": str(by)})


def resolve_run(project: Project, member: str, name: str, root: str, signature: str) -> Outcome:
    """The resolver has submitted its result: the run is queued again, for its second half.

    Parameters
    ----------
    root, signature
        Root digest of the result's chunks, and the member's signature on it, in hexadecimal: the log shows for which
        result the member answers.

    Raises
    ------
    GemelError
        WRONG_STATE if the run does not wait for the resolver.
    """
    actor = acting(project, Role.COORDINATOR, member, Action.RESOLVE_RUN)
    run = require_waiting(project, active_run(project, name))
    row = permit(project, actor, Action.RESOLVE_RUN)
    if run.stage != WAITS_FOR_RESOLVER:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "both custodians must submit their handles first",
            where=f"{project.name}, run {name}",
            got=f"handles of {' and '.join(sorted(str(side) for side in run.handles_received_from)) or 'no custodian'}",
        )
    return move(row, with_run(project, _queued(run)), member, {"run": name, "result": root, "signature": signature})


def join_rows(project: Project, name: str, member: str, records: Mapping[Side, int], maximum: int) -> Outcome:
    """Carole knows which rows of a run's candidate pairs are one record; only the log changes.

    Parameters
    ----------
    member
        Her name in the membership list.
    records
        Number of records in the rows, of each file.
    maximum
        Number of records that the specification allows.

    Raises
    ------
    GemelError
        WRONG_STATE if no worker has the run.
    """
    require_worked_on(project, name)
    row = permit(project, SYSTEM, Action.JOIN)
    counts: dict[str, Detail] = {f"records_{side}": records[side] for side in Side}
    return move(row, project, SYSTEM, {"run": name, "by": member, "max_records": maximum, **counts})


def _queued(run: Run) -> Run:
    # The two halves are one attempt: only failures that the run itself may have caused use up attempts.
    return replace(run, state=RunState.QUEUED, stage="", fraction=0.0, attempt=max(0, run.attempt - 1))


def require_waiting(project: Project, run: Run) -> Run:
    """The run itself, if it waits for handles or the resolver.

    Raises
    ------
    GemelError
        WRONG_STATE if it does not.
    """
    if run.state is not RunState.RESOLVING:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "the run does not wait for record resolution",
            where=f"{project.name}, run {run.run}",
            got=run.state.name,
        )
    return run
