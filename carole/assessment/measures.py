"""The value of a disclosure measure, and its entry in the document with its limit and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tryst.common.disclosure_measures import MEASURES

CONFIDENCE = 0.95
"""Confidence of every interval."""


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
    """

    value: float
    method: str
    lower: float | None = None
    upper: float | None = None

    @property
    def judged(self) -> float:
        """The value compared with the limit: the upper end of the interval, or the value."""
        return self.value if self.upper is None else self.upper


def entry(name: str, measure: Measure, limit: float | None, earlier: float | None) -> dict[str, Any]:
    """The measure in the document, assessed together with the largest of the earlier releases."""
    judged = measure.judged if earlier is None else max(measure.judged, earlier)
    facts = MEASURES[name]
    return {
        "value": measure.value,
        "lower": measure.lower,
        "upper": measure.upper,
        "interval": None if measure.upper is None else CONFIDENCE,
        "judged": judged,
        "earlier": earlier,
        "limit": limit,
        "breached": limit is not None and judged > limit,
        "intruder": facts.intruder,
        "words": facts.words(measure.value),
        "method": measure.method,
    }
