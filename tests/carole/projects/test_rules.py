"""The rules of a project under random operations, in any order, by any actor, repeatedly.

What is not a failure: an operation that is refused with a `GemelError`; the same operation again, which changes
nothing; operations of both sides in any order. What is a failure: an exception of another kind; a state that is
reached without its conditions, or by an actor who may not; a change without an audit entry, or an entry without
a change; a state that goes back, but for a contribution that has expired; anything after ERASED.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gemel.carole.projects.operations.consent import (
    amend,
    approve,
    hand_over,
    open_epoch,
    post_message,
    report_keys,
    take_over,
)
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
from gemel.carole.projects.operations.outcome import Entry, Outcome
from gemel.carole.projects.operations.release import (
    acknowledge,
    decide_restore,
    erase,
    expire_result,
    override,
    receive_variables,
    refuse,
    send_variables,
)
from gemel.carole.projects.project import (
    Approval,
    Decline,
    Grant,
    JoinedBy,
    KeyReport,
    MessageKind,
    NewEpoch,
    PendingHandOver,
    Policy,
    PolicyDecision,
    Project,
    ReleaseSignature,
    RestoreDecision,
    RunState,
    State,
    Upload,
)
from gemel.carole.projects.tasks import TaskKind, blocking_error, choose, is_over, next_task
from gemel.carole.projects.transitions import OWNER, SYSTEM, TRANSITIONS, Action, permit
from gemel.common.audit import Checkpoint
from gemel.common.audit.hand_over import HandOver, TakeOver
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role, Side
from gemel.common.specification.model.granted_variables import Transfer
from tests.carole.refusals import refusal
from tests.generated_docs import state_diagram

DIGEST, OTHER, THIRD = b"\1" * 32, b"\2" * 32, b"\3" * 32
GOOD, BAD = PolicyDecision({"risk": 0.1}, (), b"r" * 32), PolicyDecision({"risk": 0.5}, ("risk",), b"r" * 32)
GRANTS = dict.fromkeys(CUSTODIANS, Grant.LINKS) | {Role.COORDINATOR: Grant.STATISTICS}

TRANSFERS = (Transfer(Side.ALICE, "bob"), Transfer(Side.BOB, "institute"))

SEEN = Checkpoint("ab" * 16, 3, bytes(32), 1, b"s")

sides = st.sampled_from(list(Side))
roles = st.sampled_from(list(Role))
names = st.sampled_from(["one", "two"])
REPORTS = [KeyReport(b"k" * 8, b"c" * 32), KeyReport(b"x" * 8, b"c" * 32), KeyReport(b"k" * 8, b"y" * 32)]


def new(**changes: object) -> Project:
    made = Project("p", DIGEST, OTHER, GRANTS, owner="coordinator", transfers=TRANSFERS)
    return replace(made, **changes)


def declining(side: Side, digest: bytes = DIGEST) -> Decline:
    return Decline(str(side), digest, "we may not send the postcode", b"s")


def opened(epoch: int) -> NewEpoch:
    return NewEpoch(epoch, "coordinator", "their canaries differ", f"signed {epoch}".encode())


def offered(project: Project, to: str, member: str) -> PendingHandOver:
    """An offer of the project; the same one is the same, however often it is made."""
    statement = HandOver(project.name, project.owner, to, SEEN, "she leaves for the ministry")
    return PendingHandOver(statement, member, f"{member} to {to}".encode())


def taken(project: Project, member: str) -> tuple[TakeOver, bytes, Approval, NewEpoch | None]:
    offer = b"" if project.hand_over is None else project.hand_over.signature
    consent = Approval(member, project.specification_digest, b"c", epoch=project.epoch)
    opening = None if project.new_epoch is None else replace(project.new_epoch, member=member)
    return TakeOver(project.name, project.owner, member, SEEN, offer), b"t", consent, opening


COORDINATORS: dict[Action, Callable[[Project, str], Outcome]] = {
    Action.APPROVE: lambda known, who: approve(
        known, Role.COORDINATOR, Approval(who, known.specification_digest, b"s", epoch=known.epoch)
    ),
    Action.AMEND: lambda known, who: amend(known, who, THIRD, OTHER, GRANTS, known.policy),
    Action.NEW_EPOCH: lambda known, who: open_epoch(known, replace(opened(known.epoch + 1), member=who)),
    Action.START_RUN: lambda known, who: start_run(known, who, "another", "run-another"),
    Action.RESOLVE_RUN: lambda known, who: resolve_run(known, who, "run-one", "ab", "cd"),
    Action.ERASE: lambda known, who: erase(known, Role.COORDINATOR, who),
    Action.HAND_OVER: lambda known, who: hand_over(known, Role.COORDINATOR, offered(known, who, who)),
    Action.ACCEPT_RESTORE: lambda known, who: decide_restore(
        known, RestoreDecision(known.restoration, Role.COORDINATOR, who, True), {}
    ),
    Action.REFUSE_RESTORE: lambda known, who: decide_restore(
        known, RestoreDecision(known.restoration, Role.COORDINATOR, who, False, "a reason"), {}
    ),
}
"""Everything that a project's owner may do, as its operation by a coordinator of this name."""


