"""How many processors a process may use; one that ends when the one that started it has ended, also when killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

OPTION = "--with-parent"
"""Of a service: end in order when standard input ends, of which whoever started it holds the other end."""


def end_in_order() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def end_with_parent(
    end: Callable[[], object] = end_in_order, hear: Callable[[bytes], object] = lambda line: None
) -> None:
    """Call `end`, from a thread, when standard input ends, as it does whenever the parent has ended. What the parent
    writes there is given to `hear`."""

    def watch() -> None:
        # Not `sys.stdin`, whose lock this thread would hold when the interpreter ends.
        while received := os.read(0, 1024):
            hear(received)
        end()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def processors() -> int:
    """Those that it may use; where the system does not say, all of the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
