"""A party's decision on a restored log, and what follows once all have accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gemel.carole.projects.operations.linking import fail_run, release_run
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.ownership import acting
from gemel.carole.projects.project import Project, RestoreDecision
from gemel.carole.projects.restoration import awaited, decision_of, no_further_run, released_before, standstill
from gemel.carole.projects.transitions import Action, permit
from gemel.common.errors import ErrorCode, GemelError


def decide_restore(project: Project, decision: RestoreDecision, details: Mapping[str, Detail]) -> Outcome:
    """Record a party's decision, whose signature has been verified. The same again changes nothing.

    Once all have accepted: a run that a party knows to have been released is not run again; a result that the backup
    has as held, and of which a custodian has proven that it was fetched, is released as it was; what stewards had
    signed of another is void, since the store may have lost a refusal.

    Where a role has several members, one accepts for all. Another of them may still refuse while the project waits,
    and may always accept, to name what it knows to be released.

    Parameters
    ----------
    details
        Of its audit entry: all that is signed, and the signature.

    Raises
    ------
    GemelError
        WRONG_STATE if another restoration is the newest, no decision is awaited of this party, or it has decided
        otherwise.
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
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "no decision on a restored log is awaited of this party",
            where=project.name,
            got="a decision is there" if newest else "another restoration",
            remedy="see the project's status; a decision is not taken back",
        )
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
