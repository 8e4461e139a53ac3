"""A party's decision on a restored log, and what follows once all have accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tryst.carole.projects.operations.linking import fail_run, release_run
from tryst.carole.projects.operations.outcome import Detail, Outcome, move
from tryst.carole.projects.ownership import acting
from tryst.carole.projects.project import Project, RestoreDecision
from tryst.carole.projects.restoration import awaited, decision_of, no_further_run, released_before, standstill
from tryst.carole.projects.transitions import Action, permit
from tryst.common.errors import ErrorCode, TrystError


def decide_restore(project: Project, decision: RestoreDecision, details: Mapping[str, Detail]) -> Outcome:
    """Record a party's decision, whose signature has been verified. The same again changes nothing.

    Once all have accepted: a run that a party knows to have been released is not run again; a result that the backup
    has as held, and of which a party has proven that it was fetched, is released as it was.

    Parameters
    ----------
    details
        Of its audit entry: all that is signed, and the signature.

    Raises
    ------
    TrystError
        WRONG_STATE if another restoration is the newest, no decision is awaited of this party, or it has decided
        otherwise.
    """
    action = Action.ACCEPT_RESTORE if decision.accepted else Action.REFUSE_RESTORE
    actor = acting(project, decision.role, decision.member, action)
    former = decision_of(project, decision.role)
    if former is not None and (former.restoration, former.accepted) == (decision.restoration, decision.accepted):
        return Outcome(project)
    row = permit(project, actor, action)
    if decision.restoration != project.restoration or decision.role not in awaited(project):
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "no decision on a restored log is awaited of this party",
            where=project.name,
            got="another restoration" if decision.restoration != project.restoration else "a decision is there",
            remedy="see the project's status; a decision is not taken back",
        )
    after = replace(project, restore_decisions=(*project.restore_decisions, decision))
    outcome = move(row, after, decision.member, details)
    return outcome if standstill(after) else outcome.then(_resumed(after))


def _resumed(project: Project) -> Outcome:
    if why := no_further_run(project):
        run = project.active_run
        return Outcome(project) if run is None else fail_run(project, run.run, why)
    if name := released_before(project):
        return release_run(project, name, "released before the backup was restored, as a recipient's digest proves")
    return Outcome(project)