STEWARDS = {"steward": "aa", "second": "bb"}
"""Those of the membership list, and their identities."""


def decided(project: Project, member: str, reason: str, name: str = "run", *, release: bool) -> Outcome:
    """A steward's decision, whose signature has been verified."""
    given = ReleaseSignature(name, member, STEWARDS[member], b"r" * 32, b"s")
    if release:
        return override(project, given, reason, STEWARDS)
    return refuse(project, given, reason)


class AnyOrder(RuleBasedStateMachine):
    @initialize(far=st.booleans(), policy=st.sampled_from(Policy), signatures=st.sampled_from([1, 2]))
    def begin(self, far: bool, policy: Policy, signatures: int) -> None:
        # Half of the sequences start where both have contributed: few random ones would get that far.
        self.project = replace(contributed(policy) if far else new(policy=policy), signatures=signatures)
        self.entries: list[Entry] = []

    def attempt(self, operation: object, *arguments: object) -> Outcome | None:
        before = self.project
        try:
            outcome = operation(before, *arguments)
        except GemelError:
            return None
        assert isinstance(outcome, Outcome)
        if outcome.project == before:
            assert not outcome.entries or outcome.entries[0].action in _SILENT
        else:
            assert outcome.entries
        self.project = outcome.project
        self.entries += outcome.entries
        self.check_step(before, outcome)
        again = self.repeated(operation, *arguments)
        assert again is None or not again.changed or outcome.entries[0].action in _SILENT
        return outcome

    def member(self, role: Role) -> str:
        return self.project.owner if role is Role.COORDINATOR else str(role)

    def repeated(self, operation: object, *arguments: object) -> Outcome | None:
        try:
            return operation(self.project, *arguments)
        except GemelError:
            return None

    def check_step(self, before: Project, outcome: Outcome) -> None:
        after = outcome.project
        assert before.state is not State.ERASED or not outcome.changed
        if after.state < before.state:
            if outcome.entries[-1].action is Action.EXPIRE_UPLOAD:
                assert (before.state, after.state) == (State.CONTRIBUTED, State.KEYED)
            elif outcome.entries[-1].action in (Action.AMEND, Action.DECLINE, Action.NEW_EPOCH):
                assert after.state is State.DRAFT
            else:
                assert outcome.entries[0].action is Action.REFUSE
                assert (before.state, after.state) == (State.HELD, State.ASSESSED)
        if len({run.run for run in after.runs if run.released}) > len({r.run for r in before.runs if r.released}):
            actions = [entry.action for entry in outcome.entries]
            assert actions[-1] is Action.RELEASE
            if before.policy is not Policy.NONE:
                assert Action.ASSESS in actions or Action.OVERRIDE in actions
        if after.state is not before.state:
            reported = [entry.details["state"] for entry in outcome.entries if "state" in entry.details]
            assert reported[-1] == after.state.name

    @rule(role=roles, digest=st.sampled_from([DIGEST, DIGEST, THIRD, OTHER]))
    def approve(self, role: Role, digest: bytes) -> None:
        self.attempt(approve, role, Approval(self.member(role), digest, b"s", epoch=self.project.epoch))

    @rule(role=roles, epoch=st.sampled_from([1, 2]))
    def approve_in(self, role: Role, epoch: int) -> None:
        other = epoch != self.project.epoch
        outcome = self.attempt(approve, role, Approval(self.member(role), DIGEST, b"s", epoch=epoch))
        assert not other or outcome is None or self.project.state is State.ERASED

    @rule(side=sides, digest=st.sampled_from([DIGEST, DIGEST, THIRD]), often=names)
    def decline(self, side: Side, digest: bytes, often: str) -> None:
        if often == "one":
            outcome = self.attempt(decline, side, declining(side, digest))
            if outcome is not None and outcome.changed:
                project = outcome.project
                assert project.state is State.DRAFT
                assert project.active_run is None
                assert side in project.declines
                assert side not in {*project.uploads, *project.pending}
                assert side.role not in project.approvals

    @rule(side=sides, epoch=st.sampled_from([1, 1, 1, 2]), kind=st.sampled_from(list(MessageKind)), payload=names)
    def message(self, side: Side, epoch: int, kind: MessageKind, payload: str) -> None:
        self.attempt(post_message, side, str(side), epoch, kind, payload.encode())

    @rule(side=sides, epoch=st.sampled_from([1, 1, 1, 2]), report=st.sampled_from([REPORTS[0], *REPORTS]))
    def report(self, side: Side, epoch: int, report: KeyReport) -> None:
        self.attempt(report_keys, side, str(side), epoch, report)

    @rule(epoch=st.sampled_from([2, 2, 3, 4]), often=names)
    def open_epoch(self, epoch: int, often: str) -> None:
        if often == "one":
            outcome = self.attempt(open_epoch, replace(opened(epoch), member=self.project.owner))
            if outcome is not None and outcome.changed:
                project = outcome.project
                assert (project.state, project.epoch) == (State.DRAFT, epoch)
                assert not any((project.messages, project.reports, project.uploads, project.pending))
                assert set(project.approvals) == {Role.COORDINATOR}
                assert project.released_run is None

    @rule(side=sides, name=names)
    def upload(self, side: Side, name: str) -> None:
        self.attempt(begin_upload, side, str(side), Upload(name, False, 5, 50))

    @rule(side=sides, name=names)
    def commit(self, side: Side, name: str) -> None:
        self.attempt(commit_upload, side, str(side), Upload(name, False, 5, 50))

    @rule(request=names)
    def start(self, request: str) -> None:
        self.attempt(start_run, self.project.owner, request, f"run-{request}")

    @rule(name=names)
    def take(self, name: str) -> None:
        self.attempt(take_run, f"run-{name}")

    @rule(name=names, cause=st.sampled_from(Interruption))
    def interrupt(self, name: str, cause: Interruption) -> None:
        before = self.project.run(f"run-{name}")
        outcome = self.attempt(requeue_run, f"run-{name}", cause)
        if outcome is None or before is None:
            assert before is None or before.state is not RunState.RUNNING
            return
        after = outcome.project.run(f"run-{name}")
        free = cause in (Interruption.STOPPED, Interruption.STORAGE_FAILED, Interruption.GAVE_WAY)
        spent = before.attempt >= MAX_ATTEMPTS and not free
        assert outcome.entries[0].action is (Action.FAIL_RUN if spent else Action.REQUEUE_RUN)
        assert after.state is (RunState.FAILED if spent else RunState.QUEUED)
        assert after.attempt == before.attempt - free

    @rule(name=names)
    def fail(self, name: str) -> None:
        self.attempt(fail_run, f"run-{name}", "because")

    @rule(name=names, by=st.sampled_from(JoinedBy))
    def request_row_handles(self, name: str, by: JoinedBy) -> None:
        self.attempt(request_row_handles, f"run-{name}", 3, by)

    @rule(name=names)
    def join(self, name: str) -> None:
        self.attempt(join_rows, f"run-{name}", "carole", dict.fromkeys(Side, 2), 3)

    @rule(name=names, side=sides)
    def hand(self, name: str, side: Side) -> None:
        self.attempt(submit_row_handles, side, str(side), f"run-{name}")

    @rule(name=names)
    def resolve(self, name: str) -> None:
        self.attempt(resolve_run, self.project.owner, f"run-{name}", "ab", "cd")

    @rule(name=names, policy_decision=st.sampled_from([None, GOOD, BAD, BAD]))
    def finish(self, name: str, policy_decision: PolicyDecision | None) -> None:
        self.attempt(finish_run, f"run-{name}", 3, policy_decision)

    @rule(
        name=names,
        member=st.sampled_from([*STEWARDS]),
        release=st.booleans(),
        reason=st.sampled_from(["", "the minister has asked for it twice"]),
    )
    def decide(self, name: str, member: str, release: bool, reason: str) -> None:
        before = {one.member for one in self.project.release_signatures}
        outcome = self.attempt(partial(decided, release=release), member, reason, f"run-{name}")
        if outcome is not None and Action.RELEASE in [entry.action for entry in outcome.entries]:
            assert len(before | {member}) == self.project.signatures

    @rule(digest=st.sampled_from([DIGEST, THIRD]), encoding=st.sampled_from([OTHER, OTHER, DIGEST]), often=names)
    def amend(self, digest: bytes, encoding: bytes, often: str) -> None:
        if often == "one":
            kept = GRANTS, self.project.policy, self.project.signatures
            self.attempt(amend, self.project.owner, digest, encoding, *kept)

    @rule(side=sides)
    def acknowledge(self, side: Side) -> None:
        self.attempt(acknowledge, side, str(side), "run-one")

    @rule(side=sides, name=names)
    def expire(self, side: Side, name: str) -> None:
        self.attempt(expire_upload, side, name)

    @rule(role=roles, often=st.integers(0, 9))
    def erase(self, role: Role, often: int) -> None:
        if often == 0 or role is not Role.COORDINATOR:
            self.attempt(erase, role, self.member(role))

    @rule(often=st.integers(0, 9))
    def expire_result(self, often: int) -> None:
        if often == 0:
            self.attempt(expire_result)

    @rule(transfer=st.sampled_from([*TRANSFERS, Transfer(Side.ALICE, "institute")]), name=names)
    def send_variables(self, transfer: Transfer, name: str) -> None:
        before = self.project
        run = f"run-{name}"
        outcome = self.attempt(send_variables, str(transfer.sender), run, transfer, 4096)
        if outcome is not None:
            assert before.state is State.RELEASED, "only after the gate"
            assert transfer in before.transfers
            assert transfer.sender in before.acknowledged

    @rule(transfer=st.sampled_from(TRANSFERS), role=roles, name=names)
    def receive_variables(self, transfer: Transfer, role: Role, name: str) -> None:
        before = self.project
        outcome = self.attempt(receive_variables, role, str(role), f"run-{name}", transfer)
        if outcome is not None:
            assert before.state is State.RELEASED
            assert transfer in before.sent
            assert role in CUSTODIANS | {Role.ANALYST}

    @rule(by=st.sampled_from(["owner", "rival", "steward"]), to=st.sampled_from(["rival", "coordinator"]))
    def hand_over(self, by: str, to: str) -> None:
        before = self.project
        role = Role.STEWARD if by == "steward" else Role.COORDINATOR
        member = before.owner if by == "owner" else by
        offer = offered(before, to, member)
        outcome = self.attempt(hand_over, role, offer)
        if outcome is not None:
            assert member == before.owner or role is Role.STEWARD
            assert outcome.project.owner == before.owner
            assert outcome.project.hand_over == (None if to == before.owner else offer)

    @rule(member=st.sampled_from(["rival", "coordinator"]))
    def take_over(self, member: str) -> None:
        before = self.project
        outcome = self.attempt(take_over, *taken(before, member))
        if outcome is not None and outcome.changed:
            assert (before.hand_over.statement.successor, outcome.project.owner) == (member, member)
            assert outcome.project.hand_over is None
            assert (Role.COORDINATOR in before.approvals) == (Role.COORDINATOR in outcome.project.approvals)

    @rule(number=st.integers(0, len(COORDINATORS) - 1))
    def by_another(self, number: int) -> None:
        """A coordinator that the project does not belong to."""
        rival = "rival" if self.project.owner == "coordinator" else "coordinator"
        with refusal(ErrorCode.NOT_ADMITTED):
            [*COORDINATORS.values()][number](self.project, rival)

    @invariant()
    def the_state_is_what_it_stands_for(self) -> None:
        project = self.project
        # What custodians enter an epoch by is signed by who owns the project now.
        assert (project.epoch > 1) == (project.new_epoch is not None)
        assert project.new_epoch is None or project.new_epoch.member == project.owner
        if project.state is State.ERASED:
            assert not (project.messages)
            assert not (project.reports)
            assert not (project.uploads)
            assert not (project.active_run)
            return
        assert (project.state >= State.APPROVED) == ({Role.COORDINATOR, *CUSTODIANS} == project.approvals.keys())
        assert all(approval.digest == project.specification_digest for approval in project.approvals.values())
        assert all(declined.digest == project.specification_digest for declined in project.declines.values())
        assert not {side.role for side in project.declines} & project.approvals.keys()
        if project.state >= State.KEYED:
            assert project.reports[Side.ALICE] == project.reports[Side.BOB]
        if project.state is State.KEYED:
            assert not all(project.contributed(side) for side in Side)
        if project.state is State.CONTRIBUTED:
            assert all(project.contributed(side) for side in Side)
        assert project.state is not State.RUN, "a run's end and its release are one step"
        done = [run for run in project.runs if run.state is RunState.DONE]
        if project.state in (State.RELEASED, State.ASSESSED, State.HELD):
            assert done
            assert done[-1].released is (project.state is State.RELEASED)
        assert all(run.state is RunState.DONE for run in project.runs if run.released)
        assert project.received <= project.sent <= frozenset(project.transfers)
        assert project.state is State.RELEASED or not project.sent
        assert project.policy is Policy.HOLD or project.state is not State.HELD
        assert project.state is State.HELD or not project.release_signatures
        assert len({one.member for one in project.release_signatures}) == len(project.release_signatures)
        assert len(project.release_signatures) < project.signatures
        assert sum(run.state.active for run in project.runs) <= (project.state is State.CONTRIBUTED)

    @invariant()
    def tasks_fit_the_state(self) -> None:
        for side in Side:
            task = next_task(self.project, side)
            if task is not None:
                expected = {
                    TaskKind.APPROVE: State.DRAFT,
                    TaskKind.AGREE: State.APPROVED,
                    TaskKind.CONTRIBUTE: State.KEYED,
                    TaskKind.FETCH: State.RELEASED,
                    TaskKind.HANDLES: State.CONTRIBUTED,
                    TaskKind.SEND_VARIABLES: State.RELEASED,
                    TaskKind.FETCH_VARIABLES: State.RELEASED,
                }[task.kind]
                assert self.project.state is expected
        active = self.project.active_run
        waits = (
            active is not None
            and active.state is RunState.RESOLVING
            and active.stage in ("handles", "handles-for-carole")
        )
        if self.project.state is State.CONTRIBUTED:
            assert any(next_task(self.project, side) for side in Side) is waits
        # While the project waits for custodians only, at least one of them has something to do.
        if self.project.state is State.APPROVED or self.project.state is State.KEYED:
            assert any(next_task(self.project, side) for side in Side)


