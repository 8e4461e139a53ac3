"""Ends what a rehearsal started and deletes its keys, however the rehearsal ends: also killed, with no last word.

``python -m gemel.coordinator.rehearsal.guardian FOLDER`` is started before all services, leads their process group, and
does nothing until its standard input ends: the rehearsal holds the other end, which closes with it. Then it signals
to its group to end, kills what has not ended in time, a worker that was stopped too, and deletes the folder. As long as
it lives no other process can have the number of the group.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

STOP_SECONDS = 10.0
POLL_SECONDS = 0.1


def others(group: int) -> list[int]:
    """The living processes of a group but its leader, where the system shows them in /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            # The name of the program, in brackets, may hold anything; state, parent and group follow it.
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z" and int(stat.parent.name) != group:
                found.append(int(stat.parent.name))
    return found


def main(arguments: list[str]) -> int:
    """Wait for the end of the rehearsal, and clear up after it."""
    folder, group = Path(arguments[0]), os.getpid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 1024):
        pass
    os.killpg(group, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while others(group) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    for pid in others(group):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
