"""A project and its owner: what another coordinator may not do, and how the project comes to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.projects.operations.consent import hand_over, open_epoch, take_over
from gemel.carole.projects.operations.linking import request_row_handles, start_run, submit_row_handles, take_run
from gemel.carole.projects.operations.release import decide_restore, erase
from gemel.carole.projects.project import JoinedBy, RestoreDecision, RunState, State
from gemel.carole.projects.restoration import awaited, lost_runs
from gemel.carole.projects.transitions import OWNER, TRANSITIONS, Action, waits_for
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.projects.cases import COORDINATORS, THIRD, contributed, new, offered, opened, taken
from tests.carole.refusals import refused


def handed(project, to="rival"):
    return hand_over(project, Role.COORDINATOR, offered(project, to, project.owner)).project


def since(offer, size):
    """The offer by one who has seen so many entries of the log."""
    seen = replace(offer.statement.seen, size=size)
    return replace(offer, statement=replace(offer.statement, seen=seen))


def test_all_that_an_owner_may_do_is_refused_to_any_other_coordinator():
    assert {row.action for row in TRANSITIONS if OWNER in row.who} == COORDINATORS.keys()
    assert {row.action for row in TRANSITIONS if Role.COORDINATOR in row.who} == {Action.TAKE_OVER}
    for state in State:
        for act in COORDINATORS.values():
            error = refused(ErrorCode.NOT_ADMITTED, act, new(state=state), "rival")
            assert error.what == "the project belongs to the coordinator coordinator"
            assert "`gemel project hand-over`" in error.remedy
            assert "`gemel steward hand-over`" in error.remedy


def test_a_project_goes_over_by_two_acts_and_no_earlier():
    project = contributed()
    refused(ErrorCode.NOT_ADMITTED, take_over, project, *taken(project, "rival"))
    outcome = hand_over(project, Role.COORDINATOR, offered(project, "rival", "coordinator"))
    assert [(entry.actor, entry.action) for entry in outcome.entries] == [("coordinator", Action.HAND_OVER)]
    waiting = outcome.project
    assert (waiting.owner, waits_for(waiting, "rival"), waits_for(waiting, "third")) == ("coordinator", True, False)
    refused(ErrorCode.NOT_ADMITTED, take_over, waiting, *taken(waiting, "third"))
    outcome = take_over(waiting, *taken(waiting, "rival"))
    assert [(entry.actor, entry.action) for entry in outcome.entries] == [("rival", Action.TAKE_OVER)]
    after = outcome.project
    assert (after.owner, after.hand_over, after.state) == ("rival", None, State.CONTRIBUTED)
    # Who answers for the specification is who has the project.
    assert after.approvals[Role.COORDINATOR].member == "rival"
    assert start_run(after, "rival", "r", "run").changed
    refused(ErrorCode.NOT_ADMITTED, start_run, after, "coordinator", "r", "run")
    assert not take_over(after, *taken(after, "rival")).changed


def test_a_project_that_its_owner_has_not_approved_is_not_approved_by_taking_it_over():
    project = handed(new())
    assert not take_over(project, *taken(project, "rival")).project.approvals


def test_another_offer_replaces_the_first_and_one_to_oneself_withdraws_it():
    project = handed(handed(new()), "third")
    refused(ErrorCode.NOT_ADMITTED, take_over, project, *taken(project, "rival"))
    withdrawn = handed(project, "coordinator")
    assert withdrawn.hand_over is None
    refused(ErrorCode.NOT_ADMITTED, take_over, withdrawn, *taken(withdrawn, "third"))
    assert not hand_over(withdrawn, Role.COORDINATOR, offered(withdrawn, "coordinator", "coordinator")).changed


def test_statements_about_another_owner_offer_or_specification_change_nothing():
    project = new()
    stale = offered(replace(project, owner="former"), "rival", "steward")
    refused(ErrorCode.WRONG_STATE, hand_over, project, Role.STEWARD, stale)
    waiting = handed(project)
    statement, signature, consent, _ = taken(waiting, "rival")
    other = replace(statement, hand_over=b"another offer")
    refused(ErrorCode.WRONG_STATE, take_over, waiting, other, signature, consent)
    other_consent = replace(consent, digest=THIRD)
    refused(ErrorCode.SPECIFICATION, take_over, waiting, statement, signature, other_consent)
    refused(ErrorCode.EPOCH_MISMATCH, take_over, waiting, statement, signature, replace(consent, epoch=2))
    later = open_epoch(contributed(), opened(2)).project
    statement, signature, consent, opening = taken(handed(later), "rival")
    for other_opening in (None, replace(opened(2), member="coordinator"), replace(opened(3), member="rival")):
        refused(ErrorCode.EPOCH_MISMATCH, take_over, handed(later), statement, signature, consent, other_opening)
    assert take_over(handed(later), statement, signature, consent, opening).project.owner == "rival"


@pytest.mark.parametrize(("by", "goes_on"), [(JoinedBy.RESOLVER, False), (JoinedBy.CAROLE, True)])
def test_a_run_that_waits_for_the_former_owner_as_resolver_ends(by, goes_on):
    """What custodians have sealed is for one reader: the new owner could not open it, nor Carole without a reader."""
    project = start_run(contributed(), "coordinator", "r", "run").project
    project = request_row_handles(take_run(project, "run").project, "run", 3, by).project
    project = handed(submit_row_handles(project, Side.ALICE, "alice", "run").project)
    outcome = take_over(project, *taken(project, "rival"))
    run = outcome.project.run("run")
    assert (run.state is not RunState.FAILED) is goes_on
    actions = [entry.action for entry in outcome.entries]
    assert actions == [*([] if goes_on else [Action.FAIL_RUN]), Action.TAKE_OVER]


def test_of_the_coordinators_the_owner_decides_on_a_restored_log():
    project = replace(contributed(), restoration=9)
    rivals = RestoreDecision(9, Role.COORDINATOR, "rival", True, released=frozenset({"x"}), decides=False)
    project = replace(project, restore_decisions=(rivals,))
    assert Role.COORDINATOR in awaited(project)
    assert not lost_runs(project)
    owners = RestoreDecision(9, Role.COORDINATOR, "coordinator", True)
    decided = decide_restore(project, owners, {}).project
    assert Role.COORDINATOR not in awaited(decided)
    # An owner who is gone cannot decide: the project can go to another one meanwhile, who then decides.
    offer = since(offered(project, "rival", "steward"), 9)
    left = hand_over(project, Role.STEWARD, offer).project
    taken_over = take_over(left, *taken(left, "rival")).project
    new_owners = replace(owners, member="rival")
    assert Role.COORDINATOR not in awaited(decide_restore(taken_over, new_owners, {}).project)
    # What an owner has decided stands, whoever has the project later.
    later = hand_over(decided, Role.COORDINATOR, since(offered(decided, "rival", "coordinator"), 9)).project
    assert Role.COORDINATOR not in awaited(take_over(later, *taken(later, "rival")).project)


def test_an_offer_of_before_a_restoration_is_not_taken_it_may_have_been_withdrawn():
    project = replace(handed(contributed()), restoration=9)
    error = refused(ErrorCode.WRONG_STATE, take_over, project, *taken(project, "rival"))
    assert "an offer from before Carole's store was restored" in str(error)


def test_nothing_is_handed_over_of_an_erased_project():
    erased = erase(handed(new()), Role.COORDINATOR, "coordinator").project
    assert erased.hand_over is None
    offer = offered(erased, "rival", "coordinator")
    refused(ErrorCode.WRONG_STATE, hand_over, erased, Role.COORDINATOR, offer)
    refused(ErrorCode.WRONG_STATE, take_over, erased, *taken(erased, "rival"))