_SILENT = {Action.JOIN}
"""An action that changes nothing in a `Project`: the record of a join. It is recorded again when repeated."""

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

TestAnyOrder = AnyOrder.TestCase


def test_every_action_has_a_row_and_every_row_an_actor() -> None:
    assert {row.action for row in TRANSITIONS} == set(Action) - WITHOUT_ROW
    assert all(row.who and row.states for row in TRANSITIONS)
    assert all(State.ERASED not in row.states for row in TRANSITIONS)


@pytest.mark.parametrize("actor", [*Role, OWNER, SYSTEM])
def test_only_those_in_the_table_may(actor) -> None:
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


def through(project: Project, *steps: tuple[Any, ...]) -> Project:
    """A project after operations, each with its arguments, one after the other."""
    for operation, *arguments in steps:
        project = operation(project, *arguments).project
    return project


def approved(project: Project, digest: bytes = DIGEST) -> Project:
    """A draft to which all consent."""
    for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B):
        assert project.state is State.DRAFT
        project = approve(project, role, Approval(str(role), digest, b"s")).project
    return project


def contributed(policy: Policy = Policy.NONE) -> Project:
    """A project brought directly to CONTRIBUTED."""
    project = approved(new(policy=policy))
    assert project.state is State.APPROVED
    project = through(project, *((report_keys, side, str(side), 1, REPORTS[0]) for side in Side))
    assert project.state is State.KEYED
    for side in Side:
        upload = side, str(side), Upload(f"{side}-1", False, 5, 50)
        project = through(project, (begin_upload, *upload), (commit_upload, *upload))
    assert project.state is State.CONTRIBUTED
    return project


