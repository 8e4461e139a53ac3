"""Carole under random calls of three parties, over real mutual TLS, with replays and restarts in between.

What is not a failure: a call that is refused with a typed error; a call made again; a restart between any two calls,
after which nothing that was acknowledged is missing. What is a failure: INTERNAL; an acknowledged chunk that is
missing, or counts as another than was sent; a commit that is acknowledged while a chunk is missing or wrong; a project
in another state than follows from what was acknowledged; a share that any party but its owner, or any party before the
release, can fetch; an audit log with a gap; what counts though it is of a former epoch, or its custodian has declined.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gemel.carole.projects.operations.linking import MAX_ATTEMPTS, Interruption
from gemel.carole.projects.project import RunState
from gemel.carole.projects.transitions import Action
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.parties import CUSTODIANS, PARTIES, SIDE_OF_ROLE, Role, Side
from gemel.common.pki.certificates import Validity
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.protos.linkage.v1 import coordination_pb2, custody_pb2, project_pb2
from tests.carole.deployment import (
    DIGEST,
    ENCODING,
    KEY_CHECK,
    SPECIFICATION,
    Deployment,
    Upload,
    coordination,
    make_upload,
    people,
)
from tests.conftest import EXAMPLES

SHARES = {str(side.role): f"the sealed share of {side}".encode() for side in Side}
CHUNKS = 3

ROOT = Path(tempfile.mkdtemp(prefix="gemel-protocol-"))

OTHER_COORDINATOR = {"coordinator": "successor", "successor": "coordinator"}

sides = st.sampled_from(list(Side))
either = st.integers(0, 1)


@pytest.fixture(scope="module", autouse=True)
def _tidy() -> Iterator[None]:
    yield
    shutil.rmtree(ROOT, ignore_errors=True)


@cache
def parties() -> Provisioned:
    return provision(
        ROOT / "parties",
        linker_names=["127.0.0.1"],
        validity=Validity.lasting(timedelta(hours=6)),
        parties={**PARTIES, "successor": Role.COORDINATOR},
    )


@cache
def upload_of(side: Side, which: int) -> Upload:
    """Two contributions of each side."""
    name = hashlib.md5(f"{side}{which}".encode(), usedforsecurity=False).hexdigest()
    upload = make_upload(side, people(7000, offset=100 * which), name)[0]
    assert len(upload.chunks) == CHUNKS
    return upload


def refused(answer: object) -> bool:
    return isinstance(answer, GemelError)


class Parties(RuleBasedStateMachine):
    """The model holds what Carole has acknowledged, and predicts her replies from it."""

    @initialize(far=st.booleans(), steps=st.integers(0, 6))
    def begin(self, far: bool, steps: int) -> None:
        self.deployment = Deployment(parties(), Path(tempfile.mkdtemp(dir=ROOT)) / "carole")
        self.deployment.records = 7000
        self.epoch = 1
        self.owner = "coordinator"
        self.approved: set[Role] = set()
        self.declined: set[Side] = set()
        self.keyed: dict[Side, bytes] = {}
        # Acknowledged chunks, and whether they are the right ones.
        self.have: dict[tuple[Side, int], dict[int, bool]] = {}
        self.under_way: dict[Side, int] = {}
        self.committed: dict[Side, int] = {}
        self.created = self.run_active = self.released = self.erased = False
        self.requests: set[str] = set()
        self.deaths = self.requeued = 0
        self.connect(self.deployment.start)
        if far:
            # Half of the sequences start with the keys agreed: few random ones would get that far.
            self.deployment.keyed()
            self.created = True
            self.approved = {Role.COORDINATOR, *CUSTODIANS}
            self.keyed = dict.fromkeys(Side, KEY_CHECK)
        for _ in range(steps):
            self.step(Side.ALICE, 0)

    def connect(self, start: Callable[[], object]) -> None:
        start()
        self.custodians = {side: self.deployment.custodian(side) for side in Side}
        self.connections = {name: self.deployment.connect(name) for name in OTHER_COORDINATOR}
        self.coordinators = {name: self.deployment.coordinator(name) for name in OTHER_COORDINATOR}

    @property
    def coordinator(self) -> Coordinator:
        """Whose the project is."""
        return self.coordinators[self.owner]

    def teardown(self) -> None:
        self.deployment.stop()
        shutil.rmtree(self.deployment.root, ignore_errors=True)

    def attempt(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """The reply, or the refusal; never one that means an internal error."""
        answer: Any
        try:
            answer = call(*arguments)
        except GemelError as error:
            answer = error
        if isinstance(answer, GemelError):
            assert answer.code not in (ErrorCode.INTERNAL, ErrorCode.DATABASE, ErrorCode.UNAVAILABLE), answer
        return answer

    @property
    def expected(self) -> int:
        """The state that follows from what was acknowledged."""
        if self.erased:
            return project_pb2.PROJECT_STATE_ERASED
        if self.released:
            return project_pb2.PROJECT_STATE_RELEASED
        if len(self.approved) < 3:
            return project_pb2.PROJECT_STATE_DRAFT
        if len(self.committed) == len(Side):
            return project_pb2.PROJECT_STATE_CONTRIBUTED
        if len(self.keyed) == len(Side) and len(set(self.keyed.values())) == 1:
            return project_pb2.PROJECT_STATE_KEYED
        return project_pb2.PROJECT_STATE_APPROVED

    @rule(side=sides, which=either)
    def step(self, side: Side, which: int) -> None:
        """The next step of the direct way: without it few random sequences would get far."""
        if not self.created:
            self.create()
        elif len(self.approved) < 3:
            for role in (Role.COORDINATOR, *CUSTODIANS):
                self.approve(role)
        elif len(self.keyed) < len(Side):
            self.report(side, KEY_CHECK)
        elif len(self.committed) < len(Side):
            waiting = next(side for side in Side if side not in self.committed)
            self.begin_upload(waiting, which)
            self.put_what_is_missing(waiting, [2, 0, 1])
            self.commit(waiting, which)
        elif not self.run_active and not self.released:
            self.start_run(f"r{len(self.requests)}")
        elif not self.released:
            self.work()
        else:
            self.fetch(side)

    @rule()
    def create(self) -> None:
        assert not refused(self.attempt(self.coordinator.create, SPECIFICATION))
        self.created = True

    @precondition(lambda self: self.created)
    @rule()
    def hand_over(self) -> None:
        successor = OTHER_COORDINATOR[self.owner]
        answer = self.attempt(self.deployment.hand_over, "trial", self.owner, successor, self.epoch)
        assert refused(answer) == self.erased
        if not refused(answer):
            self.owner = successor

    @precondition(lambda self: self.created)
    @rule(what=st.sampled_from(["create", "approve", "start", "erase", "take"]))
    def another_coordinator(self, what: str) -> None:
        """It is refused in every state, and changes nothing."""
        other = OTHER_COORDINATOR[self.owner]
        rival = self.coordinators[other]
        calls: dict[str, Callable[[], object]] = {
            "create": lambda: rival.create(SPECIFICATION),
            "approve": lambda: rival.approve("trial", DIGEST, self.epoch),
            "start": lambda: rival.start("trial"),
            "erase": lambda: rival.erase("trial"),
            "take": lambda: self.deployment.hand_over("trial", other, other, self.epoch),
        }
        answer = self.attempt(calls[what])
        assert refused(answer)
        assert answer.code is (ErrorCode.EXISTS if what == "create" else ErrorCode.NOT_ADMITTED)
        assert self.coordinator.get("trial")[0].owner == self.owner

    @rule(role=st.sampled_from([Role.COORDINATOR, *sorted(CUSTODIANS)]))
    def approve(self, role: Role) -> None:
        if role is Role.COORDINATOR:
            answer = self.attempt(self.coordinator.approve, "trial", DIGEST, self.epoch)
        else:
            approve = partial(self.custodians[SIDE_OF_ROLE[role]].approve, epoch=self.epoch)
            answer = self.attempt(approve)
        assert refused(answer) == (self.erased or not self.created)
        if not refused(answer):
            self.approved.add(role)
            self.declined.discard(SIDE_OF_ROLE.get(role))

    @rule(side=sides)
    def consent_to_a_former_epoch(self, side: Side) -> None:
        if self.created and self.epoch > 1:
            answer = self.attempt(partial(self.custodians[side].approve, epoch=self.epoch - 1))
            assert refused(answer)

    @rule(side=sides, seldom=st.integers(0, 5))
    def decline(self, side: Side, seldom: int) -> None:
        if seldom != 3:
            return
        answer = self.attempt(self.custodians[side].decline, "the committee has not agreed")
        assert refused(answer) == (not self.created or self.erased or self.released)
        # The same refusal again, made already, changes nothing.
        if not refused(answer) and side not in self.declined:
            self.declined.add(side)
            self.approved.discard(side.role)
            self.forget(side)
            event("declined")

    @rule(seldom=st.integers(0, 5))
    def open_epoch(self, seldom: int) -> None:
        if seldom != 3:
            return
        reason = "the seed of one of them is lost"
        answer = self.attempt(self.coordinator.open_epoch, "trial", self.epoch + 1, ENCODING, reason)
        never = not self.created or self.erased or self.released or self.epoch == MAX_EPOCHS
        assert refused(answer) == (never or len(self.approved) < 3 or self.run_active)
        if not refused(answer):
            self.epoch += 1
            self.approved = {Role.COORDINATOR}
            self.keyed.clear()
            for side in Side:
                self.forget(side)
            event(f"epoch {self.epoch}")

    def forget(self, side: Side) -> None:
        """What a side has uploaded is erased, and a run that compared it has ended."""
        self.run_active = False
        for of in (self.under_way, self.committed):
            of.pop(side, None)
        for which in (0, 1):
            self.have.pop((side, which), None)

    @rule(side=sides, check=st.sampled_from([KEY_CHECK, KEY_CHECK, b"x" * 8]))
    def report(self, side: Side, check: bytes) -> None:
        before = self.expected
        answer = self.attempt(partial(self.custodians[side].report_keys, check, epoch=self.epoch))
        if not self.created or before == project_pb2.PROJECT_STATE_ERASED:
            assert refused(answer)
        elif before == project_pb2.PROJECT_STATE_DRAFT:
            assert refused(answer) == (check != self.keyed.get(side) or len(set(self.keyed.values())) > 1)
        elif before == project_pb2.PROJECT_STATE_APPROVED:
            self.keyed[side] = check
            assert refused(answer) == (len(set(self.keyed.values())) > 1)
        else:
            assert refused(answer) == (check != self.keyed[side])

    @rule(side=sides, which=either)
    def begin_upload(self, side: Side, which: int) -> None:
        upload = upload_of(side, which)
        upload.manifest.key_check_value, upload.manifest.epoch = self.keyed.get(side, KEY_CHECK), self.epoch
        answer = self.attempt(self.custodians[side].begin, upload)
        if refused(answer):
            return
        if answer.committed:
            assert self.committed[side] == which
            return
        have = self.have.setdefault((side, which), {})
        self.under_way[side] = which
        missing = {index for gap in answer.missing for index in range(gap.first, gap.last + 1)}
        assert have.keys() == set(range(answer.chunks)) - missing, "what was acknowledged is there, and nothing else"

    @rule(side=sides, which=either, index=st.integers(0, CHUNKS), good=st.sampled_from([True, True, False]))
    def put(self, side: Side, which: int, index: int, good: bool) -> None:
        upload = upload_of(side, which)
        data = upload.chunks[index] if index < CHUNKS else b"past the end"
        answer = self.attempt(self.custodians[side].put, upload, index, data if good else bytes(len(data)))
        have = self.have.get((side, which), {})
        if refused(answer):
            assert answer.code is not ErrorCode.CHUNK_CONFLICT or have[index] is not good
            return
        assert index < CHUNKS
        assert which in (self.committed.get(side), self.under_way.get(side))
        # The first chunk under an index counts, and only the same one may be sent again.
        assert have.setdefault(index, good) is good

    @rule(side=sides, order=st.permutations(range(CHUNKS)))
    def put_what_is_missing(self, side: Side, order: list[int]) -> None:
        if side in self.under_way:
            for index in order:
                self.put(side, self.under_way[side], index, True)

    @rule(side=sides, which=either)
    def commit(self, side: Side, which: int) -> None:
        answer = self.attempt(self.custodians[side].commit, upload_of(side, which))
        have = self.have.get((side, which), {})
        if refused(answer):
            if answer.code is ErrorCode.UPLOAD_GAPS:
                assert len(have) < CHUNKS
            return
        assert len(have) == CHUNKS
        assert all(have.values())
        self.committed[side] = which
        if self.under_way.get(side) == which:  # a repeated commit ends no other upload
            del self.under_way[side]
        event("committed")

    @rule(request=st.sampled_from(["r", "s"]))
    def start_run(self, request: str) -> None:
        message = coordination_pb2.StartRunRequest(project="trial", request=request)
        connection = self.connections[self.owner]
        stub = coordination(connection)
        answer = self.attempt(lambda: connection.call(stub.StartRun, message, deadline=20))
        # A request that was granted before is answered by its run, whatever has become of that.
        if not refused(answer) and request not in self.requests:
            assert self.expected in (project_pb2.PROJECT_STATE_CONTRIBUTED, project_pb2.PROJECT_STATE_RELEASED)
            assert not self.run_active
            self.requests.add(request)
            self.run_active, self.deaths = True, 0

    @precondition(lambda self: self.requests)
    @rule()
    def die(self) -> None:
        """A worker takes a run and dies: the run is queued again while attempts are left, else it has failed."""
        runs = self.deployment.store.runs
        lease = runs.take("dying")
        assert (lease is None) == (self.erased or not self.run_active)
        assert runs.abandon("dying", Interruption.DIED) == (lease is not None)
        if lease is not None:
            self.deaths += 1
            assert lease.attempt == self.deaths
            state = runs.get("trial", lease.run).state
            self.run_active = self.deaths < MAX_ATTEMPTS
            assert state is (RunState.QUEUED if self.run_active else RunState.FAILED)
            self.requeued += self.run_active
            event(f"died, {state.name}")

    @precondition(lambda self: self.requests)
    @rule()
    def work(self) -> None:
        """The worker's calls of the database, without the linking."""
        lease = self.deployment.store.runs.take("worker")
        assert (lease is None) == (self.erased or not self.run_active)
        if lease is not None:
            self.run_active = False
            self.deployment.store.runs.finish(lease, 3, {recipient: [share] for recipient, share in SHARES.items()})
            self.released = True
            event("released")

    @precondition(lambda self: self.created)
    @rule(side=sides)
    def fetch(self, side: Side) -> None:
        status, _ = self.coordinator.get("trial")
        custodian, run = self.custodians[side], status.run.run or "f" * 32
        answer = self.attempt(custodian.fetch, run)
        assert refused(answer) == (self.erased or not self.released)
        if not refused(answer):
            sealed, root = answer
            assert sealed == SHARES[str(side.role)]
            request = custody_pb2.AcknowledgeResultRequest(project="trial", run=run, root=root)
            custodian.call(custodian.stub.AcknowledgeResult, request)
            event("fetched")

    @rule(seldom=st.integers(0, 24))
    def erase(self, seldom: int) -> None:
        if seldom == 7 and self.created:
            self.coordinator.erase("trial")
            self.erased = True
            event("erased")

    @rule()
    def restart(self) -> None:
        self.connect(self.deployment.restart)

    @invariant()
    def carole_says_what_follows(self) -> None:
        if not self.created:
            assert self.coordinator.projects() == []
            return
        status, _ = self.coordinator.get("trial")
        assert status.state == self.expected
        log = self.deployment.store.audit.entries()
        assert [entry.sequence for entry in log] == list(range(1, len(log) + 1))
        assert [entry.action for entry in log].count(Action.REQUEUE_RUN) == self.requeued


TestParties = Parties.TestCase
TestParties.settings = settings(
    max_examples=3 if EXAMPLES <= 30 else EXAMPLES // 6,  # each takes long: few in the first tier
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
