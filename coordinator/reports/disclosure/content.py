"""What of an assessment is shown, in the order it is shown in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gemel.common.documents.assessment_document import VERSION, AssessmentDocument
from gemel.common.documents.disclosure_measures import MEASURES, report_order
from gemel.common.errors import parameter
from gemel.common.language import decimals, gettext, listed, ngettext, written
from gemel.common.specification.model.protection import DROP
from gemel.coordinator.reports.disclosure import wording
from gemel.coordinator.reports.disclosure.wording import PHRASES

_OPTIONS = 12
_COMBINATIONS = 12
_NOTABLE = 0.05
"""A share from which a risk without a limit is named beside the verdict."""
_LARGEST = 3


def checked(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document that can be shown."""
    found = document.get("version") if isinstance(document, Mapping) else None
    if found != VERSION:
        raise parameter(
            "assessment.json",
            f"expected a risk assessment of version {VERSION}",
            f"version {found!r}"[:60],
            "use the version of Gemel that Carole runs",
        )
    return AssessmentDocument.of(document, "assessment").plain()


def groups(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The measures by the question they answer, those that are judged first."""
    measures: Mapping[str, Any] = document["measures"]
    found = []
    for question, own in report_order():
        cards = [card(measure.name, measures[measure.name]) for measure in own if measure.name in measures]
        cards.sort(key=lambda shown: (not shown["breached"], shown["limit"] is None))
        if cards:
            found.append(
                {"question": gettext(question.title), "explanation": gettext(question.explanation), "cards": cards}
            )
    return found


def card(name: str, measure: Mapping[str, Any]) -> dict[str, Any]:
    """One measure, ready to be shown."""
    interval = None
    if measure["lower"] is not None and measure["upper"] is not None:
        interval = gettext("{low} to {high}").format(
            low=wording.figure(measure["lower"]), high=wording.figure(measure["upper"])
        )
    earlier = measure["earlier"]
    accumulated = earlier is not None and earlier > (measure["upper"] if interval else measure["value"])
    return {
        **measure,
        "name": name,
        "title": gettext(MEASURES[name].title),
        "value": wording.figure(measure["value"]),
        "interval": interval,
        "confidence": written(measure["interval"], ".0%") if interval and measure["interval"] else "",
        "no_interval": None if interval else measure["no_interval"],
        "limit": None if measure["limit"] is None else wording.figure(measure["limit"]),
        "earlier": wording.figure(earlier) if accumulated else None,
    }


def unjudged(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The largest risks on which the parties set no limit, which no verdict speaks of; nothing if none is notable."""
    measures: Mapping[str, Any] = document["measures"]
    free = {name: found for name, found in measures.items() if found["limit"] is None and found["value"] is not None}
    notable = sorted((name for name in free if free[name]["value"] >= _NOTABLE), key=lambda name: -free[name]["value"])
    if not notable:
        return None
    return {
        "lead": wording.unjudged(len(free), len(notable), _NOTABLE),
        "largest": [card(name, free[name]) for name in notable[:_LARGEST]],
    }


def chief(document: Mapping[str, Any]) -> str:
    """The measure by which ways of releasing less are compared: the worst breach, or what has the least room."""
    measures = document["measures"]
    limited = {name: found for name, found in measures.items() if found["limit"] is not None}
    helped = {name for option in document["options"] for name in option["effect"]}
    among = {name: found for name, found in limited.items() if name in helped} or limited or measures
    main: str = max(
        among, key=lambda name: (among[name]["breached"], among[name]["value"] - (among[name]["limit"] or 0.0))
    )
    return main


def options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Ways of releasing less, the most helpful first, with the judged measures before and after.

    A way that would keep every limit that it touches, while all others are kept too, is marked.
    """
    measures = document["measures"]
    limited = [name for name, found in measures.items() if found["limit"] is not None]
    touched = {name for option in document["options"] for name in option["effect"]}
    columns = [name for name in limited if name in touched] or [name for name in measures if name in touched][:4]
    main = chief(document)
    rows = []
    for option in document["options"]:
        after = {name: option["effect"].get(name, _judged(measures[name])) for name in measures}
        over = [name for name in limited if after[name] > measures[name]["limit"]]
        if any(name in option["effect"] for name in columns):
            cells = [
                {"text": wording.figure(after[name]), "over": name in over, "same": name not in option["effect"]}
                for name in columns
            ]
            excess = sum(after[name] - measures[name]["limit"] for name in over)
            row = {"action": option["action"], "cells": cells, "enough": not over, "main": after[main]}
            rows.append(row | {"order": (len(over), excess, after[main])})
    rows.sort(key=lambda row: row["order"])
    for row in rows[:_OPTIONS]:
        row["action"] = wording.capital(PHRASES.plain(row["action"]))
    now = [
        {"text": wording.figure(_judged(measures[name])), "over": measures[name]["breached"], "same": False}
        for name in columns
    ]
    return {
        "columns": [gettext(MEASURES[name].title) for name in columns],
        "limits": ["–" if measures[n]["limit"] is None else wording.figure(measures[n]["limit"]) for n in columns],
        "now": now,
        "rows": rows[:_OPTIONS],
        "hidden": max(0, len(rows) - _OPTIONS),
        "main": main,
        "enough": [row["action"] for row in rows if row["enough"]],
    }


def highest_risk_records(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sets of key variables that single most records out."""
    found = document["identification"].get("highest_risk_records", [])
    rows = sorted(found, key=lambda row: (-row["records"], len(row["variables"])))[:_COMBINATIONS]
    records = document["records"] or 1
    return [
        {"variables": listed(row["variables"]), "records": row["records"], "share": row["records"] / records}
        for row in rows
    ]


def _judged(measure: Mapping[str, Any]) -> float:
    return float(measure["judged"])


_TRIED = 8


def changed_in_words(changes: Iterable[Mapping[str, Any]]) -> str:
    """Coarsenings as a list: age as bands, town dropped."""
    dropped, coarsened = gettext("{variable} dropped"), gettext("{variable} as {coarsening}")
    return listed([(dropped if change["coarsening"] == DROP else coarsened).format(**change) for change in changes])


def protection(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the section shows; None where nothing was coarsened or tried."""
    found = document.get("protection")
    if found is None:
        return None
    tried = [
        {
            "changes": changed_in_words(attempt["changes"]),
            "cost": written(attempt["cost"], ".2f"),
            "breaches": listed([gettext(MEASURES[name].title) for name in attempt["breaches"]]) or gettext("none"),
        }
        for attempt in found["tried"][:_TRIED]
    ]
    return {
        "coarsened": found["outcome"] == "coarsened",
        "reason": found["reason"],
        "searched": _searched(found),
        "changes": [_change(change) for change in found["changes"]],
        "before": _before(document, found) if found["before"] is not None else [],
        "utility": _utility(found["utility"]) if found["utility"] is not None else "",
        "tried": tried,
        "hidden": len(found["tried"]) - len(tried),
    }


def _searched(found: Mapping[str, Any]) -> str:
    if found["possible"] is None:
        return gettext("No coarsening was tried.")
    words = ngettext(
        "Of {possible} coarsenings that the specification allows one was assessed; {end}.",
        "Of {possible} coarsenings that the specification allows {assessed} were assessed; {end}.",
        found["assessed"],
    )
    end = (
        gettext("none that was not assessed costs less")
        if found["exact"] and found["outcome"] == "coarsened"
        else gettext("that is all of them")
        if found["exact"]
        else gettext("the search was not of all of them")
    )
    return words.format(
        possible=decimals(f"{found['possible']:,}"), assessed=decimals(f"{found['assessed']:,}"), end=end
    )


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    before = change["bits_before"]
    return {
        "variable": change["variable"],
        "coarsening": gettext("dropped") if change["coarsening"] == DROP else change["coarsening"],
        "categories": gettext("{before} to {after}").format(
            before=change["categories_before"], after=change["categories"]
        ),
        "lost": wording.figure(1.0 - change["bits"] / before if before > 0 else 0.0),
    }


def _before(document: Mapping[str, Any], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The judged measures with a limit, before and after."""
    former, measures = found["before"]["measures"], document["measures"]
    rows = []
    for name, value in former.items():
        after = measures.get(name)
        limit = None if after is None else after["limit"]
        breached = name in found["before"]["breaches"]
        if limit is None and not breached:
            continue
        rows.append(
            {
                "title": gettext(MEASURES[name].title),
                "before": wording.figure(value),
                "after": "–" if after is None else wording.figure(after["judged"]),
                "limit": "–" if limit is None else wording.figure(limit),
                "breached": breached,
            }
        )
    return sorted(rows, key=lambda row: not row["breached"])


def _utility(found: Mapping[str, float]) -> str:
    before, after = found["dependence_before"], found["dependence"]
    kept = (
        gettext("{share} of it is left").format(share=wording.figure(after / before))
        if before > 0
        else gettext("there was none to lose")
    )
    return gettext(
        "What is lost counts {cost}, where a dropped variable counts 1. The dependence of every two variables on each"
        " other was {before} bits in all among the linked records; {kept}."
    ).format(cost=written(found["cost"], ".2f"), before=written(before, ".3g"), kept=kept)