def queued(policy: Policy = Policy.NONE) -> Project:
    """A project with a run that no worker has."""
    return start_run(contributed(policy), "coordinator", "r", "run").project


def running(project: Project) -> Project:
    """A project with a run that a worker has."""
    return through(project, (start_run, "coordinator", "r", "run"), (take_run, "run"))


def kind_for(project: Project, side: Side) -> TaskKind | None:
    task = next_task(project, side)
    return None if task is None else task.kind


def test_the_plain_way() -> None:
    project = running(replace(contributed(), transfers=()))
    outcome = finish_run(project, "run", 7)
    assert [entry.action for entry in outcome.entries] == [Action.FINISH_RUN, Action.RELEASE]
    assert [entry.details["state"] for entry in outcome.entries] == ["RUN", "RELEASED"]
    assert outcome.project.state is State.RELEASED
    assert {kind_for(outcome.project, side) for side in Side} == {TaskKind.FETCH}
    project = acknowledge(outcome.project, Side.ALICE, "alice", "run").project
    assert (kind_for(project, Side.ALICE), kind_for(project, Side.BOB)) == (None, TaskKind.FETCH)


def test_a_custodian_may_decline_until_the_release_and_approve_what_is_amended() -> None:
    project = queued(Policy.HOLD)
    declined = decline(project, Side.ALICE, declining(Side.ALICE))
    assert [(entry.actor, entry.action) for entry in declined.entries] == [("alice", Action.DECLINE)]
    assert declined.entries[0].details["uploads"] == "alice-1"
    after = declined.project
    assert (after.state, after.newest_run.state) == (State.DRAFT, RunState.FAILED)
    assert set(after.uploads) == {Side.BOB}
    assert "alice declined" in blocking_error(after)
    amended = amend(after, "coordinator", THIRD, OTHER, GRANTS, Policy.HOLD).project
    assert (amended.declines, blocking_error(amended)) == ({}, "")
    amended = approved(amended, THIRD)
    assert amended.state is State.KEYED  # only Alice contributes again, under the same keys
    assert (kind_for(amended, Side.ALICE), kind_for(amended, Side.BOB)) == (TaskKind.CONTRIBUTE, None)
    held = through(project, (take_run, "run"), (finish_run, "run", 3, BAD))
    assert decline(held, Side.BOB, declining(Side.BOB)).project.state is State.DRAFT
    released = decided(held, "steward", "the minister has asked for it", release=True).project
    with refusal(ErrorCode.WRONG_STATE, "cannot be taken back"):
        decline(released, Side.BOB, declining(Side.BOB))


