"""Transfers in chunks: what arrives is what was sent, whatever its length; nothing else is believed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.transfer import IN_FLIGHT, Content, Fetch, send
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk
from gemel.protos.linkage.v1 import custody_pb2, transfer_pb2
from tests.carole.refusals import refusal

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
