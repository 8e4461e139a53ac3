"""What a member is offered is what Carole's table of transitions lets that member do, in every state."""

from __future__ import annotations

import pytest

from gemel.carole.projects.project import State
from gemel.carole.projects.transitions import OWNER, TRANSITIONS, Action
from gemel.common.errors import ErrorCode
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.parties import Role
from gemel.console.coordinator.acts import Act, acts_of_coordinator, acts_of_steward, forms_among, require_act
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.refusals import refusal

RUN = project_pb2.RunState
ALIKE = {
    Act.APPROVE: Action.APPROVE,
    Act.AMEND: Action.AMEND,
    Act.START: Action.START_RUN,
    Act.NEW_EPOCH: Action.NEW_EPOCH,
    Act.HAND_OVER: Action.HAND_OVER,
    Act.ERASE: Action.ERASE,
}


def status(state: State, **more: object) -> project_pb2.ProjectStatus:
    number = project_pb2.ProjectState.Value(f"PROJECT_STATE_{state.name}")
    return project_pb2.ProjectStatus(**{"project": "births", "state": number, "owner": "registry", "epoch": 1, **more})


def allowed(actor: str, action: Action, state: State) -> bool:
    return any(actor in row.who and state in row.states for row in TRANSITIONS if row.action is action)


@pytest.mark.parametrize("state", list(State))
def test_an_owner_is_offered_what_the_table_of_transitions_lets_an_owner_do(state: State) -> None:
    offered = acts_of_coordinator(status(state), "registry")
    assert {act for act in ALIKE if act in offered} == {
        act for act, action in ALIKE.items() if allowed(OWNER, action, state)
    }
    steward = acts_of_steward(status(state), "ann", ["registry"])
    decides = {Act.RELEASE: Action.OVERRIDE, Act.REFUSE: Action.REFUSE}
    assert steward == {act for act, action in decides.items() if allowed(Role.STEWARD, action, state)}


@pytest.mark.parametrize("state", list(State))
def test_who_is_not_the_owner_is_offered_a_project_only_to_take_it_over(state: State) -> None:
    assert acts_of_coordinator(status(state), "ministry") == frozenset()
    taken = {Act.TAKE_OVER} if allowed(Role.COORDINATOR, Action.TAKE_OVER, state) else set()
    assert acts_of_coordinator(status(state, successor="ministry"), "ministry") == taken
    assert acts_of_coordinator(status(state, successor="other"), "ministry") == frozenset()


def test_a_restored_log_is_decided_on_before_all_else() -> None:
    waiting = status(State.HELD, restore_awaits=["alice", "coordinator", "steward"])
    assert acts_of_coordinator(waiting, "registry") == {Act.RESTORED, Act.HAND_OVER, Act.ERASE}
    assert acts_of_steward(waiting, "ann", ["registry"]) == {Act.RESTORED}
    others = status(State.HELD, restore_awaits=["alice"])
    assert acts_of_coordinator(others, "registry") == {Act.HAND_OVER, Act.ERASE}
    assert acts_of_steward(others, "ann", ["registry"]) == frozenset()


def test_a_run_under_way_a_last_epoch_and_a_signature_that_was_given() -> None:
    run = project_pb2.RunStatus(run="1", state=RUN.RUN_STATE_RUNNING)
    during = acts_of_coordinator(status(State.CONTRIBUTED, run=run), "registry")
    assert not during & {Act.START, Act.NEW_EPOCH, Act.RESOLVE}
    run = project_pb2.RunStatus(run="1", state=RUN.RUN_STATE_RESOLVING, stage="resolve")
    waiting = acts_of_coordinator(status(State.CONTRIBUTED, run=run), "registry")
    assert {Act.RESOLVE, Act.NEW_EPOCH} <= waiting  # a run that waits is given up
    assert Act.NEW_EPOCH not in acts_of_coordinator(status(State.KEYED, epoch=MAX_EPOCHS), "registry")
    assert acts_of_steward(status(State.HELD, signed=["ann"]), "ann", ["registry"]) == {Act.REFUSE}
    assert Act.HAND_OVER in acts_of_steward(status(State.RELEASED), "ann", ["ministry"])


def test_who_may_only_read_is_left_with_what_is_read() -> None:
    run = project_pb2.RunStatus(run="1", state=RUN.RUN_STATE_DONE)
    acts = acts_of_coordinator(status(State.RELEASED, run=run), "registry")
    assert forms_among(acts, acting=True) == acts
    assert forms_among(acts, acting=False) == {Act.RISK, Act.RESULTS}
    with refusal(ErrorCode.WRONG_STATE, "cannot be amended now"):
        require_act(Act.AMEND, forms_among(acts, acting=False), status(State.RELEASED))
