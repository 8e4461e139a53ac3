"""The rules of a project under random operations, in any order, by any actor, repeatedly.

What is not a failure: an operation that is refused with a `GemelError`; the same operation again, which changes
nothing; operations of both sides in any order. What is a failure: an exception of another kind; a state that is
reached without its conditions, or by an actor who may not; a change without an audit entry, or an entry without
a change; a state that goes back, but for a contribution that has expired; anything after ERASED.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

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
    erase,
    expire_result,
    receive_variables,
    send_variables,
)
from gemel.carole.projects.project import Approval, JoinedBy, MessageKind, Policy, RunState, State, Upload
from gemel.carole.projects.tasks import TaskKind, next_task
from gemel.carole.projects.transitions import Action
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role, Side
from gemel.common.specification.model.granted_variables import Transfer
from tests.carole.projects.cases import (
    BAD,
    COORDINATORS,
    DIGEST,
    GOOD,
    OTHER,
    REPORTS,
    STEWARDS,
    THIRD,
    TRANSFERS,
    amendment,
    contributed,
    decided,
    declining,
    new,
    offered,
    opened,
    taken,
)
from tests.carole.refusals import refusal

_SILENT = {Action.JOIN}
"""An action that changes nothing in a `Project`: the record of a join. It is recorded again when repeated."""
sides = st.sampled_from(list(Side))
roles = st.sampled_from(list(Role))
names = st.sampled_from(["one", "two"])


class AnyOrder(RuleBasedStateMachine):
    @initialize(far=st.booleans(), policy=st.sampled_from(Policy), signatures=st.sampled_from([1, 2]))
    def begin(self, far, policy, signatures):
        # Half of the sequences start where both have contributed: few random ones would get that far.
        self.project = replace(contributed(policy) if far else new(policy=policy), signatures=signatures)
        self.entries: list[Entry] = []

    def attempt(self, operation, *arguments):
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

    def member(self, role):
        return self.project.owner if role is Role.COORDINATOR else str(role)

    def repeated(self, operation, *arguments):
        try:
            return operation(self.project, *arguments)
        except GemelError:
            return None

    def check_step(self, before, outcome):
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
    def approve(self, role, digest):
        self.attempt(approve, role, Approval(self.member(role), digest, b"s", epoch=self.project.epoch))

    @rule(role=roles, epoch=st.sampled_from([1, 2]))
    def approve_in(self, role, epoch):
        other = epoch != self.project.epoch
        outcome = self.attempt(approve, role, Approval(self.member(role), DIGEST, b"s", epoch=epoch))
        assert not other or outcome is None or self.project.state is State.ERASED

    @rule(side=sides, digest=st.sampled_from([DIGEST, DIGEST, THIRD]), often=names)
    def decline(self, side, digest, often):
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
    def message(self, side, epoch, kind, payload):
        self.attempt(post_message, side, str(side), epoch, kind, payload.encode())

    @rule(side=sides, epoch=st.sampled_from([1, 1, 1, 2]), report=st.sampled_from([REPORTS[0], *REPORTS]))
    def report(self, side, epoch, report):
        self.attempt(report_keys, side, str(side), epoch, report)

    @rule(epoch=st.sampled_from([2, 2, 3, 4]), often=names)
    def open_epoch(self, epoch, often):
        if often == "one":
            outcome = self.attempt(open_epoch, replace(opened(epoch), member=self.project.owner))
            if outcome is not None and outcome.changed:
                project = outcome.project
                assert (project.state, project.epoch) == (State.DRAFT, epoch)
                assert not any((project.messages, project.reports, project.uploads, project.pending))
                assert set(project.approvals) == {Role.COORDINATOR}
                assert project.released_run is None

    @rule(side=sides, name=names)
    def upload(self, side, name):
        self.attempt(begin_upload, side, str(side), Upload(name, False, 5, 50))

    @rule(side=sides, name=names)
    def commit(self, side, name):
        self.attempt(commit_upload, side, str(side), Upload(name, False, 5, 50))

    @rule(request=names)
    def start(self, request):
        self.attempt(start_run, self.project.owner, request, f"run-{request}")

    @rule(name=names)
    def take(self, name):
        self.attempt(take_run, f"run-{name}")

    @rule(name=names, cause=st.sampled_from(Interruption))
    def interrupt(self, name, cause):
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
    def fail(self, name):
        self.attempt(fail_run, f"run-{name}", "because")

    @rule(name=names, by=st.sampled_from(JoinedBy))
    def request_row_handles(self, name, by):
        self.attempt(request_row_handles, f"run-{name}", 3, by)

    @rule(name=names)
    def join(self, name):
        self.attempt(join_rows, f"run-{name}", "carole", dict.fromkeys(Side, 2), 3)

    @rule(name=names, side=sides)
    def hand(self, name, side):
        self.attempt(submit_row_handles, side, str(side), f"run-{name}")

    @rule(name=names)
    def resolve(self, name):
        self.attempt(resolve_run, self.project.owner, f"run-{name}", "ab", "cd")

    @rule(name=names, policy_decision=st.sampled_from([None, GOOD, BAD, BAD]))
    def finish(self, name, policy_decision):
        self.attempt(finish_run, f"run-{name}", 3, policy_decision)

    @rule(
        name=names,
        member=st.sampled_from([*STEWARDS]),
        release=st.booleans(),
        reason=st.sampled_from(["", "the minister has asked for it twice"]),
    )
    def decide(self, name, member, release, reason):
        before = {one.member for one in self.project.release_signatures}
        outcome = self.attempt(partial(decided, release=release), member, reason, f"run-{name}")
        if outcome is not None and Action.RELEASE in [entry.action for entry in outcome.entries]:
            assert len(before | {member}) == self.project.signatures

    @rule(digest=st.sampled_from([DIGEST, THIRD]), encoding=st.sampled_from([OTHER, OTHER, DIGEST]), often=names)
    def amend(self, digest, encoding, often):
        if often == "one":
            kept = {"policy": self.project.policy, "signatures": self.project.signatures}
            self.attempt(amend, self.project.owner, amendment(encoding, specification_digest=digest, **kept))

    @rule(side=sides)
    def acknowledge(self, side):
        self.attempt(acknowledge, side, str(side), "run-one")

    @rule(side=sides, name=names)
    def expire(self, side, name):
        self.attempt(expire_upload, side, name)

    @rule(role=roles, often=st.integers(0, 9))
    def erase(self, role, often):
        if often == 0 or role is not Role.COORDINATOR:
            self.attempt(erase, role, self.member(role))

    @rule(often=st.integers(0, 9))
    def expire_result(self, often):
        if often == 0:
            self.attempt(expire_result)

    @rule(transfer=st.sampled_from([*TRANSFERS, Transfer(Side.ALICE, "institute")]), name=names)
    def send_variables(self, transfer, name):
        before = self.project
        run = f"run-{name}"
        outcome = self.attempt(send_variables, str(transfer.sender), run, transfer, 4096)
        if outcome is not None:
            assert before.state is State.RELEASED, "only after the gate"
            assert transfer in before.transfers
            assert transfer.sender in before.acknowledged

    @rule(transfer=st.sampled_from(TRANSFERS), role=roles, name=names)
    def receive_variables(self, transfer, role, name):
        before = self.project
        outcome = self.attempt(receive_variables, role, str(role), f"run-{name}", transfer)
        if outcome is not None:
            assert before.state is State.RELEASED
            assert transfer in before.sent
            assert role in CUSTODIANS | {Role.ANALYST}

    @rule(by=st.sampled_from(["owner", "rival", "steward"]), to=st.sampled_from(["rival", "coordinator"]))
    def hand_over(self, by, to):
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
    def take_over(self, member):
        before = self.project
        outcome = self.attempt(take_over, *taken(before, member))
        if outcome is not None and outcome.changed:
            assert (before.hand_over.statement.successor, outcome.project.owner) == (member, member)
            assert outcome.project.hand_over is None
            assert (Role.COORDINATOR in before.approvals) == (Role.COORDINATOR in outcome.project.approvals)

    @rule(number=st.integers(0, len(COORDINATORS) - 1))
    def by_another(self, number):
        """A coordinator that the project does not belong to."""
        rival = "rival" if self.project.owner == "coordinator" else "coordinator"
        with refusal(ErrorCode.NOT_ADMITTED):
            [*COORDINATORS.values()][number](self.project, rival)

    @invariant()
    def the_state_is_what_it_stands_for(self):
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
    def tasks_fit_the_state(self):
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


TestAnyOrder = AnyOrder.TestCase
