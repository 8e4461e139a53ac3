"""What a server records of calls, and the id that a call has in both sides' logs, over real gRPC."""

from __future__ import annotations

import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import grpc
import pytest
import structlog
from prometheus_client import CollectorRegistry

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.rpc.client import Connection
from gemel.coordinator.provisioning import Provisioned
from gemel.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, project_pb2
from gemel.serving.call_recorder import Call, CallRecorder, log_call
from gemel.serving.observation import CallMetrics
from tests.common.rpc.serving import connect, serving

GET = "/linkage.v1.Coordination/GetProject"
WATCH = "/linkage.v1.Coordination/WatchRun"


class Coordination(coordination_pb2_grpc.CoordinationServicer):
    """Answers, refuses, fails or streams, as the request selects; logs a line within the call."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def GetProject(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        structlog.get_logger().info("within")
        if request.project == "refuse":
            raise GemelError(ErrorCode.RUN_ACTIVE, "a run is active")
        if request.project == "fail":
            raise KeyError("planted")
        return coordination_pb2.GetProjectResponse(specification="x" * 1000)

    def WatchRun(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        yield project_pb2.RunStatus(run="first")
        yield project_pb2.RunStatus(run="second")
        if request.run == "long":
            while context.is_active():
                self.may_end.wait(0.01)


class Site:
    """A server and what it recorded."""

    def __init__(self, parties: Provisioned, stack: ExitStack, **options: bool) -> None:
        self.parties = parties
        self.calls: list[Call] = []
        self.registry = CollectorRegistry()
        recorder = CallRecorder(CallMetrics(self.registry), log_call, self.calls.append, **options)
        service = (coordination_pb2_grpc.add_CoordinationServicer_to_server, Coordination())
        self.server = stack.enter_context(serving(parties, service, recorder=recorder))

    def connect(self, name: str, *, share: bool = False) -> Connection:
        return connect(self.parties, self.server.port, name, share_request_ids=share)

    def recorded(self, number: int = 1) -> list[Call]:
        """The first calls that have ended; a caller may have its response before its call is recorded."""
        end = time.monotonic() + 30
        while len(self.calls) < number:
            assert time.monotonic() < end
            time.sleep(0.005)
        return self.calls


@pytest.fixture
def site(parties: Provisioned) -> Iterator[Callable[..., Site]]:
    with ExitStack() as stack:
        yield partial(Site, parties, stack)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Lines of the log since the test began, as a service's log has them."""
    stream = io.StringIO()
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(stream),
    )
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.configure(**before)
    structlog.contextvars.clear_contextvars()


def get(connection: Connection, project: str) -> Any:
    stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
    return connection.call(stub.GetProject, coordination_pb2.GetProjectRequest(project=project))


def test_every_end_of_a_call_is_recorded(site: Callable[..., Site]) -> None:
    here = site()
    with here.connect("coordinator") as coordinator, here.connect("bob") as bob:
        get(coordinator, "study")
        for connection, project in ((coordinator, "refuse"), (coordinator, "fail"), (bob, "study")):
            with pytest.raises(GemelError):
                get(connection, project)
        fine, refused, failed, denied = here.recorded(4)
    assert {call.method for call in here.calls} == {GET}
    assert (fine.member.name, fine.status, fine.error) == ("coordinator", "OK", None)  # type: ignore[union-attr]
    assert fine.received == coordination_pb2.GetProjectRequest(project="study").ByteSize()
    assert fine.sent == coordination_pb2.GetProjectResponse(specification="x" * 1000).ByteSize()
    assert fine.seconds > 0
    assert (refused.status, refused.error) == ("FAILED_PRECONDITION", ErrorCode.RUN_ACTIVE)
    assert (failed.status, failed.error) == ("INTERNAL", ErrorCode.INTERNAL)
    assert (denied.status, denied.error) == ("PERMISSION_DENIED", ErrorCode.NOT_ADMITTED)
    assert denied.member is not None
    assert denied.member.role is Role.CUSTODIAN_B

    def value(name: str, **labels: str) -> float | None:
        return here.registry.get_sample_value(name, labels)

    def count(role: str, status: str) -> float | None:
        return value("gemel_rpc_seconds_count", method=GET, role=role, status=status)

    assert count("coordinator", "OK") == 1
    assert count("coordinator", "FAILED_PRECONDITION") == 1
    assert count("coordinator", "INTERNAL") == 1
    assert count("custodian-b", "PERMISSION_DENIED") == 1
    assert value("gemel_rpc_denied_total", reason="not admitted") == 1
    assert value("gemel_rpc_denied_total", reason="unknown caller") == 0
    assert value("gemel_rpc_received_bytes_total", method=GET) == sum(call.received for call in here.calls)
    assert value("gemel_rpc_sent_bytes_total", method=GET) == fine.sent


