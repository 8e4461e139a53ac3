"""A forked program is what a started one is: its streams, folder, status, session, signals; and it can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fork_server import started_by_exec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands a process to another parent")

GUARDIAN = [sys.executable, "-m", "gemel.coordinator.rehearsal.guardian"]


def command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.fixture
def guardian(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A program that waits until its standard input ends."""
    return subprocess.Popen([*GUARDIAN, str(tmp_path / "none")], stdin=subprocess.PIPE, process_group=0)


def test_it_is_a_child_in_a_group_of_its_own_and_can_be_killed(guardian: subprocess.Popen[bytes]) -> None:
    assert b"tests.fork_server" in command_line(guardian.pid)
    assert os.getpgid(guardian.pid) == guardian.pid
    assert guardian.poll() is None
    guardian.kill()
    assert guardian.wait(60) == -signal.SIGKILL


def test_it_ends_with_its_standard_input(guardian: subprocess.Popen[bytes]) -> None:
    guardian.communicate(timeout=60)
    assert guardian.returncode == 0


@pytest.mark.parametrize("words", [["--help"], ["carole", "init", "--config", "missing.yaml"], ["no-such-command"]])
def test_it_prints_and_ends_as_a_started_one(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gemel", *words]
    variables = {**os.environ, "COLUMNS": "80"}

    def done() -> tuple[int, str, str]:
        ended = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout, ended.stderr

    forked = done()
    with started_by_exec():
        assert done() == forked


@pytest.mark.parametrize("other", [{"PYTHONHASHSEED": "1"}, {"OPENBLAS_NUM_THREADS": "2"}])
def test_what_only_a_start_can_show_is_started(other: dict[str, str], tmp_path: Path) -> None:
    with subprocess.Popen([*GUARDIAN, str(tmp_path)], stdin=subprocess.PIPE, env={**os.environ, **other}) as process:
        while b"tests.fork_server" not in (line := command_line(process.pid)) and b"guardian" not in line:
            pass  # between fork and exec it is this process still
        assert b"rehearsal.guardian" in line
