"""What a project may do after its store was put back, case by case; and that nothing else than the table may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.projects.operations.linking import Interruption, finish_run, requeue_run, start_run, take_run
from gemel.carole.projects.operations.release import decide_restore, erase
from gemel.carole.projects.project import Policy, ReleaseSignature, RestoreDecision, RunState, State
from gemel.carole.projects.restoration import awaited, lost_runs, required, standstill
from gemel.carole.projects.tasks import blocking_error, next_task
from gemel.carole.projects.transitions import OWNER, SYSTEM, Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from tests.carole.projects.cases import BAD, contributed
from tests.carole.refusals import refusal

ALL = (Role.CUSTODIAN_A, Role.CUSTODIAN_B, Role.COORDINATOR, Role.STEWARD)
SEQUENCE = 9


def put_back(project):
    return replace(project, restoration=SEQUENCE)


def decide(project, role, *released, accepted=True, fetched="", sequence=SEQUENCE):
    runs = frozenset({*released, *filter(None, [fetched])})
    proven = frozenset(filter(None, [fetched]))
    made = RestoreDecision(sequence, role, str(role), accepted, "" if accepted else "a reason", runs, proven)
    return decide_restore(project, made, {"role": str(role)})


def accepted(project, *released, fetched=""):
    for role in required(project):
        project = decide(project, role, *released, fetched=fetched, sequence=project.restoration).project
    return project


def running(policy=Policy.NONE):
    project = start_run(contributed(policy), "coordinator", "r", "run").project
    return take_run(project, "run").project


def refused(project, role, action):
    with refusal(ErrorCode.WRONG_STATE) as caught:
        permit(project, role, action)
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize("policy", Policy)
def test_who_must_accept(policy):
    project = put_back(contributed(policy))
    parties = ALL if policy is Policy.HOLD else ALL[:-1]
    assert awaited(project) == parties
    for number, role in enumerate(parties):
        assert standstill(project)
        assert next_task(project, Side.ALICE) is None
        outcome = decide(project, role)
        assert [entry.action for entry in outcome.entries] == [Action.ACCEPT_RESTORE]
        assert not decide(outcome.project, role).changed
        project = outcome.project
        assert awaited(project) == parties[number + 1 :]
    assert not standstill(project)
    if policy is not Policy.HOLD:
        with pytest.raises(GemelError, match="no decision on a restored log is awaited"):
            decide(project, Role.STEWARD)


def test_until_all_have_accepted_there_is_only_the_erasure():
    project = put_back(contributed())
    words = "project p waits for the acceptance of the restored log by alice, bob, coordinator"
    assert blocking_error(project) == words
    free = {Action.ACCEPT_RESTORE, Action.REFUSE_RESTORE, Action.DECLINE, Action.ERASE}
    free |= {Action.HAND_OVER, Action.TAKE_OVER}
    for state in frozenset(State) - {State.ERASED}:
        for role in (*ALL, OWNER):
            for action in frozenset(Action) - free:
                with pytest.raises(GemelError) as caught:
                    permit(replace(project, state=state), role, action)
                assert caught.value.code is ErrorCode.NOT_ADMITTED or words in str(caught.value)
    assert words in refused(project, SYSTEM, Action.TAKE_RUN)
    assert words in refused(replace(project, state=State.HELD), SYSTEM, Action.RELEASE)
    assert erase(project, Role.COORDINATOR, "coordinator").project.state is State.ERASED
    assert permit(project, SYSTEM, Action.EXPIRE_UPLOAD)


def test_after_one_refusal_it_never_goes_on():
    project = decide(put_back(contributed()), Role.CUSTODIAN_B, accepted=False).project
    for role in (Role.CUSTODIAN_A, Role.COORDINATOR):
        project = decide(project, role).project
    assert "bob has refused the restored log" in refused(project, OWNER, Action.START_RUN)
    with pytest.raises(GemelError, match="a decision is there"):
        decide(project, Role.CUSTODIAN_B)
    assert not awaited(erase(project, Role.COORDINATOR, "coordinator").project)


def test_a_decision_is_about_one_restoration():
    project = accepted(put_back(contributed()))
    again = replace(project, restoration=SEQUENCE + 5)
    assert awaited(again) == ALL[:-1]
    with pytest.raises(GemelError, match="another restoration"):
        decide(again, Role.CUSTODIAN_A)
    assert decide(again, Role.CUSTODIAN_A, sequence=SEQUENCE + 5).changed


def test_a_run_released_after_the_backup_is_neither_repeated_nor_followed():
    """Whether the restored store has it under work, or does not know it; also after a further restoration."""
    project = accepted(put_back(running()), "run")
    run = project.run("run")
    assert run.state is RunState.FAILED
    for other in (project, accepted(put_back(contributed()), "unknown")):
        assert lost_runs(other)
        assert "was released before Carole's store was restored" in blocking_error(other)
        for actor, action in ((OWNER, Action.START_RUN), (SYSTEM, Action.TAKE_RUN)):
            assert "was released before Carole's store was restored" in refused(other, actor, action)
        assert lost_runs(accepted(replace(other, restoration=SEQUENCE + 1))) == lost_runs(other)


def test_a_run_that_no_party_knows_to_be_released_goes_on():
    project = accepted(put_back(running()))
    project = requeue_run(project, "run", Interruption.RESTARTED).project
    project = take_run(project, "run").project
    assert finish_run(project, "run", 3).project.state is State.RELEASED


def test_a_held_result_is_released_again_only_if_a_digest_proves_that_it_was():
    """Else a custodian could free by a claim what the policy holds."""
    held = put_back(finish_run(running(Policy.HOLD), "run", 3, BAD).project)
    claimed = accepted(held, "run")
    assert (claimed.state, lost_runs(claimed)) == (State.HELD, ())
    proven = decide(held, Role.CUSTODIAN_A, fetched="run").project
    assert proven.state is State.HELD  # others have not accepted yet
    for role in ALL[1:]:
        outcome = decide(proven, role)
        proven = outcome.project
    assert proven.state is State.RELEASED
    assert [entry.action for entry in outcome.entries] == [Action.ACCEPT_RESTORE, Action.RELEASE]


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.STEWARD])
def test_no_digest_but_a_custodians_proves_a_release(role):
    """The coordinator's resolver makes what the coordinator is given: it knows the digest before any release."""
    project = put_back(finish_run(running(Policy.HOLD), "run", 3, BAD).project)
    for each in ALL:
        project = decide(project, each, fetched="run" if each is role else "").project
    assert (standstill(project), project.state) == ("", State.HELD)


