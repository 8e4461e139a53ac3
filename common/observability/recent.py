"""A value that is computed when it is requested, at most once in some seconds, and by one thread at a time.

Whoever requests it waits a bounded time: a database that hangs must not hold the threads that answer probes, and many
readers must cost no more than one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

PATIENCE_SECONDS = 4.0
"""How long a reader waits."""


class Recent(Generic[Value]):
    """A value not older than some seconds.

    Parameters
    ----------
    compute
        Computes the value; must not raise.
    seconds
        How long a value is remembered.
    """

    def __init__(self, compute: Callable[[], Value], seconds: float) -> None:
        self._compute = compute
        self._seconds = seconds
        self._changed = threading.Condition()
        self._running = False
        self._value: Value | None = None
        self._at = float("-inf")

    def __call__(self) -> Value | None:
        """The value; None if it could not be computed in time."""
        with self._changed:
            if not self._running and time.monotonic() - self._at > self._seconds:
                self._running = True
                threading.Thread(target=self._run, name="recent", daemon=True).start()
            ended = self._changed.wait_for(lambda: not self._running, PATIENCE_SECONDS)
            return self._value if ended else None

    def _run(self) -> None:
        value: Value | None = None
        try:
            value = self._compute()
        finally:
            with self._changed:
                self._value, self._at, self._running = value, time.monotonic(), False
                self._changed.notify_all()
