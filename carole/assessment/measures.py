"""The value of a disclosure measure, and its entry in the document with its limit and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.errors import parameter

CONFIDENCE = 0.95
"""Confidence of every interval."""

ROUNDING = 1e-10
"""By how much a measure may pass its limit: what rounding adds, and no one would set a limit for."""


@dataclass(frozen=True)
class Measure:
    """One measure of a release.

    Attributes
    ----------
    value
        0 to 1.
    method
        How it was computed, with its parameters.
    lower, upper
        Interval of confidence `CONFIDENCE`, where there is one.
    no_interval
        Where there is none: why the value needs none.
    limits_value
        Whether a limit is on the value itself, whatever its interval.
    """

    value: float
    method: str
    lower: float | None = None
    upper: float | None = None
    no_interval: str = ""
    limits_value: bool = False

    @property
    def judged(self) -> float:
        """What is compared with the limit: the upper end of the interval, or the value."""
        return self.value if self.upper is None or self.limits_value else self.upper


def excess(judged: float, limit: float) -> float:
    """By how much a measure is above its limit; 0 where only rounding takes it there."""
    return judged - limit if judged > limit + ROUNDING else 0.0


def entry(name: str, measure: Measure, limit: float | None, earlier: float | None) -> dict[str, Any]:
    """The measure in the document, assessed together with the largest of the earlier releases.

    Raises
    ------
    GemelError
        PARAMETER if the measure has neither an interval nor a reason why it needs none.
    """
    judged = measure.judged if earlier is None else max(measure.judged, earlier)
    facts = MEASURES[name]
    if measure.upper is None and not measure.no_interval:
        raise parameter(
            f"measure {name}",
            "expected the interval of the value, or why it needs none",
            "neither",
            "give lower and upper, or no_interval",
        )
    return {
        "value": measure.value,
        "lower": measure.lower,
        "upper": measure.upper,
        "interval": None if measure.upper is None else CONFIDENCE,
        "no_interval": None if measure.upper is not None else measure.no_interval,
        "judged": judged,
        "earlier": earlier,
        "limit": limit,
        "breached": limit is not None and excess(judged, limit) > 0.0,
        "intruder": facts.intruder,
        "words": facts.words(measure.value),
        "method": measure.method,
    }