def test_a_stream_is_one_call_also_when_its_caller_leaves(site: Callable[..., Site]) -> None:
    here = site()
    with here.connect("coordinator") as coordinator:
        stub = coordinator.stub(coordination_pb2_grpc.CoordinationStub)
        short = coordination_pb2.WatchRunRequest(project="study", run="short")
        assert len(list(coordinator.watch(stub.WatchRun, short, deadline=30.0))) == 2
        stream = stub.WatchRun(coordination_pb2.WatchRunRequest(project="study", run="long"), timeout=30.0)
        next(stream)
        stream.cancel()
        ended, cancelled = here.recorded(2)
    assert (ended.method, ended.status) == (WATCH, "OK")
    assert ended.sent == sum(project_pb2.RunStatus(run=run).ByteSize() for run in ("first", "second"))
    assert (cancelled.method, cancelled.status) == (WATCH, "CANCELLED")


def test_every_line_of_a_call_has_its_id(
    site: Callable[..., Site], written: Callable[[], list[dict[str, Any]]]
) -> None:
    here = site()
    with here.connect("coordinator") as coordinator:
        get(coordinator, "study")
        with pytest.raises(GemelError):
            get(coordinator, "fail")
        fine, failed = here.recorded(2)
    lines = [line for line in written() if "request" in line]
    assert fine.request != failed.request
    assert [line["event"] for line in lines if line["request"] == fine.request] == ["within", "call"]
    assert [line["event"] for line in lines if line["request"] == failed.request] == ["within", "incident", "call"]
    call = next(line for line in lines if line["event"] == "call" and line["request"] == failed.request)
    seconds = call.pop("seconds")
    assert seconds >= 0
    assert call == {
        "event": "call",
        "method": GET,
        "member": "coordinator",
        "role": "coordinator",
        "status": "INTERNAL",
        "received": failed.received,
        "sent": 0,
        "request": failed.request,
    }


@pytest.mark.parametrize("shares", [True, False], ids=["shares", "keeps"])
@pytest.mark.parametrize("takes", [True, False], ids=["takes", "ignores"])
def test_an_id_crosses_only_where_both_sides_agree(
    shares: bool, takes: bool, site: Callable[..., Site], written: Callable[[], list[dict[str, Any]]]
) -> None:
    here = site(callers_requests=takes)
    with here.connect("coordinator", share=shares) as coordinator, pytest.raises(GemelError):
        get(coordinator, "refuse")
    structlog.get_logger().info("step failed")
    (call,) = here.recorded()
    # The line that this side writes after a call that failed names the call.
    own = written()[-1]["last_call"]
    assert re.fullmatch("[0-9a-f]{16}", own)
    assert re.fullmatch("[0-9a-f]{16}", call.request)
    assert (own == call.request) is (shares and takes)


@pytest.mark.parametrize("sent", ["", "x" * 16, "0" * 15, "0" * 17, "0" * 15 + "g", "A" * 16])
def test_a_callers_id_of_another_form_is_not_taken(sent: str, site: Callable[..., Site]) -> None:
    here = site(callers_requests=True)
    with here.connect("coordinator") as coordinator:
        stub = coordinator.stub(coordination_pb2_grpc.CoordinationStub)
        request = coordination_pb2.GetProjectRequest(project="study")
        stub.GetProject(request, timeout=30.0, metadata=[("gemel-request", sent)])
    assert here.recorded()[0].request != sent


def test_a_call_that_succeeds_leaves_no_id_in_the_callers_log(
    site: Callable[..., Site], written: Callable[[], list[dict[str, Any]]]
) -> None:
    here = site()
    with here.connect("coordinator") as coordinator:
        with pytest.raises(GemelError):
            get(coordinator, "refuse")
        get(coordinator, "study")
    structlog.get_logger().info("later")
    assert "last_call" not in written()[-1]
