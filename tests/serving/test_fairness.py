"""A member's share of a server: by a clock of the test's own, and over real connections, without any timing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.access import ACCESS
from gemel.common.rpc.client import Connection
from gemel.common.rpc.status import from_rpc_error
from gemel.coordinator.provisioning import Provisioned
from gemel.protos.linkage.v1 import custody_pb2, custody_pb2_grpc
from gemel.serving.dispatch import may_wait
from gemel.serving.fairness import COSTS, LONG_POLLS, MemberLimits, TokenBucket
from gemel.serving.server import RunningServer, ServerSettings, caller
from tests.carole.refusals import refusal
from tests.common.rpc.serving import connect, serving

LIMITS = MemberLimits(calls_per_second=500.0, burst=200, pending=6, working=2, waiting=3)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(rate=2.0, burst=3, clock=clock)
    assert [bucket.take(1.0) for _ in range(3)] == [(True, 0.0)] * 3
    assert [bucket.take(1.0) for _ in range(3)] == [(True, 0.5), (True, 1.0), (False, 1.5)]
    clock.now = 0.5
    assert bucket.take(1.0) == (True, 1.0), "what was refused has taken nothing"
    clock.now = 100.0
    assert [bucket.take(0.0)[0] for _ in range(4)] == [True, True, True, False], "never more than the burst is kept"
    assert [bucket.take(0.5, 0.25) for _ in range(5)] == [(True, 0.125 * k) for k in (1, 2, 3, 4)] + [(False, 0.625)]


def test_methods_that_are_treated_apart_exist() -> None:
    assert set(ACCESS) >= LONG_POLLS | set(COSTS)


class Custody(custody_pb2_grpc.CustodyServicer):
    """Holds calls until the test lets them go, and refuses as often as the test requests."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.working: dict[str, int] = {}
        self.peak: dict[str, int] = {}
        self.held = 0
        self.refusals: list[GemelError] = []
        self._lock = threading.Lock()

    def Approve(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        name = caller(context).name
        if self.refusals:
            raise self.refusals.pop()
        with self._lock:
            self.working[name] = self.working.get(name, 0) + 1
            self.peak[name] = max(self.peak.get(name, 0), self.working[name])
        if request.project == "hold":
            self.go_on.wait(60)
        with self._lock:
            self.working[name] -= 1
        return custody_pb2.ApproveResponse()

    def NextTask(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        held = may_wait(context)
        with self._lock:
            self.held += held
        while held and context.is_active() and not self.go_on.wait(0.02):
            pass
        with self._lock:
            self.held -= held
        return custody_pb2.NextTaskResponse(run="held" if held else "at once")


@pytest.fixture
def custody() -> Custody:
    return Custody()


@pytest.fixture
def server(parties: Provisioned, custody: Custody) -> Iterator[RunningServer]:
    settings = ServerSettings(threads=8, member=LIMITS)
    with serving(parties, (custody_pb2_grpc.add_CustodyServicer_to_server, custody), settings=settings) as running:
        yield running
        custody.go_on.set()


class Party:
    """A member with as many connections as it likes."""

    def __init__(self, stack: ExitStack, connected: Callable[[], Connection]) -> None:
        self._stack, self._connected = stack, connected

    def stub(self) -> custody_pb2_grpc.CustodyStub:
        return self._stack.enter_context(self._connected()).stub(custody_pb2_grpc.CustodyStub)


@pytest.fixture
def alice(parties: Provisioned, server: RunningServer) -> Iterator[Party]:
    with ExitStack() as stack:
        yield Party(stack, partial(connect, parties, server.port, "alice"))


@pytest.fixture
def bob(parties: Provisioned, server: RunningServer) -> Iterator[Connection]:
    with connect(parties, server.port, "bob") as connection:
        yield connection


@pytest.fixture
def own(parties: Provisioned, server: RunningServer) -> Iterator[Connection]:
    """A connection with the service's own certificate, as its operator's health check makes it."""
    with connect(parties, server.port, "carole") as connection:
        yield connection


def approve(connection: Connection, **named: Any) -> Any:
    stub = connection.stub(custody_pb2_grpc.CustodyStub)
    return connection.call(stub.Approve, custody_pb2.ApproveRequest(), **named)


def test_a_member_that_holds_all_it_may_keeps_no_other_from_its_answers(
    alice: Party, bob: Connection, custody: Custody
) -> None:
    stub = alice.stub()
    held = [stub.Approve.future(custody_pb2.ApproveRequest(project="hold"), timeout=60) for _ in range(LIMITS.pending)]
    while custody.working.get("alice", 0) < LIMITS.working:
        time.sleep(0.01)
    # One more than may be pending: refused, with the time after which to try again.
    while True:
        with pytest.raises(grpc.RpcError) as caught:
            stub.Approve(custody_pb2.ApproveRequest(), timeout=5)
        refused = from_rpc_error(caught.value, "")
        if refused.code is ErrorCode.TOO_MANY_CALLS:
            break
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refused.retry_seconds > 0
    assert "6 calls at a time" in refused.got
    for _ in range(30):
        approve(bob)
    custody.go_on.set()
    for call in held:
        call.result(60)
    assert custody.peak["alice"] == LIMITS.working


def test_cancelling_frees_no_place_before_the_work_has_ended(alice: Party, bob: Connection, custody: Custody) -> None:
    """Else a caller that cancels and calls again would have every thread."""
    stub = alice.stub()
    request = custody_pb2.ApproveRequest(project="hold")
    for _ in range(3):
        calls = [stub.Approve.future(request, timeout=60) for _ in range(LIMITS.working)]
        while custody.working.get("alice", 0) < LIMITS.working:
            time.sleep(0.01)
        for call in calls:
            call.cancel()
    for _ in range(10):
        approve(bob)
    assert custody.peak["alice"] == LIMITS.working


def test_long_polls_hold_their_own_places_only_and_above_them_an_answer_comes_at_once(
    alice: Party, bob: Connection, custody: Custody
) -> None:
    stubs = [alice.stub() for _ in range(LIMITS.waiting)]
    polls = [stub.NextTask.future(custody_pb2.NextTaskRequest(), timeout=60) for stub in stubs]
    while custody.held < LIMITS.waiting:
        time.sleep(0.01)
    extra = alice.stub()
    assert extra.NextTask(custody_pb2.NextTaskRequest(wait_ms=5000), timeout=30).run == "at once"
    assert not any(poll.done() for poll in polls)
    extra.Approve(custody_pb2.ApproveRequest(), timeout=10)  # the member's own other calls go on too
    approve(bob)
    for poll in polls:
        poll.cancel()
    while custody.held > 0:
        time.sleep(0.01)
    replaced = extra.NextTask.future(custody_pb2.NextTaskRequest(), timeout=60)
    while custody.held == 0:
        assert not replaced.done(), "a place that has become free is not given again"
        time.sleep(0.01)
    custody.go_on.set()
    assert replaced.result(30).run == "held"


def test_all_calls_of_one_member_and_the_health_check_succeed_while_another_floods(
    alice: Party, bob: Connection, own: Connection, custody: Custody
) -> None:
    """A hundred connections that call as fast as they can, long polls among them; refusals are theirs alone."""
    health = own.stub(health_pb2_grpc.HealthStub)
    ended = threading.Event()
    statuses: set[grpc.StatusCode] = set()

    def flood(number: int) -> None:
        stub = alice.stub()
        while not ended.is_set():
            try:
                if number % 2:
                    stub.Approve(custody_pb2.ApproveRequest(), timeout=5)
                else:
                    stub.NextTask(custody_pb2.NextTaskRequest(wait_ms=5000), timeout=5)
            except grpc.RpcError as error:
                statuses.add(error.code())
            except ValueError:
                return  # its connection is closed

    with ThreadPoolExecutor(100) as pool:
        for number in range(100):
            pool.submit(flood, number)
        try:
            while grpc.StatusCode.RESOURCE_EXHAUSTED not in statuses:
                approve(bob, deadline=30)
            for _ in range(40):
                approve(bob, deadline=30)
                found = own.call(health.Check, health_pb2.HealthCheckRequest(), deadline=30)
                assert found.status == health_pb2.HealthCheckResponse.SERVING
        finally:
            ended.set()
            custody.go_on.set()


def test_a_service_that_cannot_now_is_called_again(bob: Connection, custody: Custody) -> None:
    custody.refusals = [GemelError(code, "x") for code in (ErrorCode.BUSY, ErrorCode.STORAGE_FULL)]
    approve(bob, attempts=3)
    custody.refusals = [GemelError(ErrorCode.DATABASE, "x")] * 3
    with refusal(ErrorCode.DATABASE):
        approve(bob, attempts=2)
    assert len(custody.refusals) == 1, "two attempts"


def test_a_refusal_for_too_many_calls_is_no_attempt_and_its_pause_is_kept(bob: Connection, custody: Custody) -> None:
    soon = GemelError(ErrorCode.TOO_MANY_CALLS, "x", retry_seconds=0.05)
    custody.refusals = [soon] * 4
    approve(bob)
    custody.refusals = [GemelError(ErrorCode.TOO_MANY_CALLS, "x", retry_seconds=60.0)]
    with pytest.raises(GemelError) as caught:
        approve(bob, deadline=5)
    assert caught.value.retry_seconds == 60.0, "later than the call may last: the caller decides"


def test_what_the_caller_did_wrong_is_not_repeated(bob: Connection, custody: Custody) -> None:
    custody.refusals = [GemelError(ErrorCode.WRONG_STATE, "x")] * 2
    with pytest.raises(GemelError):
        approve(bob, attempts=5)
    assert len(custody.refusals) == 1
