"""A measure as the assessment lists it."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from gemel.risk.identification.assessment.wording import Words


def entry(
    words: Words, value: float, interval: tuple[float, float] | None = None, *, relied_on: bool = True
) -> dict[str, Any]:
    """A measure with its words, ready for JSON.

    Parameters
    ----------
    words
        What it is and means.
    value, interval
        Null where they are not finite, or not known.
    relied_on
        False where the file itself contradicts the model behind it.
    """
    low, high = (None, None) if interval is None else (plain(interval[0]), plain(interval[1]))
    return {**asdict(words), "value": plain(value), "low": low, "high": high, "relied_on": relied_on}


def plain(value: float) -> float | None:
    """A number as JSON can hold it."""
    return float(value) if math.isfinite(value) else None
