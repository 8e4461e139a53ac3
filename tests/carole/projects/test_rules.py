"""The rules of a project, case by case: who may do what when, what follows, and which task is next."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from gemel.carole.projects.operations.consent import amend, post_message, report_keys
from gemel.carole.projects.operations.contribution import begin_upload, commit_upload, decline, expire_upload
from gemel.carole.projects.operations.linking import (
    MAX_ATTEMPTS,
    Interruption,
    fail_run,
    finish_run,
    join_rows,
    request_row_handles,
    requeue_run,
    resolve_run,
    start_run,
    submit_row_handles,
    take_run,
)
from gemel.carole.projects.operations.release import acknowledge, erase, receive_variables, send_variables
from gemel.carole.projects.project import Grant, JoinedBy, MessageKind, Policy, RunState, State, Upload
from gemel.carole.projects.tasks import TaskKind, blocking_error, choose, is_over, next_task
from gemel.carole.projects.transitions import OWNER, SYSTEM, TRANSITIONS, Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.common.specification.model.granted_variables import Transfer
from tests.carole.projects.cases import (
    BAD,
    DIGEST,
    GOOD,
    GRANTS,
    REPORTS,
    THIRD,
    TRANSFERS,
    amendment,
    approved,
    contributed,
    decided,
    declining,
    new,
    queued,
    running,
    through,
)
from tests.carole.refusals import refusal
from tests.generated_docs import state_diagram

WITHOUT_ROW = {
    Action.CREATE,
    Action.DENY,
    Action.LIST_MEMBERS,
    Action.INIT,
    Action.UPGRADE,
    Action.RESTORE,
    Action.DESTROY_KEYS,
    Action.CONFIRM_CLOCK,
}
"""Actions on no project, or on none yet."""


def test_every_action_has_a_row_and_every_row_an_actor():
    assert {row.action for row in TRANSITIONS} == set(Action) - WITHOUT_ROW
    assert all(row.who and row.states for row in TRANSITIONS)
    assert all(State.ERASED not in row.states for row in TRANSITIONS)


@pytest.mark.parametrize("actor", [*Role, OWNER, SYSTEM])
def test_only_those_in_the_table_may(actor):
    for action, state in product(sorted(set(Action) - WITHOUT_ROW), State):
        rows = [row for row in TRANSITIONS if row.action is action]
        project = new(state=state)
        if any(actor in row.who and state in row.states for row in rows):
            assert permit(project, actor, action).action is action
        else:
            with pytest.raises(GemelError) as caught:
                permit(project, actor, action)
            known = any(actor in row.who for row in rows)
            assert caught.value.code is (ErrorCode.WRONG_STATE if known else ErrorCode.NOT_ADMITTED)
            assert caught.value.remedy or not known


def kind_for(project, side):
    task = next_task(project, side)
    return None if task is None else task.kind


def test_the_plain_way():
    project = running(replace(contributed(), transfers=()))
    outcome = finish_run(project, "run", 7)
    assert [entry.action for entry in outcome.entries] == [Action.FINISH_RUN, Action.RELEASE]
    assert [entry.details["state"] for entry in outcome.entries] == ["RUN", "RELEASED"]
    assert outcome.project.state is State.RELEASED
    assert {kind_for(outcome.project, side) for side in Side} == {TaskKind.FETCH}
    project = acknowledge(outcome.project, Side.ALICE, "alice", "run").project
    assert (kind_for(project, Side.ALICE), kind_for(project, Side.BOB)) == (None, TaskKind.FETCH)


def test_a_custodian_may_decline_until_the_release_and_approve_what_is_amended():
    project = queued(Policy.HOLD)
    declined = decline(project, Side.ALICE, declining(Side.ALICE))
    assert [(entry.actor, entry.action) for entry in declined.entries] == [("alice", Action.DECLINE)]
    assert declined.entries[0].details["uploads"] == "alice-1"
    after = declined.project
    assert (after.state, after.newest_run.state) == (State.DRAFT, RunState.FAILED)
    assert set(after.uploads) == {Side.BOB}
    assert "alice declined" in blocking_error(after)
    amended = amend(after, "coordinator", amendment(policy=Policy.HOLD)).project
    assert (amended.declines, blocking_error(amended)) == ({}, "")
    amended = approved(amended, THIRD)
    assert amended.state is State.KEYED  # only Alice contributes again, under the same keys
    assert (kind_for(amended, Side.ALICE), kind_for(amended, Side.BOB)) == (TaskKind.CONTRIBUTE, None)
    held = through(project, (take_run, "run"), (finish_run, "run", 3, BAD))
    assert decline(held, Side.BOB, declining(Side.BOB)).project.state is State.DRAFT
    released = decided(held, "steward", "the minister has asked for it", release=True).project
    with refusal(ErrorCode.WRONG_STATE, "cannot be taken back"):
        decline(released, Side.BOB, declining(Side.BOB))


def test_a_run_that_waits_for_handles_and_resolver_is_queued_again():
    project = through(running(contributed()), (request_row_handles, "run", 9, JoinedBy.RESOLVER))
    with pytest.raises(GemelError, match="waits for other parties"):
        take_run(project, "run")
    with pytest.raises(GemelError, match="both custodians must submit their handles"):
        resolve_run(project, "coordinator", "run", "ab", "cd")
    for side in Side:
        assert kind_for(project, side) is TaskKind.HANDLES
        project = submit_row_handles(project, side, str(side), "run").project
        assert kind_for(project, side) is None
    assert project.active_run.stage == "resolve"
    project = resolve_run(project, "coordinator", "run", "ab", "cd").project
    assert (project.active_run.state, project.active_run.attempt) == (RunState.QUEUED, 0)
    assert through(project, (take_run, "run"), (finish_run, "run", 2)).state is State.RELEASED


def test_a_run_whose_rows_carole_joins_waits_for_handles_only_and_the_join_is_recorded():
    project = queued()
    with pytest.raises(GemelError, match="no worker has the run"):
        join_rows(project, "run", "carole", dict.fromkeys(Side, 5), 9)
    outcome = request_row_handles(take_run(project, "run").project, "run", 9, JoinedBy.CAROLE)
    assert outcome.entries[0].details["joined_by"] == "carole"
    for side in Side:
        assert kind_for(outcome.project, side) is TaskKind.HANDLES
        outcome = submit_row_handles(outcome.project, side, str(side), "run")
        assert outcome.entries[0].details["joined_by"] == "carole"
    project = outcome.project
    assert (project.active_run.state, project.active_run.attempt) == (RunState.QUEUED, 0)
    with pytest.raises(GemelError, match="does not wait"):
        resolve_run(project, "coordinator", "run", "ab", "cd")
    project = take_run(project, "run").project
    (entry,) = join_rows(project, "run", "carole", {Side.ALICE: 5, Side.BOB: 4}, 9).entries
    assert (entry.actor, entry.action) == (SYSTEM, Action.JOIN)
    assert entry.details == {"run": "run", "by": "carole", "max_records": 9, "records_alice": 5, "records_bob": 4}


def test_the_seed_agreement_offers_each_step_to_who_can_take_it():
    project = new(state=State.APPROVED)

    def offered():
        return [side for side in Side if next_task(project, side) is not None]

    assert offered() == [Side.ALICE, Side.BOB]
    for side, kind, then in (
        (Side.ALICE, MessageKind.OFFER, [Side.BOB]),
        (Side.BOB, MessageKind.OFFER, [Side.ALICE, Side.BOB]),
        (Side.BOB, MessageKind.CONFIRMATION, [Side.ALICE]),
        (Side.ALICE, MessageKind.CONFIRMATION, [Side.ALICE, Side.BOB]),
    ):
        project = post_message(project, side, str(side), 1, kind, f"{side}{kind}".encode()).project
        assert offered() == then
    for side, report, then, blocked in (
        (Side.BOB, REPORTS[0], [Side.ALICE], ""),
        (Side.ALICE, REPORTS[1], [Side.ALICE, Side.BOB], "key-check values differ"),  # either may mend its keys
        (Side.ALICE, REPORTS[2], [Side.ALICE, Side.BOB], "canary digests differ"),
        (Side.ALICE, REPORTS[0], [Side.ALICE, Side.BOB], ""),
    ):
        project = report_keys(project, side, str(side), 1, report).project
        assert offered() == then
        assert blocked in blocking_error(project)
    assert (project.state, blocking_error(project)) == (State.KEYED, "")


@pytest.mark.parametrize(
    ("report", "code"), [(REPORTS[1], ErrorCode.KEY_MISMATCH), (REPORTS[2], ErrorCode.CANARY_MISMATCH)]
)
def test_agreed_keys_are_not_unagreed(report, code):
    project = contributed()
    with refusal(code):
        report_keys(project, Side.BOB, "bob", 1, report)
    assert not report_keys(project, Side.BOB, "bob", 1, REPORTS[0]).changed


@pytest.mark.parametrize("cause", list(Interruption))
def test_a_run_that_its_worker_has_left_is_queued_again_while_attempts_are_left(cause):
    project = queued()
    with pytest.raises(GemelError, match="no worker has the run"):
        requeue_run(project, "run", cause)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        project = take_run(project, "run").project
        with pytest.raises(GemelError, match="a worker has the run already"):
            take_run(project, "run")
        outcome = requeue_run(project, "run", cause)
        (entry,) = outcome.entries
        assert entry.actor == SYSTEM
        project = outcome.project
        counted = cause not in (Interruption.STOPPED, Interruption.STORAGE_FAILED, Interruption.GAVE_WAY)
        run = project.run("run")
        if counted and attempt == MAX_ATTEMPTS:
            assert (entry.action, run.state) == (Action.FAIL_RUN, RunState.FAILED)
            assert entry.details["error"] == run.error == "the worker died 3 times during this run; see Carole's log"
        else:
            assert (entry.action, run.state) == (Action.REQUEUE_RUN, RunState.QUEUED)
            assert entry.details == {"run": "run", "attempt": attempt if counted else 1, "cause": str(cause)}
            assert run.attempt == (attempt if counted else 0)
    assert project.state is State.CONTRIBUTED


def test_the_diagram_has_every_row_of_the_table_and_no_other():
    lines = state_diagram().splitlines()
    boxes = {line.split(":")[0].strip(): line for line in lines if "-->" not in line}
    arrows = [line.strip() for line in lines if "-->" in line]
    drawn = set()
    for row in TRANSITIONS:
        for state in row.states:
            if row.arrives in (None, state):
                assert str(row.action) in boxes[state.name]
            else:
                begin = f"{state.name} --> {row.arrives.name}: "
                drawn.add(begin)
                (arrow,) = (line for line in arrows if line.startswith(begin))
                assert str(row.action) in arrow
                assert row.when.text in arrow
    assert len(arrows) == len(drawn) + 2, "and one into the first state, one out of the last"
    assert set(boxes) - {"stateDiagram-v2"} == {state.name for state in State}


def test_a_second_run_is_refused_while_one_is_under_way_but_the_same_request_is_the_same_run():
    project = queued()
    assert not start_run(project, "coordinator", "r", "another name").changed
    with refusal(ErrorCode.RUN_ACTIVE):
        start_run(project, "coordinator", "s", "run-2")
    project = fail_run(project, "run", "because").project
    assert project.state is State.CONTRIBUTED
    assert start_run(project, "coordinator", "s", "run-2").changed
    assert not start_run(project, "coordinator", "r", "x").changed


def test_an_expired_contribution_is_requested_again():
    project = expire_upload(contributed(), Side.BOB, "bob-1").project
    assert project.state is State.KEYED
    assert next_task(project, Side.ALICE) is None
    assert kind_for(project, Side.BOB) is TaskKind.CONTRIBUTE
    assert "bob" in blocking_error(project)


def test_an_unfinished_upload_that_expires_beside_the_one_that_counts_changes_no_state():
    project = replace(contributed(), state=State.KEYED, uploads={Side.BOB: Upload("bob-1", True, 5, 50)})
    project = begin_upload(project, Side.BOB, "bob", Upload("bob-2", False, 5, 50)).project
    assert set(project.pending) == {Side.BOB}
    assert project.contributed(Side.BOB)
    outcome = expire_upload(project, Side.BOB, "bob-2")
    assert [entry.action for entry in outcome.entries] == [Action.EXPIRE_UPLOAD]
    assert not outcome.project.pending
    assert outcome.project.contributed(Side.BOB)
    assert outcome.project.state is State.KEYED
    assert not expire_upload(outcome.project, Side.BOB, "bob-2").changed


def test_an_upload_is_begun_again_with_the_same_layout_only():
    project = replace(contributed(), state=State.KEYED, uploads={Side.BOB: Upload("bob-1", True, 5, 50)})
    begun = Upload("bob-2", False, 5, 50, layout="one")
    project = begin_upload(project, Side.BOB, "bob", begun).project
    assert not begin_upload(project, Side.BOB, "bob", begun).changed
    with refusal(ErrorCode.CHUNK_CONFLICT):
        begin_upload(project, Side.BOB, "bob", replace(begun, layout="another"))
    project = commit_upload(project, Side.BOB, "bob", begun).project
    assert project.uploads[Side.BOB].upload == "bob-2"
    assert not project.pending


@pytest.mark.parametrize(
    "operation",
    [
        partial(start_run, member="coordinator", request="s", name="run-2"),
        partial(amend, member="coordinator", terms=amendment()),
        partial(expire_upload, side=Side.BOB, upload="bob-1"),
    ],
    ids=["start", "amend", "expire"],
)
def test_a_waiting_run_is_ended_by_what_follows_with_a_separate_entry(operation):
    with refusal(ErrorCode.RUN_ACTIVE):
        operation(queued())
    outcome = operation(through(queued(), (take_run, "run"), (request_row_handles, "run", 9, JoinedBy.RESOLVER)))
    assert outcome.entries[0].action is Action.FAIL_RUN
    assert len(outcome.entries) == 2
    run = outcome.project.run("run")
    assert run.state is RunState.FAILED
    assert "while" in run.error


def test_an_older_result_is_acknowledged_to_no_effect():
    project = finish_run(running(contributed()), "run", 1).project
    assert not acknowledge(project, Side.ALICE, "alice", "an older run").changed
    assert acknowledge(project, Side.ALICE, "alice", "run").project.acknowledged == {Side.ALICE}


def test_nothing_granted_nothing_offered():
    grants = {**GRANTS, Role.CUSTODIAN_B: Grant.NOTHING}
    project = finish_run(running(replace(contributed(), grants=grants)), "run", 1).project
    assert next_task(project, Side.ALICE) is not None
    assert next_task(project, Side.BOB) is None


def test_a_project_whose_keys_disagree_does_not_hide_the_others():
    broken = new(name="broken", state=State.APPROVED, reports=dict(zip(Side, REPORTS, strict=False)))
    draft = new(name="draft")
    assert choose([broken, draft], Side.ALICE, ()).project == "draft"
    assert choose([broken, draft], Side.ALICE, {"draft"}).project == "broken"
    assert choose([broken, draft], Side.ALICE, {"draft", "broken"}) is None


def test_agreement_messages_are_bounded_and_never_replaced():
    project = new(state=State.APPROVED)
    for payload in (b"", b"x" * 4097):
        with refusal(ErrorCode.PARAMETER):
            post_message(project, Side.BOB, "bob", 1, MessageKind.OFFER, payload)
    project = post_message(project, Side.BOB, "bob", 1, MessageKind.OFFER, b"x" * 4096).project
    with refusal(ErrorCode.EXISTS):
        post_message(project, Side.BOB, "bob", 1, MessageKind.OFFER, b"y")
    with refusal(ErrorCode.EPOCH_MISMATCH):
        post_message(project, Side.BOB, "bob", 2, MessageKind.OFFER, b"y")


def finished(policy, policy_decision):
    return finish_run(running(contributed(policy)), "run", 7, policy_decision)


@pytest.mark.parametrize(
    ("policy", "policy_decision", "actions", "state"),
    [
        (Policy.REFUSE, GOOD, [Action.FINISH_RUN, Action.ASSESS, Action.RELEASE], State.RELEASED),
        (Policy.REFUSE, BAD, [Action.FINISH_RUN, Action.ASSESS, Action.REFUSE], State.ASSESSED),
        (Policy.HOLD, GOOD, [Action.FINISH_RUN, Action.ASSESS, Action.RELEASE], State.RELEASED),
        (Policy.HOLD, BAD, [Action.FINISH_RUN, Action.ASSESS, Action.HOLD], State.HELD),
    ],
)
def test_a_result_is_assessed(policy, policy_decision, actions, state):
    outcome = finished(policy, policy_decision)
    assert [entry.action for entry in outcome.entries] == actions
    assert outcome.project.state is state
    assert outcome.entries[1].details["risk"] == policy_decision.measures["risk"]
    assert (next_task(outcome.project, Side.ALICE) is not None) == (state is State.RELEASED)


@pytest.mark.parametrize(
    ("policy", "policy_decision"), [(Policy.REFUSE, None), (Policy.HOLD, None), (Policy.NONE, GOOD)]
)
def test_no_assessment_no_release(policy, policy_decision):
    with pytest.raises(GemelError, match="without the assessment"):
        finished(policy, policy_decision)


def test_a_steward_decides_on_a_held_result():
    held = finished(Policy.HOLD, BAD).project
    with pytest.raises(GemelError, match="needs a reason"):
        decided(held, "steward", "  ok  \n", release=True)
    overridden = decided(held, "steward", "the registry's own staff only, see May", release=True)
    assert [entry.action for entry in overridden.entries] == [Action.OVERRIDE, Action.RELEASE]
    assert overridden.entries[0].details["signature"] == b"s".hex()
    assert overridden.project.state is State.RELEASED
    refused = decided(held, "steward", "too few people in the north", release=False).project
    assert refused.state is State.ASSESSED
    with pytest.raises(GemelError):
        decided(refused, "steward", "the minister has asked for it", release=True)


def test_an_amended_specification_needs_all_parties_and_continues_where_the_project_was():
    project = finished(Policy.REFUSE, BAD).project
    with pytest.raises(GemelError, match="may not change what was signed"):
        amend(project, "coordinator", amendment(DIGEST, policy=Policy.REFUSE))
    project = approved(amend(project, "coordinator", amendment(policy=Policy.REFUSE)).project, THIRD)
    assert project.state is State.CONTRIBUTED
    again = (start_run, "coordinator", "again", "run-2"), (take_run, "run-2"), (finish_run, "run-2", 5, GOOD)
    project = through(project, *again)
    assert [run.released for run in project.runs] == [False, True]
    assert next_task(project, Side.BOB).run == "run-2"


def released(**changes):
    """A project brought directly to RELEASED, whose shares both custodians have."""
    project = replace(contributed(), **changes)
    return through(running(project), (finish_run, "run", 7), *((acknowledge, s, str(s), "run") for s in Side))


def test_granted_columns_are_sent_and_received_once_both_have_their_shares():
    to_bob, to_institute = TRANSFERS
    project = released()
    task = next_task(project, Side.ALICE)
    assert (task.kind, task.run, task.recipient) == (TaskKind.SEND_VARIABLES, "run", "bob")
    sent = send_variables(project, "alice", "run", to_bob, 8192)
    assert sent.entries[0].details == {"run": "run", "recipient": "bob", "bytes": 8192}
    assert next_task(sent.project, Side.ALICE) is None
    project = send_variables(sent.project, "bob", "run", to_institute, 4096).project
    assert kind_for(project, Side.BOB) is TaskKind.FETCH_VARIABLES
    project = receive_variables(project, Role.CUSTODIAN_B, "bob", "run", to_bob).project
    assert next_task(project, Side.BOB) is None
    project = receive_variables(project, Role.ANALYST, "institute", "run", to_institute).project
    assert project.received == frozenset(TRANSFERS)
    amended = amend(project, "coordinator", amendment(transfers=(to_bob,))).project
    assert (amended.transfers, amended.sent, amended.received) == ((to_bob,), frozenset(), frozenset())


@pytest.mark.parametrize(
    ("run", "transfer", "code"),
    [
        ("run", Transfer(Side.ALICE, "institute"), ErrorCode.NOT_FOUND),  # not granted
        ("run", Transfer(Side.BOB, "alice"), ErrorCode.NOT_FOUND),
        ("former", TRANSFERS[0], ErrorCode.WRONG_STATE),
    ],
)
def test_what_is_not_granted_or_of_another_run_is_not_taken(run, transfer, code):
    with refusal(code):
        send_variables(released(), str(transfer.sender), run, transfer, 4096)


@pytest.mark.parametrize("state", [state for state in State if state is not State.RELEASED])
def test_nothing_is_sent_or_received_before_the_gate_or_after_the_end(state):
    project = replace(released(), state=state)
    with refusal(ErrorCode.WRONG_STATE):
        send_variables(project, "alice", "run", TRANSFERS[0], 4096)
    with refusal(ErrorCode.WRONG_STATE):
        receive_variables(replace(project, sent=frozenset(TRANSFERS)), Role.CUSTODIAN_B, "bob", "run", TRANSFERS[0])


def test_a_custodian_sends_after_it_has_confirmed_its_share():
    project = replace(released(), acknowledged=frozenset({Side.BOB}))
    assert kind_for(project, Side.ALICE) is TaskKind.FETCH
    with pytest.raises(GemelError, match="confirmed its share"):
        send_variables(project, "alice", "run", TRANSFERS[0], 4096)


def test_a_project_is_over_for_a_custodian_that_has_all_it_will_get():
    to_bob, to_institute = TRANSFERS
    assert not any(is_over(contributed(), side) for side in Side)
    project = released()
    assert not any(is_over(project, side) for side in Side)
    project = send_variables(project, "bob", "run", to_institute, 4096).project
    # Bob has nothing to do, and still waits for what Alice sends.
    assert next_task(project, Side.BOB) is None
    assert [is_over(project, side) for side in Side] == [False, False]
    project = send_variables(project, "alice", "run", to_bob, 8192).project
    assert [is_over(project, side) for side in Side] == [True, False]
    project = receive_variables(project, Role.CUSTODIAN_B, "bob", "run", to_bob).project
    assert all(is_over(project, side) for side in Side)
    assert not any(is_over(replace(project, restoration=9), side) for side in Side)
    amended = amend(project, "coordinator", amendment(transfers=(to_bob,))).project
    assert not any(is_over(amended, side) for side in Side)
    assert all(is_over(erase(project, Role.COORDINATOR, "coordinator").project, side) for side in Side)


def test_a_refused_or_held_result_sends_nothing():
    for policy in (Policy.REFUSE, Policy.HOLD):
        project = finish_run(running(contributed(policy)), "run", 7, BAD).project
        assert project.state in (State.ASSESSED, State.HELD)
        assert all(next_task(project, side) is None for side in Side)
