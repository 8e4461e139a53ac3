"""From a held result to the end of a project: stewards' decisions, shares, granted columns, restored logs, erasure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gemel.carole.projects.operations.linking import fail_run, release_run
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.project import Project, ReleaseSignature, RestoreDecision, RunState, State
from gemel.carole.projects.restoration import awaited, decision_of, no_further_run, released_before, standstill
from gemel.carole.projects.transitions import SYSTEM, Action, Actor, acting, permit
from gemel.common.audit.statements import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language.message_words import listed
from gemel.common.parties import Role, Side
from gemel.common.specification.model.granted_variables import Transfer


def acknowledge(project: Project, side: Side, member: str, name: str, alone: str = "") -> Outcome:
    """A custodian confirms that it holds its share of a released run, whose digest has been compared before.

    `alone`: its operator's reason to fetch it before the other custodian had countersigned the release; empty if it
    had.
    """
    newest = project.released_run
    superseded = newest is not None and newest.run != name
    if (superseded or side in project.acknowledged) and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, side.role, Action.ACKNOWLEDGE)
    after = replace(project, acknowledged=project.acknowledged | {side})
    return move(row, after, member, {"run": name, **({"alone": alone} if alone else {})})


def expire_result(project: Project) -> Outcome:
    """Expire the result, and the project with it."""
    return move(permit(project, SYSTEM, Action.EXPIRE_RESULT), _erased(project), SYSTEM, {})


def erase(project: Project, role: Actor, member: str) -> Outcome:
    """Erase everything stored for the project. An active run ends without a result."""
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


# The stewards' decisions on a result that the policy has held: all that are required must sign, one can refuse.


def refuse(project: Project, given: ReleaseSignature, reason: str) -> Outcome:
    """Refuse to release a held result, whoever has signed its release. The signature has been verified before."""
    _require_held(project, given.run)
    row = permit(project, Role.STEWARD, Action.REFUSE)
    return move(row, project, given.member, _details(given, reason))


def override(project: Project, given: ReleaseSignature, reason: str, stewards: Mapping[str, str]) -> Outcome:
    """Sign the release of a held result against the policy; the last signature that is required releases it.

    The signature has been verified before. The same steward again changes nothing. `stewards`: the stewards of the
    present membership list and their identities. A former signature counts only if its signer is among them, with the
    identity that it was made by, and if it is on the same report.
    """
    _require_held(project, given.run)
    row = permit(project, Role.STEWARD, Action.OVERRIDE)
    if stewards.get(given.member) != given.identity:
        what = "the signer is not, or no longer, a steward in the membership list"
        remedy = "let a present steward decide"
        raise GemelError(ErrorCode.NOT_ADMITTED, what, where=project.name, got=given.member, remedy=remedy)
    former = [one for one in project.release_signatures if one.run == given.run]
    valid = [one for one in former if one.report == given.report and stewards.get(one.member) == one.identity]
    if any(given.member == one.member or given.identity == one.identity for one in valid):
        return Outcome(project)
    signed = (*valid, given)
    details = _details(given, reason)
    if project.signatures > 1:
        details |= {"signatures": len(signed), "required": project.signatures}
        if void := [one.member for one in former if one not in valid]:
            details["void"] = " ".join(void)
    overridden = move(row, replace(project, release_signatures=signed), given.member, details)
    if len(signed) < project.signatures:
        return overridden
    by = "a steward" if project.signatures == 1 else f"the stewards {listed([one.member for one in signed])}"
    return overridden.then(release_run(overridden.project, given.run, f"overridden by {by}"))


def _details(given: ReleaseSignature, reason: str) -> dict[str, Detail]:
    return {"run": given.run, "reason": normalized_reason(reason), "signature": given.signature.hex()}


def _require_held(project: Project, name: str) -> None:
    newest = project.newest_run
    if project.state is State.HELD and (newest is None or newest.run != name):
        remedy = "see the project's status for the run that waits"
        raise GemelError(ErrorCode.NOT_FOUND, "this run is not the held run", where=project.name, remedy=remedy)


# Granted columns of linked records: sent by a custodian that has its share, received by whom they are sealed to.


def require_sendable(project: Project, run: str, transfer: Transfer) -> None:
    """Refuse columns that are not granted, of another run than the one released last, or before their time."""
    _require_granted(project, transfer)
    permit(project, transfer.sender.role, Action.SEND_VARIABLES)
    _require_released(project, run, Action.SEND_VARIABLES)
    if transfer.sender not in project.acknowledged:
        what = "a custodian sends columns of its linked records after it has confirmed its share"
        remedy = "wait until its service has fetched the share"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=f"{project.name}, run {run}", remedy=remedy)


def require_receivable(project: Project, role: Role, run: str, transfer: Transfer) -> None:
    """Refuse to give columns away that are not for this recipient, or not of the run released last."""
    _require_granted(project, transfer)
    permit(project, role, Action.RECEIVE_VARIABLES)
    _require_released(project, run, Action.RECEIVE_VARIABLES)
    if transfer not in project.sent:
        raise _unknown()


def send_variables(project: Project, member: str, run: str, transfer: Transfer, total_bytes: int) -> Outcome:
    """A custodian has sent all of one recipient's columns.

    `total_bytes`: of the sealed message, for the log.
    """
    if transfer in project.sent and project.state is State.RELEASED:
        return Outcome(project)
    require_sendable(project, run, transfer)
    row = permit(project, transfer.sender.role, Action.SEND_VARIABLES)
    after = replace(project, sent=project.sent | {transfer})
    return move(row, after, member, {"run": run, "recipient": transfer.to, "bytes": total_bytes})


def receive_variables(project: Project, role: Role, member: str, run: str, transfer: Transfer) -> Outcome:
    """A recipient confirms that it holds the columns, whose digest has been compared before."""
    require_receivable(project, role, run, transfer)
    if transfer in project.received:
        return Outcome(project)
    row = permit(project, role, Action.RECEIVE_VARIABLES)
    after = replace(project, received=project.received | {transfer})
    return move(row, after, member, {"run": run, "sender": str(transfer.sender)})


def _require_granted(project: Project, transfer: Transfer) -> None:
    if transfer not in project.transfers:
        raise _unknown()


def _require_released(project: Project, run: str, action: Action) -> None:
    newest = project.released_run
    if newest is None or newest.run != run:
        what, remedy = "the run must be the one released last", "wait for its release, or take the newer run"
        where, got = f"{action} of {project.name}, run {run}", "no release" if newest is None else f"run {newest.run}"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=where, got=got, remedy=remedy)


def _unknown() -> GemelError:
    """The same for what is not granted, for what was not sent, and for what does not exist."""
    remedy = "compare the grants in `release.variables` of the approved specification"
    return GemelError(ErrorCode.NOT_FOUND, "it does not exist, or you may not see it", remedy=remedy)


# A party's decision on a restored log, and what follows once all have accepted.


def decide_restore(project: Project, decision: RestoreDecision, details: Mapping[str, Detail]) -> Outcome:
    """Record a party's decision, whose signature has been verified. The same again changes nothing.

    Once all have accepted: a run that a party knows to have been released is not run again; a result that the backup
    has as held, and of which a custodian has proven that it was fetched, is released as it was; what stewards had
    signed of another is void, since the store may have lost a refusal.

    Where a role has several members, one accepts for all. Another of them may still refuse while the project waits, and
    may always accept, to name what it knows to be released. `details`: of its audit entry: all that is signed, and the
    signature.
    """
    action = Action.ACCEPT_RESTORE if decision.accepted else Action.REFUSE_RESTORE
    actor = acting(project, decision.role, decision.member, action)
    former = decision_of(project, decision.role)
    newest = decision.restoration == project.restoration
    made = (decision.restoration, decision.role, decision.member, decision.accepted)
    counted = (one for one in project.restore_decisions if one.decides)
    if newest and any(made == (one.restoration, one.role, one.member, one.accepted) for one in counted):
        return Outcome(project)
    row = permit(project, actor, action)
    waits = standstill(project)
    another = former is not None and former.accepted and former.member != decision.member
    welcome = decision.role in awaited(project) or (another and (decision.accepted or bool(waits)))
    if not newest or not welcome:
        what = "no decision on a restored log is awaited of this party"
        got = "a decision is there" if newest else "another restoration"
        remedy = "see the project's status; a decision is not taken back"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=project.name, got=got, remedy=remedy)
    after = replace(project, restore_decisions=(*project.restore_decisions, decision))
    if standstill(after):
        return move(row, after, decision.member, details)
    if waits:
        after = replace(after, release_signatures=())
    return move(row, after, decision.member, details).then(_resumed(after))


def _resumed(project: Project) -> Outcome:
    if why := no_further_run(project):
        run = project.active_run
        return Outcome(project) if run is None else fail_run(project, run.run, why)
    if name := released_before(project):
        return release_run(project, name, "released before the backup was restored, as a recipient's digest proves")
    return Outcome(project)
