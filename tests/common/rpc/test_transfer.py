"""What callers do: chunks sent and fetched, pages of a list, dry runs, releases that are too old."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.rpc import access as rpc_protocol
from gemel.common.rpc import client, pages
from gemel.common.rpc.access import OLDEST_CALLERS, PROTOCOL_KEY, require_caller
from gemel.common.rpc.dry_run import NotSentError
from gemel.common.rpc.transfer import IN_FLIGHT, Content, Fetch, send
from gemel.common.versions import PROTOCOL
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk
from gemel.coordinator.provisioning import Provisioned
from gemel.protos.linkage.v1 import (
    coordination_pb2,
    coordination_pb2_grpc,
    custody_pb2,
    custody_pb2_grpc,
    project_pb2,
    transfer_pb2,
)
from gemel.serving import dispatch
from tests.carole.refusals import refusal
from tests.common.rpc.serving import connect, serving

LONG = b"".join(bytes([number]) * CHUNK_BYTES for number in range(6)) + b"the end"


@dataclass
class Service:
    """Both ends of a transfer in one process, in the place of a connection."""

    content: bytes = LONG
    change: Callable[[Chunk], Chunk] = lambda chunk: chunk
    got: dict[int, Chunk] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    most_at_once: int = 0
    fail_at: int | None = None

    def __post_init__(self) -> None:
        self._lock, self._now = threading.Lock(), 0

    def call(self, method: Any, request: Any, *, deadline: float, attempts: int) -> Any:
        assert deadline
        assert attempts > 1, "each chunk is idempotent"
        return method(request)

    def put(self, message: transfer_pb2.Chunk) -> None:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        chunk = Chunk.of(message)
        chunk.check(len(LONG), "here")
        with self._lock:
            self._now -= 1
            if chunk.index == self.fail_at:
                raise GemelError(ErrorCode.UNAVAILABLE, "no answer")
            self.order.append(chunk.index)
            self.got[chunk.index] = chunk

    def get(self, index: int) -> custody_pb2.FetchResultResponse:
        return custody_pb2.FetchResultResponse(chunk=self.change(Content.of(self.content).chunk(index)).message())

    def send(self, content: Content, indices: list[int] | None = None, **more: Any) -> None:
        send(self, self.put, lambda chunk: chunk, content, indices, **more)  # type: ignore[arg-type]

    def fetch(self, **more: Any) -> Fetch:
        return Fetch(self, self.get, lambda index: index, "here", **more)  # type: ignore[arg-type]


def test_what_is_sent_arrives_the_first_chunk_alone_and_never_more_than_a_few_at_once() -> None:
    service, steps = Service(), []
    service.send(Content.of(LONG), step=steps.append)
    assert b"".join(service.got[index].data for index in sorted(service.got)) == LONG
    assert service.order[0] == 0
    assert service.most_at_once <= IN_FLIGHT
    assert {chunk.root for chunk in service.got.values()} == {Content.of(LONG).root}
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0.0, 1.0)


def test_a_transfer_that_broke_off_goes_on_with_what_is_missing() -> None:
    service = Service(fail_at=3)
    with pytest.raises(GemelError, match="no answer"):
        service.send(Content.of(LONG))
    missing = sorted(set(range(7)) - service.got.keys())
    assert 3 in missing
    there, service.fail_at, service.order = len(service.got), None, []
    service.send(Content.of(LONG), missing)
    assert sorted(service.order) == missing
    assert len(service.got) == there + len(missing) == 7


def test_a_step_that_raises_ends_the_transfer() -> None:
    class StoppedError(Exception):
        pass

    def stop(done: float) -> None:
        if done > 0.2:
            raise StoppedError

    for transfer in (
        lambda service: service.send(Content.of(LONG), step=stop),
        lambda service: service.fetch(step=stop).whole(),
    ):
        service = Service()
        with pytest.raises(StoppedError):
            transfer(service)
        assert len(service.got) < 7


def test_kept_content_that_has_changed_is_not_sent() -> None:
    kept = Content.of(LONG)
    service = Service()
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        service.send(replace(kept, read=lambda index: kept.read(index)[::-1] if index == 6 else kept.read(index)))
    assert 6 not in service.got


@pytest.mark.parametrize("content", [b"x", bytes(CHUNK_BYTES), LONG])
def test_what_is_fetched_is_what_was_kept_with_its_root(content: bytes) -> None:
    fetched = Service(content).fetch()
    assert fetched.whole() == content
    assert fetched.root == Content.of(content).root


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda chunk: replace(chunk, count=8), ErrorCode.UPLOAD_LIMIT),
        (lambda chunk: replace(chunk, count=6) if chunk.index else chunk, ErrorCode.UPLOAD_CORRUPT),
        (lambda chunk: replace(chunk, root=bytes(32)), ErrorCode.UPLOAD_CORRUPT),
        (lambda chunk: replace(chunk, root=bytes(32)) if chunk.index == 2 else chunk, ErrorCode.UPLOAD_CORRUPT),
        (lambda chunk: replace(chunk, index=0), ErrorCode.UPLOAD_CORRUPT),
        (
            lambda chunk: replace(chunk, data=bytes(CHUNK_BYTES)) if chunk.index == 1 else chunk,
            ErrorCode.UPLOAD_CORRUPT,
        ),
        (lambda chunk: Content.of(LONG[::-1]).chunk(1) if chunk.index == 1 else chunk, ErrorCode.UPLOAD_CORRUPT),
        (lambda chunk: replace(chunk, data=b""), ErrorCode.PARAMETER),
        (lambda chunk: replace(chunk, data=chunk.data + b"x"), ErrorCode.PARAMETER),
        (lambda chunk: replace(chunk, sha256=b"short"), ErrorCode.PARAMETER),
        (lambda chunk: replace(chunk, count=0), ErrorCode.PARAMETER),
    ],
)
def test_what_a_service_may_not_send_is_not_believed(change: Callable[[Chunk], Chunk], code: ErrorCode) -> None:
    with refusal(code) as caught:
        Service(change=change).fetch(max_bytes=len(LONG)).whole()
    assert caught.value.where == "here"


def test_a_whole_that_is_too_long_is_refused_at_its_first_chunk() -> None:
    with refusal(ErrorCode.UPLOAD_LIMIT):
        next(iter(Service().fetch(max_bytes=6 * CHUNK_BYTES)))


@given(lengths=st.lists(st.integers(0, 300), max_size=30), bound=st.integers(1, 500), maximum=st.integers(0, 5))
def test_the_pages_are_the_list(lengths: list[int], bound: int, maximum: int) -> None:
    entries = [
        (f"p-{number}", project_pb2.ProjectStatus(project=f"p-{number}", blocking_error="x" * length))
        for number, length in enumerate(lengths)
    ]
    names = [name for name, _ in entries]
    made: list[list[project_pb2.ProjectStatus]] = []

    def call(after: str) -> coordination_pb2.ListProjectsResponse:
        first = names.index(after) + 1 if after else 0
        found, following = pages.page(iter(entries[first:]), maximum)
        made.append(found)
        return coordination_pb2.ListProjectsResponse(projects=found, next=following)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages, "PAGE_BYTES", bound)
        answers = list(pages.every_page(call, "list"))
    assert [status.project for answer in answers for status in answer.projects] == names
    for found, answer in zip(made, answers, strict=True):
        assert len(found) == 1 or answer.ByteSize() - len(answer.next) - 2 <= bound or not found
        assert not maximum or len(found) <= maximum
        assert found or not names


def test_no_more_is_read_than_a_page_and_the_entry_after_it() -> None:
    read = []

    def entries():  # type: ignore[no-untyped-def]
        for number in range(100):
            read.append(number)
            yield str(number), project_pb2.ProjectStatus(project=str(number))

    found, following = pages.page(entries(), 3)
    assert ([each.project for each in found], following, read) == (["0", "1", "2"], "2", [0, 1, 2, 3])


def test_pages_that_do_not_end_are_refused() -> None:
    following = {"": "a", "a": "b", "b": "a"}
    with refusal(ErrorCode.MALFORMED):
        list(pages.every_page(lambda after: coordination_pb2.ListProjectsResponse(next=following[after]), "list"))


SIGNATURE = bytes(range(64))
DIGEST = b"\x0a" * 32


def test_a_request_is_shown_without_its_signatures() -> None:
    """Who saw a signature could bring it to Carole, as a consent that was only tried out."""
    approved = coordination_pb2.ApproveProjectRequest(
        project="births", specification_digest=DIGEST, signature=SIGNATURE
    )
    taken = coordination_pb2.TakeOverRequest(
        project="births", signature=SIGNATURE, approval=SIGNATURE, epoch_signature=SIGNATURE
    )
    for request in (approved, taken):
        withheld = NotSentError("/linkage.v1.Coordination/Any", "carole:7443", request)
        shown = "\n".join(withheld.lines()) + json.dumps(withheld.document())
        assert "births" in shown
        assert "carole:7443" in shown
        assert "64 bytes, not shown" in shown
        assert SIGNATURE.hex() not in shown
    assert DIGEST.hex() in "\n".join(NotSentError("/m", "carole", approved).lines())


NAMES = {Role.COORDINATOR: "coordinator", Role.CUSTODIAN_A: "alice"}


class Coordination(coordination_pb2_grpc.CoordinationServicer):
    def ListProjects(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return coordination_pb2.ListProjectsResponse()


class Custody(custody_pb2_grpc.CustodyServicer):
    def NextTask(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return custody_pb2.NextTaskResponse()


@pytest.fixture(scope="module")
def port(parties: Provisioned) -> Iterator[int]:
    coordination = (coordination_pb2_grpc.add_CoordinationServicer_to_server, Coordination())
    custody = (custody_pb2_grpc.add_CustodyServicer_to_server, Custody())
    with serving(parties, coordination, custody) as running:
        yield running.port


def call(port: int, parties: Provisioned, role: Role) -> None:
    with connect(parties, port, NAMES[role]) as connection:
        if role is Role.COORDINATOR:
            stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
            connection.call(stub.ListProjects, coordination_pb2.ListProjectsRequest())
        else:
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).NextTask, custody_pb2.NextTaskRequest())


def speaking(monkeypatch: pytest.MonkeyPatch, side: Any, protocol: int | None) -> None:
    """Let one side speak another protocol; None is one that names none."""
    monkeypatch.setattr(side, "OWN_PROTOCOL", () if protocol is None else ((PROTOCOL_KEY, str(protocol)),))


@pytest.mark.parametrize("role", NAMES)
def test_releases_that_go_together(role: Role, port: int, parties: Provisioned, monkeypatch: Any) -> None:
    call(port, parties, role)
    for protocol in (OLDEST_CALLERS[role], PROTOCOL + 1):
        speaking(monkeypatch, client, protocol)
        call(port, parties, role)
    speaking(monkeypatch, dispatch, PROTOCOL + 1)
    call(port, parties, role)


@pytest.mark.parametrize("role", NAMES)
@pytest.mark.parametrize("protocol", [None, 1])
def test_a_caller_that_is_too_old(
    role: Role, protocol: int | None, port: int, parties: Provisioned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_protocol, "OLDEST_CALLERS", {role: 2})  # as a later release may require
    speaking(monkeypatch, client, protocol)
    words = f"takes no {role} that speaks a protocol before 2, got protocol {protocol or 0}"
    with refusal(ErrorCode.WRONG_STATE, words) as caught:
        call(port, parties, role)
    assert f"with protocol {PROTOCOL}" in caught.value.remedy


@pytest.mark.parametrize("protocol", [None, 1])
def test_a_service_that_is_too_old(
    protocol: int | None, port: int, parties: Provisioned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_protocol, "OLDEST_SERVICE", 2)
    speaking(monkeypatch, dispatch, protocol)
    got = f"of an older release than this program, which needs protocol 2, got protocol {protocol or 0}; wait until"
    with pytest.raises(GemelError, match=got):
        call(port, parties, Role.CUSTODIAN_A)


@pytest.mark.parametrize("named", ["", "0", "-1", "2.0", "two", "9" * 9, "\u0662"])
def test_what_is_no_number_is_refused(named: str) -> None:
    for role in (Role.CUSTODIAN_A, Role.COORDINATOR):
        with pytest.raises(GemelError, match="got protocol 0"):
            require_caller(role, [(PROTOCOL_KEY, named)])
