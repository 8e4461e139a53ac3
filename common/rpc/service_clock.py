"""The clock of a service, sent with each of its answers, by which a caller finds that its own is wrong.

It is a hint for the operator: nothing is decided by it, and a service that sends a false time only has a clock checked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

CLOCK_KEY = "gemel-clock"
"""Metadata of answers: milliseconds since 1970."""

TOLERANCE_SECONDS = 300.0
"""How far two clocks may be apart: certificates begin to be valid five minutes before they are made."""

_MILLISECONDS = re.compile(r"[0-9]{1,15}")


def own_clock() -> tuple[str, str]:
    """This machine's time, as metadata."""
    return CLOCK_KEY, str(time.time_ns() // 1_000_000)


def seconds_ahead(metadata: Iterable[Any], called: float, answered: float) -> float | None:
    """How far this machine's clock is ahead of the service's; None if the service sends no time.

    Parameters
    ----------
    metadata
        Of the answer.
    called, answered
        When the call was made and its answer there, in seconds since 1970: the service's time is from in between.
    """
    named = [str(value) for key, value in metadata if key == CLOCK_KEY]
    if len(named) != 1 or not _MILLISECONDS.fullmatch(named[0]):
        return None
    return (called + answered) / 2 - int(named[0]) / 1000
