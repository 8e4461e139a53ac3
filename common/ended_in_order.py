"""Signals that end a program, as exceptions: what was begun is undone, and a person reads why it ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WORDS = {
    128 + signal.SIGINT: "Stopped by Ctrl-C.",
    128 + signal.SIGTERM: "Ended by SIGTERM.",
    128 + signal.SIGHUP: "Ended: the terminal was closed.",
}
"""By exit code, what a person reads."""


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does: everything that was begun is undone.

    Raises
    ------
    SystemExit
        With 128 more than the signal's number.
    """

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    # A hang-up that the starter ignores, as `nohup` does, is ignored.
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