def test_a_run_that_waits_for_handles_and_resolver_is_queued_again() -> None:
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


def test_a_run_whose_rows_carole_joins_waits_for_handles_only_and_the_join_is_recorded() -> None:
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


def test_the_seed_agreement_offers_each_step_to_who_can_take_it() -> None:
    project = new(state=State.APPROVED)

    def offered() -> list[Side]:
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
def test_agreed_keys_are_not_unagreed(report, code) -> None:
    project = contributed()
    with refusal(code):
        report_keys(project, Side.BOB, "bob", 1, report)
    assert not report_keys(project, Side.BOB, "bob", 1, REPORTS[0]).changed


@pytest.mark.parametrize("cause", list(Interruption))
def test_a_run_that_its_worker_has_left_is_queued_again_while_attempts_are_left(cause) -> None:
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


def test_the_diagram_has_every_row_of_the_table_and_no_other() -> None:
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


def test_a_second_run_is_refused_while_one_is_under_way_but_the_same_request_is_the_same_run() -> None:
    project = queued()
    assert not start_run(project, "coordinator", "r", "another name").changed
    with refusal(ErrorCode.RUN_ACTIVE):
        start_run(project, "coordinator", "s", "run-2")
    project = fail_run(project, "run", "because").project
    assert project.state is State.CONTRIBUTED
    assert start_run(project, "coordinator", "s", "run-2").changed
    assert not start_run(project, "coordinator", "r", "x").changed


