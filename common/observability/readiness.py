"""Whether a service can do its work now: named checks, one after the other, bounded in time and remembered briefly.

A check that hangs, as one of a network disk may, neither hangs the probe nor starts again with each: what is unfinished
is shown as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import structlog

from gemel.common.errors import GemelError
from gemel.common.logging_setup import place_of
from gemel.common.observability.recent import Recent

REMEMBERED_SECONDS = 2.0
"""Probes within this time share one run of the checks."""

log = structlog.get_logger()


class State(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    FAILED = "failed"
    NO_ANSWER = "no answer"
    """It has not ended in time."""


Check = Callable[[], None]
"""Returns if all is well; raises otherwise."""


class Readiness:
    """The checks of one service.

    Parameters
    ----------
    checks
        By name. The name is shown to whoever may probe; why a check failed is in the log only, once per failure.
    """

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = dict(checks)
        self._found: dict[str, State] = {}
        self._failing: set[str] = set()
        self._recent = Recent(self._run, REMEMBERED_SECONDS)

    def __call__(self) -> dict[str, State]:
        """The state of every check, in order."""
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
    """Whether every check is well."""
    return all(state is State.OK for state in checks.values())
