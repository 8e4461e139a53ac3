"""A project whose store was put back from a backup: who must accept that, and what its lost runs forbid.

The parties remember what the store has lost. Until each of them has accepted the restored log by signature, no run
starts, nothing is released and nothing is fetched; after one has refused, never again. A party that accepts names the
runs that it knows to have been released, so that none of them is released twice.
"""

from __future__ import annotations

from gemel.carole.projects.project import Policy, Project, RestoreDecision, RunState, State
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, SIDE_OF_ROLE, Role, Side


def name_of(role: Role) -> str:
    """A party in words: a custodian by its side, the others by their role."""
    return str(SIDE_OF_ROLE.get(role, role))


def required(project: Project) -> tuple[Role, ...]:
    """The parties that must accept: custodians and coordinator, and the steward where results may wait for one."""
    steward = (Role.STEWARD,) if project.policy is Policy.HOLD else ()
    return (*(side.role for side in Side), Role.COORDINATOR, *steward)


def decision_of(project: Project, role: Role) -> RestoreDecision | None:
    """A party's decision on the newest restoration that concerns the project; for coordinators its owner decides."""
    counted = (one for one in project.restore_decisions if one.decides)
    mine = (one for one in counted if (one.restoration, one.role) == (project.restoration, role))
    return next(mine, None) if project.restoration else None


def awaited(project: Project) -> tuple[Role, ...]:
    """The parties that have not decided yet; none where nothing was restored, or all is erased."""
    if not project.restoration or project.state is State.ERASED:
        return ()
    return tuple(role for role in required(project) if decision_of(project, role) is None)


def concerns(project: Project, role: Role, member: str) -> bool:
    """Whether the project waits for a party's decision, or has waited for it; no coordinator's but its owner's."""
    if role is Role.COORDINATOR and member != project.owner:
        return False
    return role in awaited(project) or decision_of(project, role) is not None


def standstill(project: Project) -> str:
    """Why the project may not go on after a restoration, in words; empty if it may."""
    if not project.restoration or project.state is State.ERASED:
        return ""
    for decision in project.restore_decisions:
        if decision.restoration == project.restoration and not decision.accepted:
            who = name_of(decision.role)
            return f"{who} has refused the restored log: project {project.name} can only be erased ({decision.reason})"
    waiting = ", ".join(name_of(role) for role in awaited(project))
    return f"project {project.name} waits for the acceptance of the restored log by {waiting}" if waiting else ""


def refuse_standstill(project: Project) -> None:
    """Refuse to hand anything out while the project may not go on. Raises WRONG_STATE."""
    if why := standstill(project):
        remedy = "see the section on restored logs in the guide of your role"
        raise GemelError(ErrorCode.WRONG_STATE, why, where=project.name, got=project.state.name, remedy=remedy)


def lost_runs(project: Project) -> tuple[str, ...]:
    """Runs that a party knows to have been released, and whose result the restored store does not have."""
    parties = required(project)
    counted = (one for one in project.restore_decisions if one.accepted and one.decides and one.role in parties)
    named = frozenset[str]().union(*(decision.released for decision in counted))
    done = {run.run for run in project.runs if run.state is RunState.DONE}
    return tuple(sorted(named - done))


def no_further_run(project: Project) -> str:
    """Why no run of the project may be released any more, in words; empty if one may."""
    lost = lost_runs(project)
    if not lost:
        return ""
    return (
        f"run {', '.join(lost)} was released before Carole's store was restored, and she no longer has its result: "
        "what a further release would disclose beside it cannot be judged, so there is none; make a new project"
    )


def released_before(project: Project) -> str:
    """The run that the restored store holds back although a custodian has proven its release; empty if there is none.

    No other party's digest is a proof: what the coordinator receives is not sealed, and in mode block_keyed its own
    resolver has made it, released or not.
    """
    custodians = (one for one in project.restore_decisions if one.role in CUSTODIANS)
    proven = frozenset[str]().union(*(decision.fetched for decision in custodians))
    newest = project.newest_run
    holds = project.state in (State.RUN, State.ASSESSED, State.HELD)
    return newest.run if holds and newest is not None and newest.run in proven and not newest.released else ""