def test_an_expired_contribution_is_requested_again() -> None:
    project = expire_upload(contributed(), Side.BOB, "bob-1").project
    assert project.state is State.KEYED
    assert next_task(project, Side.ALICE) is None
    assert kind_for(project, Side.BOB) is TaskKind.CONTRIBUTE
    assert "bob" in blocking_error(project)


def test_an_unfinished_upload_that_expires_beside_the_one_that_counts_changes_no_state() -> None:
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


def test_an_upload_is_begun_again_with_the_same_layout_only() -> None:
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
        partial(amend, member="coordinator", digest=THIRD, encoding=OTHER, grants=GRANTS, policy=Policy.NONE),
        partial(expire_upload, side=Side.BOB, upload="bob-1"),
    ],
    ids=["start", "amend", "expire"],
)
def test_a_waiting_run_is_ended_by_what_follows_with_a_separate_entry(operation) -> None:
    with refusal(ErrorCode.RUN_ACTIVE):
        operation(queued())
    outcome = operation(through(queued(), (take_run, "run"), (request_row_handles, "run", 9, JoinedBy.RESOLVER)))
    assert outcome.entries[0].action is Action.FAIL_RUN
    assert len(outcome.entries) == 2
    run = outcome.project.run("run")
    assert run.state is RunState.FAILED
    assert "while" in run.error


