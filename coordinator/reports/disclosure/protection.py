"""What was coarsened before the release, or what was tried: the section of the report, and its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tryst.common.disclosure_measures import MEASURES
from tryst.common.message_words import listed
from tryst.common.specification.model.protection import DROP

from . import wording

_TRIED = 8


def changed_in_words(changes: Iterable[Mapping[str, Any]]) -> str:
    """Coarsenings as a list: age as bands, town dropped."""
    return listed(
        [
            f"{change['variable']} dropped"
            if change["coarsening"] == DROP
            else f"{change['variable']} as {change['coarsening']}"
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
            "cost": f"{attempt['cost']:.2f}",
            "breaches": listed([MEASURES[name].title for name in attempt["breaches"]]) or "none",
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
        return "No coarsening was tried."
    number = "one" if found["assessed"] == 1 else f"{found['assessed']:,}"
    noun = "was" if found["assessed"] == 1 else "were"
    end = (
        "none that was not assessed costs less"
        if found["exact"] and found["outcome"] == "coarsened"
        else "that is all of them"
        if found["exact"]
        else "the search was not of all of them"
    )
    return f"Of {found['possible']:,} coarsenings that the specification allows {number} {noun} assessed; {end}."


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    before = change["bits_before"]
    return {
        "variable": change["variable"],
        "coarsening": "dropped" if change["coarsening"] == DROP else change["coarsening"],
        "categories": f"{change['categories_before']} to {change['categories']}",
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
                "title": MEASURES[name].title,
                "before": wording.figure(value),
                "after": "–" if after is None else wording.figure(after["judged"]),
                "limit": "–" if limit is None else wording.figure(limit),
                "breached": breached,
            }
        )
    return sorted(rows, key=lambda row: not row["breached"])


def _utility(found: Mapping[str, float]) -> str:
    before, after = found["dependence_before"], found["dependence"]
    kept = f"{wording.figure(after / before)} of it is left" if before > 0 else "there was none to lose"
    return (
        f"What is lost counts {found['cost']:.2f}, where a dropped variable counts 1. The dependence of every two"
        f" variables on each other was {before:.3g} bits in all among the linked records; {kept}."
    )
