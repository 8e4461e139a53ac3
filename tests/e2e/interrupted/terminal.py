"""A command as a process at a terminal, stopped while it is at work, and what is left of it.

It is started in a session of its own, with a folder of its own for temporary files. Ctrl-C goes to all of the session,
SIGTERM to the command alone.
"""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from gemel.ended_in_order import WORDS
from tests import fork_server
from tests.common.commands import commands

REPOSITORY = Path(__file__).resolve().parents[3]
SECONDS = 120.0
"""How long anything may take before a test gives up; many times what it takes."""

COMPUTING = 2.5
"""Processor seconds after which a command that prints nothing is at work; it needs many times as many to its end."""

Signal = signal.Signals
INT, TERM = signal.SIGINT, signal.SIGTERM

Test = TypeVar("Test", bound=Callable[..., None])
Start = Callable[[str], "Command"]
"""The fixture `start`."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def command_of(arguments: str) -> str:
    """The command's name in a command line, such as ``carole backup``."""
    words = arguments.split()
    return next(name for end in range(len(words), 0, -1) if (name := " ".join(words[:end])) in commands())


def interrupts(*lines: str) -> Callable[[Test], Test]:
    """Declare which commands a test stops, by their names or whole command lines; `start` holds it to that."""

    def declare(test: Test) -> Test:
        test.interrupts = {command_of(line) for line in lines}  # type: ignore[attr-defined]
        return test

    return declare


class Command:
    def __init__(self, arguments: str, folder: Path) -> None:
        self.folder, self._own = folder, folder.parent / f"{folder.name}-temporary"
        self._own.mkdir()
        self._before = names(folder)
        self._printed: list[bytes] = []
        ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gemel", *arguments.split()],
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TMPDIR": str(self._own)},
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()

    def _read(self, terminal: int) -> None:
        with suppress(OSError):  # the other end is closed with the last process that has it
            while chunk := os.read(terminal, 4096):
                self._printed.append(chunk)
        os.close(terminal)

    @property
    def printed(self) -> str:
        return b"".join(self._printed).decode()

    @property
    def processor_seconds(self) -> float:
        columns = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")

    def processes(self) -> list[int]:
        """All of its session but zombies, and but what tests fork programs by."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                name, _, fields = stat.read_text().partition("(")[2].rpartition(")")
                state, session = fields.split()[0], int(fields.split()[3])
                if session == self._process.pid and state != "Z" and name != fork_server.NAME:
                    found.append(int(stat.parent.name))
        return found

    def wait_until(self, at_work: Callable[[Command], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not at_work(self):
            assert self._process.poll() is None, f"it ended before the signal: {self.printed}"
            assert time.monotonic() < deadline, f"it is not at work: {self.printed}"
            time.sleep(0.05)
        assert self._process.poll() is None, f"it ended before the signal: {self.printed}"

    def end(self, number: Signal) -> int:
        """Signal it; its status once it has ended."""
        if number is INT:
            os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)
        status = self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        return status

    def clean_up(self) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def left(self) -> tuple[list[int], list[str], set[str]]:
        """What goes on, what is left in its temporary folder, and what is new where it was started."""
        return self.processes(), sorted(names(self._own)), names(self.folder) - self._before


NOTHING: tuple[Any, ...] = ([], [], set())


def assert_ended(command: Command, number: Signal) -> None:
    """With the status of the signal, in words, and without a traceback."""
    assert command.end(number) == 128 + number, command.printed
    assert WORDS[128 + number] in command.printed
    assert "Traceback" not in command.printed
    assert "Exception" not in command.printed
    assert "Aborted" not in command.printed


def assert_leaves_nothing(command: Command, at_work: Callable[[Command], bool], number: Signal) -> None:
    """Signalled when it is at work it ends, and neither goes on nor leaves a file."""
    command.wait_until(at_work)
    assert_ended(command, number)
    assert command.left() == NOTHING


def assert_stopped(command: Command, number: Signal) -> None:
    """A service: in order, which is no error."""
    assert command.end(number) == 0, command.printed
    assert "Traceback" not in command.printed
    assert command.left() == ([], [], {"ready.json"})


# What shows that a command is at work


def prints(words: str) -> Callable[[Command], bool]:
    return lambda command: words in command.printed


def computes(command: Command) -> bool:
    return command.processor_seconds > COMPUTING


def is_ready(command: Command) -> bool:
    return (command.folder / "ready.json").exists()


@contextmanager
def held(path: Path) -> Iterator[Callable[[Command], bool]]:
    """Let a command that opens a file stand still there, within the block: what it yields is true once one does.

    The file has a lease, which the kernel takes away only after a while (/proc/sys/fs/lease-break-time: 45 s).
    """
    descriptor = os.open(path, os.O_RDWR)
    try:
        # What the kernel sends when someone waits; by default a signal that would end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield lambda _: fcntl.fcntl(descriptor, fcntl.F_GETLEASE) != fcntl.F_WRLCK
    finally:
        os.close(descriptor)
