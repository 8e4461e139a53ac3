"""Signals that end a program, as exceptions: what was begun is undone, and a person reads why it ended.

Python handles a signal between two of its own instructions. Compiled code that runs for minutes, and the threads of a
pool that are waited for, would hold the end up as long; so another thread ends the process then, without further ado.
The same thread wakes the main one where a library has the kernel restart what a signal has interrupted, and sends the
signal again where its exception was lost: what C calls back, as a compiler does, cannot pass one on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

WORDS = {
    128 + signal.SIGINT: "Stopped by Ctrl-C.",
    128 + signal.SIGTERM: "Ended by SIGTERM.",
    128 + signal.SIGHUP: "Ended: the terminal was closed.",
}
"""By exit code, what a person reads."""

GRACE_SECONDS = 20.0
"""How long the end may take: longer than the services of a rehearsal need to stop."""

_WAKING, _FIRST_PAUSE_SECONDS = signal.SIGURG, 0.25
"""A signal that no one else uses, and how long after the first it is sent again; the pauses double."""


@contextmanager
def ended_in_order(grace: float = GRACE_SECONDS) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the block by an exception: everything that was begun is undone.

    After `grace` seconds the process is ended all the same. Raises SystemExit with 128 more than the signal's number. A
    service that handles the signals itself, within the block, is not hurried. Ctrl-C is no `KeyboardInterrupt`, which a
    question at the terminal takes for the end of its input: the program would end with status 1.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    raised: list[SystemExit] = []
    lost = threading.Event()

    def end(number: int, _: FrameType | None) -> None:
        raised.append(SystemExit(128 + number))
        raise raised[-1]

    def unraisable(found: sys.UnraisableHookArgs) -> None:
        if found.exc_value in raised:
            lost.set()
        else:
            former_hook(found)

    # What the starter ignores is ignored: `nohup` the hang-up, a shell Ctrl-C for what it starts with `&` in a script.
    numbers = [each for each in SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in numbers}
    before[_WAKING] = signal.signal(_WAKING, lambda *_: None)
    former_hook, sys.unraisablehook = sys.unraisablehook, unraisable
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_hurry, args=(reading, grace, end, raised, lost), name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former)
        os.close(writing)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = former_hook


def _hurry(
    reading: int, grace: float, end: Callable[..., None], raised: Sequence[SystemExit], lost: threading.Event
) -> None:
    """See to it that a signal that is to end the process is handled now, and end it `grace` seconds after."""
    while received := os.read(reading, 1):
        number = received[0]
        # The block may have ended already, and the default be back, while threads are waited for.
        if number in SIGNALS and signal.getsignal(number) in (end, signal.default_int_handler, signal.SIG_DFL):
            deadline, pause, main = time.monotonic() + grace, _FIRST_PAUSE_SECONDS, threading.main_thread().ident or 0
            while (left := deadline - time.monotonic()) > 0:
                if lost.is_set():
                    lost.clear()
                    signal.pthread_kill(main, number)
                elif not raised:
                    # Polars puts a handler of its own before Python's, after which the kernel goes on with what it was
                    # about: waiting for a line of the terminal. This one ends that, and both are handled. Not often:
                    # gRPC looks for signals after waiting for 0.2 s, and each begins that wait again.
                    signal.pthread_kill(main, _WAKING)
                time.sleep(min(pause, left))
                pause *= 2
            os.write(2, f"{WORDS[128 + number]}\n".encode())
            os._exit(128 + number)
    os.close(reading)
