"""Whether a service can do its work now: named checks, one after the other, bounded in time and remembered briefly.

A check that hangs, as one of a network disk may, neither hangs the probe nor starts again with each: what is unfinished
is shown as such.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Generic, TypeVar

import structlog

from gemel.common.errors import GemelError
from gemel.common.logging_setup import place_of

Value = TypeVar("Value")

PATIENCE_SECONDS = 4.0
"""How long a reader waits."""


class Recent(Generic[Value]):
    """A value, by a function that must not raise, not older than some seconds."""

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


REMEMBERED_SECONDS = 2.0
"""Probes within this time share one run of the checks."""

log = structlog.get_logger()


class State(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    FAILED = "failed"
    NO_ANSWER = "no answer"


Check = Callable[[], None]
"""Returns if all is well; raises otherwise."""


class Readiness:
    """The checks of one service, by the name that is shown to whoever may probe. Why a check failed is in the log only,
    once per failure."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = dict(checks)
        self._found: dict[str, State] = {}
        self._failing: set[str] = set()
        self._recent = Recent(self._run, REMEMBERED_SECONDS)

    def __call__(self) -> dict[str, State]:
        self._recent()
        found = self._found
        return {name: found.get(name, State.NO_ANSWER) for name in self._checks}

    def _run(self) -> None:
        found: dict[str, State] = {}
        self._found = found
        for name, check in self._checks.items():
            found[name] = self._outcome(name, check)

    def _outcome(self, name: str, check: Check) -> State:
        try:
            check()
        except Exception as error:  # noqa: BLE001 - a check that cannot be made has failed
            if name not in self._failing:
                self._failing.add(name)
                why = str(error) if isinstance(error, GemelError) else place_of(error)
                log.error("not ready", check=name, type=type(error).__name__, error=why)
            return State.FAILED
        if name in self._failing:
            self._failing.discard(name)
            log.info("ready again", check=name)
        return State.OK


def is_ready(checks: Mapping[str, State]) -> bool:
    return all(state is State.OK for state in checks.values())
