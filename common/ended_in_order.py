"""Signals that end a program, as exceptions: what was begun is undone, and a person reads why it ended.

Python handles a signal between two of its own instructions. Compiled code that runs for minutes, and the threads of a
pool that are waited for, would hold the end up as long; so another thread ends the process then, without further ado.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {
    128 + signal.SIGINT: "Stopped by Ctrl-C.",
    128 + signal.SIGTERM: "Ended by SIGTERM.",
    128 + signal.SIGHUP: "Ended: the terminal was closed.",
}
"""By exit code, what a person reads."""

GRACE_SECONDS = 20.0
"""How long the end may take: longer than the services of a rehearsal need to stop."""


@contextmanager
def ended_in_order(grace: float = GRACE_SECONDS) -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does: everything that was begun is undone.

    Parameters
    ----------
    grace
        Seconds after which the process is ended all the same, after Ctrl-C too.

    Raises
    ------
    SystemExit
        With 128 more than the signal's number.

    Notes
    -----
    A service that handles the signals itself, within the block, is not hurried.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    # A hang-up that the starter ignores, as `nohup` does, is ignored.
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, _end) for number in numbers}
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_hurry, args=(reading, grace), name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former)
        os.close(writing)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _hurry(reading: int, grace: float) -> None:
    """End the process `grace` seconds after a signal that is to end it."""
    while received := os.read(reading, 1):
        number = received[0]
        # The block may have ended already, and the default be back, while threads are waited for.
        if signal.getsignal(number) in (_end, signal.default_int_handler, signal.SIG_DFL):
            time.sleep(grace)
            os.write(2, f"{WORDS[128 + number]}\n".encode())
            os._exit(128 + number)
    os.close(reading)
