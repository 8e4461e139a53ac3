"""The plain words of the report: the verdict as a sentence, figures, protections, shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tryst.coordinator.reports.linkage import wording

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

_RECEIVES = {
    "links": "the links of its own records",
    "draws": "the links of its own records, and drawn linkages",
    "pairs": "every likely pair of its own records, with probabilities",
    "statistics": "statistics only",
    "nothing": "nothing",
}

_METHOD_WORDS = {"none": "as counted", "conventional": "rounded to the nearest", "random": "rounded at random"}


def receives(grant: str) -> str:
    """What a custodian receives, in words."""
    return _RECEIVES.get(grant, grant)


def protection(table: Mapping[str, Any]) -> str:
    """How a table is protected, in words."""
    words = _METHOD_WORDS.get(table["protection"], table["protection"])
    return words if table["base"] is None else f"{words}, multiples of {table['base']}"


def earlier_runs(difference: Mapping[str, Any]) -> str:
    """The runs that a table was compared with, in words."""
    named = [
        f"run {run[:12]} of {project or 'another coordinator'}"
        for run, project in zip(difference["runs"], difference["projects"], strict=True)
    ]
    return f"the sum of {' and '.join(named)}" if len(named) > 1 else named[0]


def number(value: int) -> str:
    """A small number as a word."""
    return _NUMBERS[value] if value < len(_NUMBERS) else wording.count(value)


def headline(document: Mapping[str, Any]) -> str:
    """The verdict in a few words."""
    if document["verdict"] != "within":
        return "The policy is breached"
    return "The policy is met by a coarser result" if coarsened(document) else "The policy is met"


def coarsened(document: Mapping[str, Any]) -> bool:
    """Whether what was linked was coarsened to meet the policy."""
    found = document.get("protection")
    return found is not None and found["outcome"] == "coarsened"


def verdict(document: Mapping[str, Any]) -> str:
    """The verdict as a sentence or two, and what it means for the release."""
    limited = sum(measure["limit"] is not None for measure in document["measures"].values())
    broken = len(document["breaches"])
    if not broken:
        held = f"{_all_of(limited)} on which the parties agreed held"
        if coarsened(document):
            return (
                f"{held}, once what was linked had been coarsened as the parties had approved. The result may be"
                " released so, as the specification grants."
            )
        return f"{held}. The result may be released as the specification grants."
    if broken == limited:
        what = "The only limit" if limited == 1 else f"All {number(limited)} limits"
    else:
        what = f"{number(broken).capitalize()} of the {number(limited)} limits"
    exceeded = "is" if broken == 1 else "are"
    after = (
        "The result waits for a steward, who may refuse it, or release it with a reason and a signature that stay in"
        " the audit log."
        if document.get("on_breach") == "hold"
        else "The result is refused: no one receives anything."
    )
    return f"{what} on which the parties agreed {exceeded} exceeded. {after}"


def unjudged(free: int, notable: int, from_share: float) -> str:
    """What the verdict does not speak of: of `free` risks without a limit, `notable` are a given share or more."""
    risks = "one risk" if free == 1 else f"{number(free)} risks"
    some = "it is" if free == 1 else f"{number(notable)} of them {'is' if notable == 1 else 'are'}"
    return f"the parties set no limit on {risks}; {some} {figure(from_share)} or more. The largest:"


def _all_of(limited: int) -> str:
    return "The one limit" if limited == 1 else f"All {number(limited)} limits"


def figure(value: float | None) -> str:
    """A measure as a share in per cent, with no false 0 or 100."""
    if value is None:
        return "could not be computed"
    if 0.0 < value < 0.0005:
        return "under 0.05\u00a0%"
    if 0.9995 < value < 1.0:
        return "over 99.95\u00a0%"
    decimals = 2 if value < 0.01 else 1
    return f"{f'{100.0 * value:.{decimals}f}'.rstrip('0').rstrip('.')}\u00a0%"
