"""What was coarsened before the release, or what was tried: the section of the report, and its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language import decimals, gettext, listed, ngettext, written
from gemel.common.specification.model.protection import DROP

from . import wording

_TRIED = 8


def changed_in_words(changes: Iterable[Mapping[str, Any]]) -> str:
    """Coarsenings as a list: age as bands, town dropped."""
    return listed(
        [
            (
                gettext("{variable} dropped") if change["coarsening"] == DROP else gettext("{variable} as {coarsening}")
            ).format(variable=change["variable"], coarsening=change["coarsening"])
            for change in changes
        ]
    )


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
