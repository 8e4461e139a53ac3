"""A block of a command that SIGTERM and SIGHUP end as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does: everything that was started is stopped."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
