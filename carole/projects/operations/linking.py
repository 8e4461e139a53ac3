"""Runs: requested, taken, waiting for other parties, failed, and finished: released, held or refused by the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.project import JoinedBy, Policy, PolicyDecision, Project, Run, RunState
from gemel.carole.projects.transitions import SYSTEM, Action, acting, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.common.specification.model.granted_variables import Transfer

MAX_ATTEMPTS = 3
"""Maximum attempts at a run whose worker dies."""


class Interruption(StrEnum):
    """Why a worker left its run, as in the audit log."""

    LEASE_LOST = "lease lost"
    DIED = "worker died"
    STOPPED = "worker stopped"
    RESTARTED = "service restarted"
    STORAGE_FAILED = "storage failed"
    GAVE_WAY = "gave way"
    """It waited for another party, and let a run of another project be worked on meanwhile."""


_NO_ATTEMPT = (Interruption.STOPPED, Interruption.STORAGE_FAILED, Interruption.GAVE_WAY)
"""Causes that are no failure of the run."""


def start_run(project: Project, member: str, request: str, name: str, call: str = "") -> Outcome:
    """Request a run. A repeated request returns the same run, whatever its state.

    A run that waits for handles or for the resolver, and so has no worker, is ended for a new one. `request`: the
    caller's own name of its request, by which a repetition is known. `name`: of the run, if there is none by this
    request yet.
    """
    actor = acting(project, Role.COORDINATOR, member, Action.START_RUN)
    if any(run.request == request for run in project.runs):
        return Outcome(project)
    row = permit(project, actor, Action.START_RUN)
    given_up = give_up_waiting(project, "another run was requested while it waited")
    project = given_up.project
    active = project.active_run
    if active is not None:
        what = f"a run of this project is already {active.state.name.lower()}"
        remedy = "watch it, and start another when it has ended"
        raise GemelError(ErrorCode.RUN_ACTIVE, what, where=project.name, got=f"run {active.run}", remedy=remedy)
    after = replace(project, runs=(*project.runs, Run(name, request, RunState.QUEUED, call=call)))
    return given_up.then(move(row, after, member, {"run": name}))


def take_run(project: Project, name: str) -> Outcome:
    """Start work on a queued run."""
    run = active_run(project, name)
    if run.state is not RunState.QUEUED:
        got = run.stage or run.state.name
        if run.state is RunState.RESOLVING:
            remedy = "it is queued again after the custodians' handles and the resolver's result"
            raise _refused(project, name, "the run waits for other parties", got, remedy)
        raise _refused(project, name, "a worker has the run already", got)
    row = permit(project, SYSTEM, Action.TAKE_RUN)
    taken = replace(run, state=RunState.RUNNING, attempt=run.attempt + 1, stage="", fraction=0.0)
    return move(row, with_run(project, taken), SYSTEM, {"run": name, "attempt": taken.attempt})


def requeue_run(project: Project, name: str, cause: Interruption) -> Outcome:
    """Queue a run again whose worker has left it, or fail it when its attempts are used up.

    An attempt that ended because the worker was stopped, because the database or a disk failed, or because the run gave
    way does not count: only failures that the run itself may have caused use up attempts. A run that gave way keeps its
    stage, which names for whom it waits.
    """
    run = require_worked_on(project, name)
    if cause not in _NO_ATTEMPT and run.attempt >= MAX_ATTEMPTS:
        return fail_run(project, name, f"the worker died {run.attempt} times during this run; see Carole's log")
    row = permit(project, SYSTEM, Action.REQUEUE_RUN)
    attempts = run.attempt - (cause in _NO_ATTEMPT)
    stage = run.stage if cause is Interruption.GAVE_WAY else ""
    queued = replace(run, state=RunState.QUEUED, attempt=attempts, stage=stage, fraction=0.0)
    details: dict[str, Detail] = {"run": name, "attempt": run.attempt, "cause": str(cause)}
    return move(row, with_run(project, queued), SYSTEM, details)


def fail_run(project: Project, name: str, error: str) -> Outcome:
    """Fail a run; another may be requested."""
    run = active_run(project, name)
    row = permit(project, SYSTEM, Action.FAIL_RUN)
    failed = replace(run, state=RunState.FAILED, error=error)
    return move(row, with_run(project, failed), SYSTEM, {"run": name, "attempt": run.attempt, "error": error})


def give_up_waiting(project: Project, error: str) -> Outcome:
    """End a run that waits for handles or for the resolver; nothing changes if there is none."""
    run = project.active_run
    if run is None or run.state is not RunState.RESOLVING:
        return Outcome(project)
    return fail_run(project, run.run, error)


def finish_run(project: Project, name: str, links: int, policy_decision: PolicyDecision | None = None) -> Outcome:
    """End a run with links, and release, hold or refuse its result according to the specification's policy.

    Several transitions, with an audit entry for each, all or none of which happen. `policy_decision`: result of the
    assessment; None if the specification requests none.
    """
    run = active_run(project, name)
    if (policy_decision is None) != (project.policy is Policy.NONE):
        what = "no result is released without the assessment that its specification requires"
        got = f"policy {project.policy} and {'no' if policy_decision is None else 'an'} assessment"
        raise _refused(project, name, what, got)
    row = permit(project, SYSTEM, Action.FINISH_RUN)
    done = replace(run, state=RunState.DONE, fraction=1.0, links=links)
    outcome = move(row, with_run(project, done), SYSTEM, {"run": name, "links": links})
    if policy_decision is None:
        return outcome.then(release_run(outcome.project, name, "none"))
    row = permit(outcome.project, SYSTEM, Action.ASSESS)
    details: dict[str, Detail] = {
        "run": name,
        "report": policy_decision.report.hex(),
        "breaches": ", ".join(policy_decision.breaches),
        "releases_compared": policy_decision.compared,
        "releases_unseen": policy_decision.unseen,
        **policy_decision.measures,
    }
    if policy_decision.coarsened:
        details |= {
            "coarsened": _changes(policy_decision),
            "breaches_before": ", ".join(policy_decision.breached_before),
        }
    outcome = outcome.then(move(row, outcome.project, SYSTEM, details))
    if not policy_decision.breaches:
        coarsened = f", coarsened ({_changes(policy_decision)})" if policy_decision.coarsened else ""
        return outcome.then(release_run(outcome.project, name, f"within the limits{coarsened}"))
    row = permit(outcome.project, SYSTEM, Action.HOLD if project.policy is Policy.HOLD else Action.REFUSE)
    reason: dict[str, Detail] = {"reason": policy_decision.reason} if policy_decision.reason else {}
    return outcome.then(move(row, outcome.project, SYSTEM, {"run": name, **reason}))


def _changes(decision: PolicyDecision) -> str:
    return "; ".join(f"{variable}: {step}" for variable, step in decision.coarsened.items())


def release_run(project: Project, name: str, assessment: str) -> Outcome:
    """Let every recipient fetch its share of a run that has ended; `assessment` gives the grounds."""
    row = permit(project, SYSTEM, Action.RELEASE)
    run = project.run(name)
    assert run is not None  # noqa: S101 - it has just ended, or is held
    grants = {str(role): str(grant) for role, grant in sorted(project.grants.items())}
    # What was acknowledged, sent and received of an earlier release does not apply to this one.
    none: frozenset[Transfer] = frozenset()
    released = with_run(project, replace(run, released=True))
    after = replace(released, acknowledged=frozenset(), sent=none, received=none)
    granted = {"variables": "; ".join(f"{t.sender} to {t.to}" for t in project.transfers)} if project.transfers else {}
    return move(row, after, SYSTEM, {"run": name, "assessment": assessment, **grants, **granted})


def with_run(project: Project, changed: Run) -> Project:
    """The project with one of its runs replaced."""
    return replace(project, runs=tuple(changed if run.run == changed.run else run for run in project.runs))


def active_run(project: Project, name: str) -> Run:
    """The active run of that name."""
    run = project.run(name)
    if run is None or not run.state.active:
        raise _refused(project, name, "the run is not active", "no such run" if run is None else run.state.name)
    return run


def _refused(project: Project, name: str, what: str, got: str, remedy: str = "") -> GemelError:
    return GemelError(ErrorCode.WRONG_STATE, what, where=f"{project.name}, run {name}", got=got, remedy=remedy)


def require_worked_on(project: Project, name: str) -> Run:
    """The run of that name, which a worker has."""
    run = active_run(project, name)
    if run.state is not RunState.RUNNING:
        raise _refused(project, name, "no worker has the run", run.state.name)
    return run


# A run in mode block_keyed waits for the custodians' handles, and for the resolver's result.

WAITS_FOR_HANDLES = "handles"
WAITS_FOR_RESOLVER = "resolve"
WAITS_TO_JOIN = "handles-for-carole"
"""As `WAITS_FOR_HANDLES`, where they are submitted to Carole."""

_JOINED_BY = {WAITS_FOR_HANDLES: JoinedBy.RESOLVER, WAITS_TO_JOIN: JoinedBy.CAROLE}


def request_row_handles(project: Project, name: str, pairs: int, by: JoinedBy) -> Outcome:
    """Let a run wait until the joining party knows which rows of its candidate pairs are one record."""
    run = require_worked_on(project, name)
    row = permit(project, SYSTEM, Action.REQUEST_ROW_HANDLES)
    stage = WAITS_TO_JOIN if by is JoinedBy.CAROLE else WAITS_FOR_HANDLES
    waiting = replace(run, state=RunState.RESOLVING, stage=stage, fraction=0.0, handles_received_from=frozenset())
    return move(row, with_run(project, waiting), SYSTEM, {"run": name, "pairs": pairs, "joined_by": str(by)})


def submit_row_handles(project: Project, side: Side, member: str, name: str) -> Outcome:
    """A custodian has submitted its handles; when both have, the run waits for the joining party."""
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

    `root`, `signature`: root digest of the result's chunks, and the member's signature on it, in hexadecimal: the log
    shows for which result the member answers.
    """
    actor = acting(project, Role.COORDINATOR, member, Action.RESOLVE_RUN)
    run = require_waiting(project, active_run(project, name))
    row = permit(project, actor, Action.RESOLVE_RUN)
    if run.stage != WAITS_FOR_RESOLVER:
        submitted = " and ".join(sorted(str(side) for side in run.handles_received_from)) or "no custodian"
        what = "both custodians must submit their handles first"
        raise _refused(project, name, what, f"handles of {submitted}")
    return move(row, with_run(project, _queued(run)), member, {"run": name, "result": root, "signature": signature})


def join_rows(project: Project, name: str, member: str, records: Mapping[Side, int], maximum: int) -> Outcome:
    """Carole knows which rows of a run's candidate pairs are one record; only the log changes."""
    require_worked_on(project, name)
    row = permit(project, SYSTEM, Action.JOIN)
    counts: dict[str, Detail] = {f"records_{side}": records[side] for side in Side}
    return move(row, project, SYSTEM, {"run": name, "by": member, "max_records": maximum, **counts})


def _queued(run: Run) -> Run:
    # The two halves are one attempt: only failures that the run itself may have caused use up attempts.
    return replace(run, state=RunState.QUEUED, stage="", fraction=0.0, attempt=max(0, run.attempt - 1))


def require_waiting(project: Project, run: Run) -> Run:
    """The run itself, if it waits for handles or the resolver."""
    if run.state is not RunState.RESOLVING:
        raise _refused(project, run.run, "the run does not wait for record resolution", run.state.name)
    return run