def test_an_older_result_is_acknowledged_to_no_effect() -> None:
    project = finish_run(running(contributed()), "run", 1).project
    assert not acknowledge(project, Side.ALICE, "alice", "an older run").changed
    assert acknowledge(project, Side.ALICE, "alice", "run").project.acknowledged == {Side.ALICE}


def test_nothing_granted_nothing_offered() -> None:
    grants = {**GRANTS, Role.CUSTODIAN_B: Grant.NOTHING}
    project = finish_run(running(replace(contributed(), grants=grants)), "run", 1).project
    assert next_task(project, Side.ALICE) is not None
    assert next_task(project, Side.BOB) is None


def test_a_project_whose_keys_disagree_does_not_hide_the_others() -> None:
    broken = new(name="broken", state=State.APPROVED, reports=dict(zip(Side, REPORTS, strict=False)))
    draft = new(name="draft")
    assert choose([broken, draft], Side.ALICE, ()).project == "draft"
    assert choose([broken, draft], Side.ALICE, {"draft"}).project == "broken"
    assert choose([broken, draft], Side.ALICE, {"draft", "broken"}) is None


def test_agreement_messages_are_bounded_and_never_replaced() -> None:
    project = new(state=State.APPROVED)
    for payload in (b"", b"x" * 4097):
        with refusal(ErrorCode.PARAMETER):
            post_message(project, Side.BOB, "bob", 1, MessageKind.OFFER, payload)
    project = post_message(project, Side.BOB, "bob", 1, MessageKind.OFFER, b"x" * 4096).project
    with refusal(ErrorCode.EXISTS):
        post_message(project, Side.BOB, "bob", 1, MessageKind.OFFER, b"y")
    with refusal(ErrorCode.EPOCH_MISMATCH):
        post_message(project, Side.BOB, "bob", 2, MessageKind.OFFER, b"y")


def finished(policy: Policy, policy_decision: PolicyDecision | None) -> Outcome:
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
def test_a_result_is_assessed(policy, policy_decision, actions, state) -> None:
    outcome = finished(policy, policy_decision)
    assert [entry.action for entry in outcome.entries] == actions
    assert outcome.project.state is state
    assert outcome.entries[1].details["risk"] == policy_decision.measures["risk"]
    assert (next_task(outcome.project, Side.ALICE) is not None) == (state is State.RELEASED)


