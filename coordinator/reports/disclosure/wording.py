"""The plain words of the report: the verdict as a sentence, figures, protections, shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language import decimals, gettext, listed, marked, ngettext
from gemel.coordinator.reports.linkage import wording
from gemel.coordinator.reports.linkage.statistics_phrases import phrases_of
from gemel.risk.report.page import WARNINGS, Phrases

PHRASES = Phrases(
    (
        *WARNINGS,
        *(text for measure in MEASURES.values() for text in (measure.sentence, measure.intruder)),
        *phrases_of(__package__),
    )
)
"""Of the whole document."""


_NUMBERS = (
    *(marked("no"), marked("one"), marked("two"), marked("three"), marked("four")),
    *(marked("five"), marked("six"), marked("seven"), marked("eight"), marked("nine")),
    *(marked("ten"), marked("eleven"), marked("twelve")),
)

_RECEIVES = {
    "links": marked("the links of its own records"),
    "draws": marked("the links of its own records, and drawn linkages"),
    "pairs": marked("every likely pair of its own records, with probabilities"),
    "statistics": marked("statistics only"),
    "nothing": marked("nothing"),
}

_METHOD_WORDS = {
    "none": marked("as counted"),
    "conventional": marked("rounded to the nearest"),
    "random": marked("rounded at random"),
}

_ROLES = {"key": marked("recognisable"), "sensitive": marked("sensitive"), "": marked("neither")}


def receives(grant: str) -> str:
    return gettext(_RECEIVES.get(grant, grant))


def role(name: str) -> str:
    return gettext(_ROLES.get(name, _ROLES[""]))


def protection(table: Mapping[str, Any]) -> str:
    words = gettext(_METHOD_WORDS.get(table["protection"], table["protection"]))
    if table["base"] is None:
        return words
    return gettext("{words}, multiples of {base}").format(words=words, base=table["base"])


def earlier_runs(difference: Mapping[str, Any]) -> str:
    named = [
        gettext("run {run} of {project}").format(run=run[:12], project=project or gettext("another coordinator"))
        for run, project in zip(difference["runs"], difference["projects"], strict=True)
    ]
    return gettext("the sum of {runs}").format(runs=listed(named)) if len(named) > 1 else named[0]


def number(value: int) -> str:
    return gettext(_NUMBERS[value]) if value < len(_NUMBERS) else wording.count(value)


def headline(document: Mapping[str, Any]) -> str:
    if document["verdict"] != "within":
        return gettext("The policy is breached")
    return gettext("The policy is met by a coarser result") if coarsened(document) else gettext("The policy is met")


def coarsened(document: Mapping[str, Any]) -> bool:
    found = document.get("protection")
    return found is not None and found["outcome"] == "coarsened"


def verdict(document: Mapping[str, Any]) -> str:
    """The verdict as a sentence or two, and what it means for the release."""
    limited = sum(measure["limit"] is not None for measure in document["measures"].values())
    broken = len(document["breaches"])
    if not broken:
        return _held(limited, coarsened=coarsened(document))
    if broken == limited:
        what = ngettext(
            "The only limit on which the parties agreed is exceeded.",
            "All {limited} limits on which the parties agreed are exceeded.",
            limited,
        )
    else:
        what = ngettext(
            "One of the {limited} limits on which the parties agreed is exceeded.",
            "{broken} of the {limited} limits on which the parties agreed are exceeded.",
            broken,
        )
    after = (
        gettext(
            "The result waits for a steward, who may refuse it, or release it with a reason and a signature that stay"
            " in the audit log."
        )
        if document.get("on_breach") == "hold"
        else gettext("The result is refused: no one receives anything.")
    )
    return f"{what.format(limited=number(limited), broken=capital(number(broken)))} {after}"


def _held(limited: int, *, coarsened: bool) -> str:
    if coarsened:
        words = ngettext(
            "The one limit on which the parties agreed held, once what was linked had been coarsened as the parties had"
            " approved. The result may be released so, as the specification grants.",
            "All {limited} limits on which the parties agreed held, once what was linked had been coarsened as the"
            " parties had approved. The result may be released so, as the specification grants.",
            limited,
        )
    else:
        words = ngettext(
            "The one limit on which the parties agreed held. The result may be released as the specification grants.",
            "All {limited} limits on which the parties agreed held. The result may be released as the specification"
            " grants.",
            limited,
        )
    return words.format(limited=number(limited))


def unjudged(free: int, notable: int, from_share: float) -> str:
    """What the verdict does not speak of: of `free` risks without a limit, `notable` are a given share or more."""
    if free == 1:
        words = gettext("the parties set no limit on one risk; it is {share} or more. The largest:")
    else:
        words = ngettext(
            "the parties set no limit on {free} risks; one of them is {share} or more. The largest:",
            "the parties set no limit on {free} risks; {notable} of them are {share} or more. The largest:",
            notable,
        )
    return words.format(free=number(free), notable=number(notable), share=figure(from_share))


def figure(value: float | None) -> str:
    """A measure as a share in per cent, with no false 0 or 100."""
    if value is None:
        return gettext("could not be computed")
    if 0.0 < value < 0.0005:
        return gettext("under {share}").format(share=decimals("0.05\u00a0%"))
    if 0.9995 < value < 1.0:
        return gettext("over {share}").format(share=decimals("99.95\u00a0%"))
    places = 2 if value < 0.01 else 1
    return decimals(f"{f'{100.0 * value:.{places}f}'.rstrip('0').rstrip('.')}\u00a0%")


def capital(text: str) -> str:
    """A text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
