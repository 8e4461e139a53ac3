"""A rehearsal that is ended by a signal: no process of it goes on, and no key of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.deployment import people, specification
from tests.e2e.interrupted.terminal import interrupts
from tests.fork_server import started_by_exec

SECONDS = 120.0
"""How long anything may take before a test gives up; many times what it takes."""

Rehearsal = tuple["subprocess.Popen[bytes]", Path]


@pytest.fixture
def rehearsal(tmp_path: Path) -> Iterator[Rehearsal]:
    """`gemel rehearse` with Carole, her worker and a custodian at work, and its folder of temporary files."""
    own, text = tmp_path / "temporary", tmp_path / "linkage.yaml"
    text.write_text(specification("ended"))
    for side, frame in people(200, 100).items():
        frame.write_csv(tmp_path / f"{side}.csv")
    own.mkdir()
    files = "--alice", "alice.csv", "--bob", "bob.csv"
    # Processes are found by their environments, which a fork would not show.
    with (tmp_path / "out.log").open("wb") as out, started_by_exec():
        program = subprocess.Popen(
            [*(sys.executable, "-m", "gemel", "rehearse", "linkage.yaml", "--out", "out"), *files],
            cwd=tmp_path,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(own)},
            start_new_session=True,
        )
    try:
        # The program, its guardian, Carole, her worker and a custodian.
        eventually(lambda: program.poll() is not None or (carole_is_ready(own) and len(processes(own)) >= 5))
        assert program.poll() is None, (tmp_path / "out.log").read_text()
        yield program, own
    finally:
        for pid in processes(own):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        program.wait()


def carole_is_ready(own: Path) -> bool:
    return any(own.glob("gemel-rehearsal-*/carole.ready"))


def processes(own: Path) -> list[int]:
    """All that have the folder in their environment, which a child inherits; a zombie has none."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"TMPDIR={own}".encode() in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
    return found


def eventually(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


@interrupts("rehearse")
def test_a_signal_ends_everything_before_the_program_ends(rehearsal: Rehearsal) -> None:
    program, own = rehearsal
    program.terminate()
    assert program.wait(SECONDS) == 128 + signal.SIGTERM
    assert processes(own) == []
    assert list(own.iterdir()) == []


@pytest.mark.long
def test_an_end_that_is_interrupted_is_brought_to_its_end(rehearsal: Rehearsal) -> None:
    program, own = rehearsal
    program.send_signal(signal.SIGHUP)
    while program.poll() is None:  # Ctrl-C until it is gone
        os.killpg(program.pid, signal.SIGINT)
        time.sleep(0.1)
    eventually(lambda: not processes(own) and not list(own.iterdir()))


def test_a_killed_program_leaves_nothing_and_neither_does_a_worker_that_stands_still(rehearsal: Rehearsal) -> None:
    program, own = rehearsal
    workers = [pid for pid in processes(own) if b"service.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(workers) == 1
    os.kill(workers[0], signal.SIGSTOP)
    program.kill()
    eventually(lambda: not processes(own) and not list(own.iterdir()))


@pytest.mark.long
def test_a_program_that_is_killed_with_its_guardian_leaves_no_process(rehearsal: Rehearsal) -> None:
    program, own = rehearsal
    (guardian,) = (pid for pid in processes(own) if b"rehearsal.guardian" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(guardian, signal.SIGKILL)
    program.kill()
    eventually(lambda: not processes(own))