@pytest.mark.parametrize(
    ("policy", "policy_decision"), [(Policy.REFUSE, None), (Policy.HOLD, None), (Policy.NONE, GOOD)]
)
def test_no_assessment_no_release(policy, policy_decision) -> None:
    with pytest.raises(GemelError, match="without the assessment"):
        finished(policy, policy_decision)


def test_a_steward_decides_on_a_held_result() -> None:
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


def test_an_amended_specification_needs_all_parties_and_continues_where_the_project_was() -> None:
    project = finished(Policy.REFUSE, BAD).project
    with pytest.raises(GemelError, match="may not change what was signed"):
        amend(project, "coordinator", THIRD, DIGEST, GRANTS, Policy.REFUSE)
    project = approved(amend(project, "coordinator", THIRD, OTHER, GRANTS, Policy.REFUSE).project, THIRD)
    assert project.state is State.CONTRIBUTED
    again = (start_run, "coordinator", "again", "run-2"), (take_run, "run-2"), (finish_run, "run-2", 5, GOOD)
    project = through(project, *again)
    assert [run.released for run in project.runs] == [False, True]
    assert next_task(project, Side.BOB).run == "run-2"


def released(**changes: object) -> Project:
    """A project brought directly to RELEASED, whose shares both custodians have."""
    project = replace(contributed(), **changes)
    return through(running(project), (finish_run, "run", 7), *((acknowledge, s, str(s), "run") for s in Side))


def test_granted_columns_are_sent_and_received_once_both_have_their_shares() -> None:
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
    amended = amend(project, "coordinator", THIRD, OTHER, GRANTS, Policy.NONE, 1, (to_bob,)).project
    assert (amended.transfers, amended.sent, amended.received) == ((to_bob,), frozenset(), frozenset())


@pytest.mark.parametrize(
    ("run", "transfer", "code"),
    [
        ("run", Transfer(Side.ALICE, "institute"), ErrorCode.NOT_FOUND),  # not granted
        ("run", Transfer(Side.BOB, "alice"), ErrorCode.NOT_FOUND),
        ("former", TRANSFERS[0], ErrorCode.WRONG_STATE),
    ],
)
def test_what_is_not_granted_or_of_another_run_is_not_taken(run, transfer, code) -> None:
    with refusal(code):
        send_variables(released(), str(transfer.sender), run, transfer, 4096)


@pytest.mark.parametrize("state", [state for state in State if state is not State.RELEASED])
def test_nothing_is_sent_or_received_before_the_gate_or_after_the_end(state) -> None:
    project = replace(released(), state=state)
    with refusal(ErrorCode.WRONG_STATE):
        send_variables(project, "alice", "run", TRANSFERS[0], 4096)
    with refusal(ErrorCode.WRONG_STATE):
        receive_variables(replace(project, sent=frozenset(TRANSFERS)), Role.CUSTODIAN_B, "bob", "run", TRANSFERS[0])


def test_a_custodian_sends_after_it_has_confirmed_its_share() -> None:
    project = replace(released(), acknowledged=frozenset({Side.BOB}))
    assert kind_for(project, Side.ALICE) is TaskKind.FETCH
    with pytest.raises(GemelError, match="confirmed its share"):
        send_variables(project, "alice", "run", TRANSFERS[0], 4096)


def test_a_project_is_over_for_a_custodian_that_has_all_it_will_get() -> None:
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
    amended = amend(project, "coordinator", THIRD, OTHER, GRANTS, Policy.NONE, 1, (to_bob,)).project
    assert not any(is_over(amended, side) for side in Side)
    assert all(is_over(erase(project, Role.COORDINATOR, "coordinator").project, side) for side in Side)


def test_a_refused_or_held_result_sends_nothing() -> None:
    for policy in (Policy.REFUSE, Policy.HOLD):
        project = finish_run(running(contributed(policy)), "run", 7, BAD).project
        assert project.state in (State.ASSESSED, State.HELD)
        assert all(next_task(project, side) is None for side in Side)
