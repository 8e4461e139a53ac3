"""A custodian's process is killed with every kind of call under way, and goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2
from tests.custodian.test_flow import assert_everybody_is_linked, true_links

CALLS = (
    "NextTask",
    "Approve",
    "PostMessage",
    "ReportKeys",
    "BeginUpload",
    "PutChunk",
    "CommitUpload",
    "FetchResult",
    "AcknowledgeResult",
)


class Watchman:
    """Starts a custodian's process again whenever it has been killed."""

    def __init__(self, module: str, config: Path, log: Path) -> None:
        self._command = [sys.executable, "-m", module, "--config", str(config)]
        self._log = log.open("ab")
        self._ended = threading.Event()
        self.process = self._start()
        self.starts = 1
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stderr=self._log, stdout=self._log, cwd=Path.cwd())

    def _watch(self) -> None:
        while not self._ended.is_set():
            if self.process.wait() == -signal.SIGKILL and not self._ended.is_set():
                self.process = self._start()
                self.starts += 1
            else:
                return

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)

    def stop(self) -> int:
        self._ended.set()
        self.process.terminate()
        status = self.process.wait(20)
        self._thread.join(5)
        self._log.close()
        return status


def stage_of(folder) -> str:
    """The stage that the service reports; empty while it is being started again."""
    try:
        with folder.control() as control:
            return control.status().projects[0].stage
    except GemelError:
        return ""


@pytest.mark.parametrize(
    ("arrives", "calls", "n"),
    [
        pytest.param(True, CALLS, 400, marks=pytest.mark.long),
        pytest.param(False, CALLS, 400, marks=pytest.mark.long),
        (False, ("PostMessage", "PutChunk"), 120),
        (True, ("CommitUpload",), 120),
    ],
    ids=["every call arrives", "every call is lost", "two are lost", "one arrives"],
)
def test_killed_during_calls(make_world, tmp_path: Path, arrives: bool, calls: tuple[str, ...], n: int) -> None:
    world = make_world(n)
    carole = world.carole
    log = tmp_path / "alice.log"
    watchman = Watchman("gemel.alice", world.alice.config, log)
    killed: list[str] = []

    def kill_once(method: str, side: Side) -> None:
        if side is Side.ALICE and method in calls and method not in killed:
            killed.append(method)
            watchman.kill()
            if not arrives:
                raise GemelError(ErrorCode.UNAVAILABLE, "lost")

    carole.before = kill_once
    bob = world.bob.start()
    try:
        carole.wait_for(lambda: carole.state == project_pb2.PROJECT_STATE_CONTRIBUTED, 90)
        carole.release(true_links(carole))
        carole.wait_for(lambda: len(carole.acknowledged) == 2, 60)
        deadline = time.monotonic() + 30
        while stage_of(world.alice) != "has its share of the result":
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        bob.close()
        status = watchman.stop()
    assert status == 0, "a service that is stopped ends in order"
    assert sorted(killed) == sorted(calls)
    assert watchman.starts == len(calls) + 1
    assert len(carole.uploads[Side.ALICE]) == 1, "one upload, whatever happened while it was under way"
    assert_everybody_is_linked(world)
    assert [path.name for path in (world.alice.configuration.results / "people").iterdir()] == [carole.run]
    state = world.alice.configuration.state
    assert sorted(path.suffix for path in (state / "uploads").iterdir()) == [".map"]
    assert not list(state.glob("share-*"))
    assert "uncaught" not in log.read_text()
    assert "incident" not in log.read_text()
