"""Work that is done every few seconds, on a thread of its own, until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gemel.common.logging_setup import log, place_of


class Periodic:
    """A thread that repeats something, `seconds` after its last time, until it is stopped or `work` returns false. The
    first time is after `seconds` too. An error that it raises is logged, and it is done again."""

    def __init__(self, name: str, seconds: float, work: Callable[[], bool]) -> None:
        self._name = name
        self._seconds = seconds
        self._work = work
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Do it no more; returns when a time that has begun is over."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                if not self._work():
                    return
            except Exception as error:  # noqa: BLE001 - what is unforeseen once must not end it for good
                log.error("periodic work failed", work=self._name, type=type(error).__name__, at=place_of(error))
