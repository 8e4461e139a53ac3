"""What comes with a call and its answer: the id that its caller gave it, and the time by the service's clock."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

REQUEST_KEY = "gemel-request"
"""Metadata of a call: the id that its caller gave it."""

CLOCK_KEY = "gemel-clock"
"""Metadata of answers: milliseconds since 1970."""

TOLERANCE_SECONDS = 300.0
"""How far two clocks may be apart: certificates begin to be valid five minutes before they are made."""

_MILLISECONDS = re.compile(r"[0-9]{1,15}")


def own_clock() -> tuple[str, str]:
    return CLOCK_KEY, str(time.time_ns() // 1_000_000)


def seconds_ahead(metadata: Iterable[Any], called: float, answered: float) -> float | None:
    """How far this machine's clock is ahead of the service's; None if the answer's metadata have no time. The service's
    time is taken to be from in between the call and its answer, in seconds since 1970."""
    named = [str(value) for key, value in metadata if key == CLOCK_KEY]
    if len(named) != 1 or not _MILLISECONDS.fullmatch(named[0]):
        return None
    return (called + answered) / 2 - int(named[0]) / 1000
