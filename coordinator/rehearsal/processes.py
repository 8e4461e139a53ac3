"""The services as processes of this machine, for a rehearsal: started, watched, and always stopped.

They are three, and in mode shared two more, which compute on shares with Carole.

They are stopped when the block of `Services` ends. Where that block cannot end, because this process was killed, a
guardian (`guardian`) ends them and deletes their folder. Where the guardian was killed too, they end by themselves; the
folder then stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.processes import OPTION

START_SECONDS = 60.0
STOP_SECONDS = 15.0


class ServiceProcess:
    """One service, ``python -m PROGRAM``, of alice, bob, carole or a member who computes; its log and its ready file
    are in the folder. Its program is that of the party's name unless one is given, since parties import nothing of each
    other.
    """

    def __init__(self, party: str, configuration: Path, folder: Path, program: tuple[str, ...] | None = None) -> None:
        self.party = party
        self._program = program or (f"gemel.{party}",)
        self._configuration = configuration
        self._ready_file = folder / f"{party}.ready"
        self.log = folder / f"{party}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, group: int | None = None) -> None:
        """Start the service, in a process group or in a session of its own; see `wait_ready`.

        In a group it ends with this process, even where that is killed and the group's leader with it.
        """
        self._ready_file.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", *self._program),
                    *("--config", str(self._configuration), "--ready-file", str(self._ready_file)),
                    *((OPTION,) if group is not None else ()),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL if group is None else subprocess.PIPE,
                # The services must not depend on the folder the command was given in.
                cwd=self._ready_file.parent,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=group is None,
                process_group=group,
            )

    def wait_ready(self) -> dict[str, object]:
        """Wait until the service reports that it is ready, and return what it prints (its address)."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._ready_file.exists():
                ready = json.loads(self._ready_file.read_text())
                return ready if isinstance(ready, dict) else {}
            self.check()
            time.sleep(0.05)
        raise self._error(f"did not become ready within {START_SECONDS:.0f} s")

    def check(self) -> None:
        """Raise `GemelError` if the service has ended by itself."""
        if self._process is None or self._process.poll() is not None:
            status = None if self._process is None else self._process.returncode
            raise self._error(f"ended by itself with status {status}")

    def kill(self) -> None:
        """End the service and its child processes at once and without warning, as a power cut would."""
        if self._process is not None and self._process.poll() is None:
            for pid in _family(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()

    def dismiss(self) -> None:
        """Signal the service to stop, and do not wait for it."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """Signal the service to stop; end it if it does not."""
        self.dismiss()
        if self._process is None:
            return
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise GemelError(ErrorCode.UNAVAILABLE, "the service has not been started", where=self.party)
        return self._process.pid

    def peak_memory(self) -> int:
        """Most memory the service and its child processes have held so far, in bytes; 0 where it is not known.

        The sum of each process's own peak: an upper bound of the peak of the sum.
        """
        total = 0
        for pid in _family(self.pid):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            for line in status.splitlines():
                if line.startswith("VmHWM:"):
                    total += int(line.split()[1]) * 1024
        return total

    def processor_seconds(self) -> float:
        """Processor time of the service and its child processes, also of those that have ended; 0 where not known."""
        ticks = 0
        for pid in _family(self.pid):
            try:
                # The name, in parentheses, may hold blanks.
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(int(each) for each in fields[11:15])  # user and system, its own and of children waited for
        return ticks / os.sysconf("SC_CLK_TCK")

    def lines(self) -> list[str]:
        """What it has printed and logged so far."""
        return self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []

    def _error(self, what: str) -> GemelError:
        last = self.lines()[-1:]
        return GemelError(
            ErrorCode.UNAVAILABLE,
            f"the service {what}",
            where=self.party,
            remedy=f"its log ends: {last[0] if last else 'empty'}",
        )


class Services:
    """Several services, stopped together when the block ends, however it ends."""

    def __init__(self, folder: Path | None = None) -> None:
        self._running: list[ServiceProcess] = []
        self._folder = folder
        self._guardian: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Services:
        if self._folder is not None:
            self._guardian = subprocess.Popen(
                [sys.executable, "-m", "gemel.coordinator.rehearsal.guardian", str(self._folder)],
                stdin=subprocess.PIPE,  # its end signals to the guardian that this process has ended
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dismiss()
        for service in reversed(self._running):
            service.stop()
        if self._guardian is not None:
            self._guardian.communicate()

    def start(self, service: ServiceProcess) -> ServiceProcess:
        """Start a service and remember to stop it."""
        self._running.append(service)
        service.start(None if self._guardian is None else self._guardian.pid)
        return service

    def dismiss(self) -> None:
        """Signal all services to stop; the end of the block waits, since an interpreter takes a while to end."""
        # Custodians first: they call Carole, and would log her absence.
        for service in reversed(self._running):
            service.dismiss()

    def check(self) -> None:
        """Raise `GemelError` if any service has ended by itself."""
        for service in self._running:
            service.check()

    @property
    def all(self) -> Sequence[ServiceProcess]:
        """The services, in the order they were started."""
        return tuple(self._running)


COMPUTE = ("gemel", "compute")
"""The program of a member who computes in mode shared."""


def make_store(configuration: Path) -> None:
    """Make Carole's store by her own command, as her operator does once before the first start."""
    command = [sys.executable, "-m", "gemel", "carole", "init", "--config", str(configuration)]
    done = subprocess.run(
        command, cwd=configuration.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise GemelError(
            ErrorCode.UNAVAILABLE, "the store could not be made", where="carole", remedy=done.stderr.strip()[-500:]
        )


def _family(pid: int) -> list[int]:
    """A process and its descendants, where the system shows them in /proc."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += _family(int(child))
    return found
