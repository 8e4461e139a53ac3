"""Which number judged each limit on the chances of a match, and where two numbers disagree: for report and log.

By the population where it is known. Otherwise by the counts where the policy has a k, and where everyone is in the
file; and by the larger of the counts and the upper end (`calibrated`) where it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemel.risk.protection.calibrated import UpperEnds
from gemel.risk.protection.policy import TOLERANCE, FileRisk, Policy

UPPER_WORDS = {"calibrated": "the calibrated upper end", "bound": "the bound 1/f"}
"""The kinds of upper ends, as a sentence has them."""

_MEASURES = {"max_correct_matches": "correct_matches", "max_record_risk": "record_risk"}


def policy_decision(
    policy: Policy, before: FileRisk, after: FileRisk, *, by_larger: bool, certain: bool
) -> dict[str, Any]:
    """What judged, ready for JSON.

    Parameters
    ----------
    before, after
        With the upper ends of both.
    by_larger
        Whether the larger of the two numbers decides.
    certain
        Whether the counts, or the population, leave nothing to estimate.

    Returns
    -------
    dict
        ``by``: ``population``, ``counts`` or ``larger``; ``limits``, for each limit on the chances of a match its name
        and ``value``, and for the file ``before`` and ``after``: the ``counts``' number, the ``upper`` end,
        ``upper_by`` (``calibrated`` or ``bound``), and whether the two ``disagree`` about the limit; ``why``, for which
        of the files the bound stands in, and for what reason.
    """
    exact = before.exact is not None
    rows = list[dict[str, Any]]()
    for limit, measure in _MEASURES.items():
        value = getattr(policy, limit)
        if value is None or certain:
            continue
        row: dict[str, Any] = {"limit": limit, "value": value}
        for when, risk in (("before", before), ("after", after)):
            row[when] = _two(value, getattr(risk, measure), risk.upper, measure, by_larger)
        rows.append(row)
    by = "population" if exact else "larger" if by_larger else "counts"
    # What a sentence needs for the bound; with k, or where nothing is estimated, no bound judges.
    why = {w: r.upper.why for w, r in (("before", before), ("after", after)) if r.upper is not None and r.upper.why}
    return {"by": by, "limits": rows, "why": why if by_larger else {}}


def decision_words(decision: Mapping[str, Any]) -> list[str]:
    """Sentences on the disagreements between the two numbers, and on where a bound stood in for an estimate."""
    found = []
    larger = decision["by"] == "larger"
    for row in decision["limits"]:
        for when in ("before", "after"):
            own = row[when]
            if own["disagree"]:
                kinds = "the counts alone", UPPER_WORDS[own["upper_by"]]
                meets, misses = kinds if own["counts"] < own["upper"] else kinds[::-1]
                decides = "the larger judges" if larger else "with k the counts judge"
                found.append(
                    f"{row['limit']} {row['value']:g}: the file {when} meets it by {meets} and not by {misses} "
                    f"({own['counts']:.4g} and {own['upper']:.4g}); {decides}"
                )
    found += [
        f"no calibrated estimate for the file {when} ({why}): the bound 1/f judges, as if everyone who agrees with a "
        "record were in the file"
        for when, why in decision["why"].items()
    ]
    return found


def _two(limit: float, counts: float, upper: UpperEnds | None, measure: str, by_larger: bool) -> dict[str, Any]:
    # The bound 1/f is no estimate: where it does not decide it says nothing against the counts.
    if upper is None or (upper.by == "bound" and not by_larger):
        return {"counts": counts, "upper": None, "upper_by": None, "disagree": False}
    end = getattr(upper, measure)
    meets = [number <= limit + TOLERANCE for number in (counts, end)]
    return {"counts": counts, "upper": end, "upper_by": upper.by, "disagree": meets[0] != meets[1]}
