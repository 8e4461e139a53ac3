"""Processes that die in the middle: what had arrived is not sent again, what was begun is taken up and done once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gemel.carole.service.supervisor import Supervisor
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.rpc.client import Connection
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk, chunk_count
from gemel.protos.linkage.v1 import contribution_pb2, project_pb2
from tests.e2e.deployment import STATE, Deployment, people, specification

Deploy = Callable[..., Deployment]
MANY = 3000
"""People in a file whose upload has more chunks than are on their way at a time."""


def wide(project: str) -> str:
    return specification(project, bits=8192)


class Chunks:
    """Listens to the chunks that custodians in this process send, by upload and index, and to Carole's answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: Counter[tuple[str, int]] = Counter()
        self.arrived: set[tuple[str, int]] = set()
        self.before: Callable[[int], None] = lambda index: None
        self._lock = threading.Lock()
        call = Connection.call

        def listening(connection: Connection, method: Any, request: Any, **settings: Any) -> Any:
            if not isinstance(request, contribution_pb2.PutChunkRequest):
                return call(connection, method, request, **settings)
            chunk = (request.upload, request.chunk.index)
            self.before(request.chunk.index)
            with self._lock:
                self.sent[chunk] += 1
            answer = call(connection, method, request, **settings)
            with self._lock:
                self.arrived.add(chunk)
            return answer

        monkeypatch.setattr(Connection, "call", listening)

    def copy(self) -> tuple[Counter[tuple[str, int]], set[tuple[str, int]]]:
        """What was sent and what has arrived so far."""
        with self._lock:
            return Counter(self.sent), set(self.arrived)


def test_carole_killed_between_chunks(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with a database on the disk; both custodians' services send, and go on as soon as she is back."""
    text = wide("carole-killed")
    made = deploy(text, files=people(MANY))
    (carole,) = made.processes("carole")
    chunks = Chunks(monkeypatch)
    gate = threading.Event()

    def hold_back(index: int) -> None:
        # The first two chunks arrive; the next are held until Carole is dead.
        if index >= 2:
            gate.wait(60)

    chunks.before = hold_back
    made.start_custodians()
    project = made.create(text)
    try:
        made.eventually(lambda: len(chunks.copy()[1]) == 4)
        before = {given.side: given.bytes_received for given in made.status(project).contributions}
        carole.kill()
        sent, arrived = chunks.copy()
    finally:
        gate.set()
    assert list(before.values()) == [2 * CHUNK_BYTES, 2 * CHUNK_BYTES]
    made.eventually(lambda: chunks.copy()[0] - sent)  # they try, and Carole is away
    made.processes("carole")
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
    status = made.status(project)
    assert all(given.committed and given.bytes_received == given.bytes_expected for given in status.contributions)
    assert len({upload for upload, _ in chunks.arrived}) == 2, "the uploads were resumed, not begun again"
    assert all(chunks.sent[chunk] == 1 for chunk in arrived), "what had arrived was not sent again"


def test_a_custodian_killed_between_chunks(deploy: Deploy) -> None:
    """Alice's process dies as her third chunk arrives; started again she sends the rest, of the same upload."""
    text = wide("alice-killed")
    made = deploy(text, files=people(MANY))
    application = made.start_carole()
    uploads = application.store.uploads
    put, puts = uploads.put, []
    one_by_one, dead = threading.Lock(), threading.Event()

    def kill_at_third(name: str, side: Side, upload: str, chunk: Chunk) -> None:
        if side is Side.ALICE:
            with one_by_one:
                # What she had under way when she died may arrive or not; here it does not.
                if dead.is_set():
                    raise GemelError(ErrorCode.UNAVAILABLE, "no caller waits for this any more")
                puts.append((upload, chunk.index))
                if len(puts) == 3:
                    alice.kill()
                    dead.set()
        put(name, side, upload, chunk)

    uploads.put = kill_at_third  # type: ignore[method-assign]
    made.start(Side.BOB)
    (alice,) = made.processes("alice")
    project = made.create(text)
    made.eventually(dead.is_set)
    made.eventually(lambda: made.status(project).sides[1].contributed)
    assert made.status(project).state == STATE.PROJECT_STATE_KEYED
    (held,) = [given for given in made.status(project).contributions if given.side == project_pb2.SIDE_ALICE]
    assert not held.committed
    assert held.bytes_received < held.bytes_expected
    dead.clear()
    made.processes("alice")
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
    assert len({upload for upload, _ in puts}) == 1, "the upload was resumed, not begun again"
    # Carole had the chunks that she had taken in; none of those was sent again.
    assert sorted(index for _, index in puts) == list(range(chunk_count(held.bytes_expected)))


def test_the_worker_killed_in_the_middle_of_a_run(deploy: Deploy) -> None:
    text = specification("worker-killed")
    made = deploy(text)
    reached = made.root / "reached"
    program = (sys.executable, "-m", "tests.e2e.stopping_worker", str(reached))
    application = made.start_carole(lambda store, path: Supervisor(store, path, program))
    made.start_custodians()
    project = made.contributed(text)
    run = made.coordinator.start(project).run
    made.eventually(reached.exists)
    assert made.status(project).run.state == project_pb2.RUN_STATE_RUNNING
    with pytest.raises(GemelError, match=f"is already running, got run {run}; watch it"):
        made.coordinator.start(project)
    former = application.worker_pid
    assert former is not None
    os.kill(former, signal.SIGKILL)
    made.wait_for(project, STATE.PROJECT_STATE_RELEASED)
    made.received(project)
    status = made.status(project)
    assert (status.run.run, status.run.attempt) == (run, 2)
    assert application.worker_pid != former
    assert status.run.links == made.shown(Side.ALICE, project).links > 0