def test_signatures_of_a_backup_are_void_for_a_lost_refusal_cannot_be_seen():
    held = finish_run(running(Policy.HOLD), "run", 3, BAD).project
    held = replace(held, signatures=2, release_signatures=(ReleaseSignature("run", "steward", "aa", b"r", b"s"),))
    project = put_back(held)
    for role in ALL:
        assert project.release_signatures
        project = decide(project, role).project
    assert (project.state, project.release_signatures) == (State.HELD, ())


def test_another_steward_may_refuse_while_the_project_waits_and_names_what_it_knows():
    project = put_back(contributed(Policy.HOLD))
    first = decide(project, Role.STEWARD).project

    def second(project, *released, accept=True):
        runs, reason = frozenset(released), "" if accept else "a reason"
        made = RestoreDecision(SEQUENCE, Role.STEWARD, "second", accept, reason, runs)
        return decide_restore(project, made, {"role": str(Role.STEWARD)})

    assert "steward has refused the restored log" in standstill(second(first, accept=False).project)
    done = accepted(project)
    named = second(done, "lost").project
    assert lost_runs(named) == ("lost",)
    assert not second(named, "lost").changed
    with pytest.raises(GemelError, match="no decision on a restored log is awaited"):
        second(done, accept=False)


def test_a_party_that_is_not_asked_forbids_nothing():
    project = put_back(contributed())
    stewards = RestoreDecision(SEQUENCE, Role.STEWARD, "steward", True, released=frozenset({"invented"}))
    assert not lost_runs(replace(project, restore_decisions=(stewards,)))
