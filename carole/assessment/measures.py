"""The measures of risk, in the words of a steward: what each means, and which intruder it supposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Wording:
    """What a measure means.

    Attributes
    ----------
    intruder
        Who is supposed to attack, and what they know.
    words
        A sentence for a steward; ``{value}`` stands for the number.
    """

    intruder: str
    words: str


_KEYS = "Somebody who knows a person's values of all key variables"

WORDING: Mapping[str, Wording] = {
    "sample_uniques": Wording(
        f"{_KEYS}, and that this person is in the combined output.",
        "{value} of the linked records are like no other linked record in all key variables.",
    ),
    "correct_unique_matches": Wording(
        f"{_KEYS}, goes through the population, and accepts whoever matches a unique record.",
        "Of those who match a unique linked record, {value} are the right person.",
    ),
    "population_uniques": Wording(
        f"{_KEYS}, and who would be right for certain if nobody else in the population had the same.",
        "{value} of the linked records are expected to be like nobody else in the population.",
    ),
    "correct_matches": Wording(
        f"{_KEYS}, and picks one of those in the population who have them at random.",
        "{value} of the linked records would be expected to be matched to the right person.",
    ),
    "largest_record_risk": Wording(
        f"{_KEYS}, and picks one of those in the population who have them at random.",
        "The riskiest linked record would be matched to the right person with probability {value}.",
    ),
    "gain_over_own_file": Wording(
        "The same as for correct_matches, against the same people in Alice's file alone and in Bob's file alone.",
        "Linking raises the share of these people who are matched correctly by {value}.",
    ),
    "certain_attribution": Wording(
        f"{_KEYS}, and that this person is in the combined output.",
        "Of {value} of the linked records the sensitive value follows from the keys: all with these keys have it.",
    ),
    "probable_attribution": Wording(
        f"{_KEYS}, and that this person is in the combined output; how sure the links are is taken into account.",
        "Of {value} of the linked records the keys leave little doubt of the sensitive value.",
    ),
    "attribution_gain": Wording(
        f"{_KEYS}, and that this person is in the combined output, against one who knows only how common values are.",
        "The keys raise the probability of a sensitive value by up to {value}.",
    ),
    "few_values": Wording(
        f"{_KEYS}, and that this person is in the combined output.",
        "{value} of the linked records share their keys with others of too few different sensitive values.",
    ),
    "subtraction": Wording(
        "People who know some of those counted, take them away from the published tables, and look for empty cells.",
        "With probability {value} they find a cell that nobody else is in.",
    ),
    "members_learnt": Wording(
        "A custodian itself, with what is released to it.",
        "A custodian learns of {value} of its records that the other has the person too.",
    ),
}


@dataclass(frozen=True)
class Measure:
    """One measure of a release.

    Attributes
    ----------
    value
        0 to 1.
    method
        How it was found, with its parameters.
    lower, upper
        Interval of confidence `CONFIDENCE`, where there is one.
    """

    value: float
    method: str
    lower: float | None = None
    upper: float | None = None

    @property
    def judged(self) -> float:
        """What is held against the limit: the upper end of the interval, or the value."""
        return self.value if self.upper is None else self.upper


def entry(name: str, measure: Measure, limit: float | None, earlier: float | None) -> dict[str, Any]:
    """The measure in the document, judged together with the largest of the earlier releases."""
    judged = measure.judged if earlier is None else max(measure.judged, earlier)
    wording = WORDING[name]
    return {
        "value": measure.value,
        "lower": measure.lower,
        "upper": measure.upper,
        "interval": None if measure.upper is None else CONFIDENCE,
        "judged": judged,
        "earlier": earlier,
        "limit": limit,
        "breached": limit is not None and judged > limit,
        "intruder": wording.intruder,
        "words": wording.words.format(value=shown(measure.value, name)),
        "method": measure.method,
    }


def shown(value: float, name: str) -> str:
    """A number as it reads in a sentence."""
    if name in ("largest_record_risk", "attribution_gain", "subtraction"):
        return f"{value:.3g}"
    return f"{100 * value:.3g} %"
