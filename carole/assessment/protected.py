"""Protect and look again: where a limit is breached, the least allowed coarsening with which every limit holds.

Each coarsening is judged by the assessment itself, on the coarsened codes: every measure, with all earlier releases and
the differences from them. What is released is then the coarsened output, and the document is that of its assessment,
with what was before. Where no allowed coarsening is enough, the document is that of the output as it is, with what was
tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gemel.carole.assessment.coarsening import coarsened_joint, coarsened_output, coarsened_specification
from gemel.carole.assessment.coarsening_search import Costs, Search, entropy, minimal_coarsening
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import Assessment
from gemel.carole.assessment.differences import EarlierRelease, differences
from gemel.carole.assessment.ladders import Ladder, Levels, as_levels, ladders_of
from gemel.carole.assessment.measures import excess
from gemel.carole.assessment.released_counts import unpack
from gemel.common.documents.assessment_document import AssessmentDocument
from gemel.common.specification import Specification, specification_digest
from gemel.risk.models.joint_distribution import JointDistribution

UNCHANGED = ("members_disclosed", "near_copies", "unlinked", "false_links")
"""Measures that no coarsening of variables changes: they are of rows and links."""

_SHOWN = 20


Assess = Callable[..., Assessment]
"""Assesses an output: `combined`, `spec` and `joint`, with `attacked`, `ladders` and `advise` as `assess` has them."""


@dataclass(frozen=True)
class Protected:
    """What is released, if anything is: the assessment of it, by variable the step that was taken, the joint
    distribution, and the limits that were breached before the coarsening."""

    assessment: Assessment
    changes: Mapping[str, str]
    joint: JointDistribution | None = field(repr=False)
    breached: tuple[str, ...] = ()


def protected(
    combined: Combined,
    spec: Specification,
    joint: JointDistribution | None,
    assess: Assess,
    earlier: Sequence[bytes] = (),
    released: Callable[[], Iterable[EarlierRelease]] = tuple,
) -> Protected:
    """Assess an output, and where a limit is breached, coarsen it as far as the specification allows and must be.

    `earlier` are reports on the project's earlier releases, oldest first; `released` gives those of the same
    custodians, as `assess` has them. The time is that of an assessment for each coarsening that is tried.
    """
    plain = assess(combined, spec, joint)
    ladders = ladders_of(spec)
    if not plain.breaches or not ladders:
        return Protected(plain, {}, joint)

    def none_found(reason: str, search: Search) -> Protected:
        result = {"outcome": "none", "reason": reason, **_searched(search, ladders)}
        result |= {"changes": [], "before": None, "utility": None}
        return Protected(_with_protection(plain, result, spec), {}, joint)

    unattainable = _unattainable(plain, spec, combined, released)
    if unattainable:
        return none_found(unattainable, Search(None, (), None, True))
    costs = Costs.of(combined, ladders)
    finest = _finest_before(earlier, ladders)

    def made(levels: Levels, *, advise: bool) -> tuple[Assessment, JointDistribution | None]:
        output = coarsened_output(combined, ladders, levels)
        shown = tuple(min(k, finest.get(ladder.variable, k)) for ladder, k in zip(ladders, levels, strict=True))
        attacked = coarsened_output(combined, ladders, shown) if finest else None
        own = coarsened_joint(joint, ladders, levels)
        its = coarsened_specification(spec, output)
        return assess(output, its, own, attacked=attacked, ladders=ladders, advise=advise), own

    def judge(levels: Levels) -> tuple[float, tuple[str, ...]]:
        found, _ = made(levels, advise=False)
        measures = found.document["measures"]
        over = sum(excess(measures[name]["judged"], measures[name]["limit"]) for name in found.breaches)
        return float(over), found.breaches

    def allowed(levels: Levels) -> bool:
        gone = {ladder.variable for ladder, level in zip(ladders, levels, strict=True) if ladder.dropped(level)}
        return bool(set(combined.with_role("key")) - gone)

    search = minimal_coarsening(ladders, costs, judge, allowed)
    if search.found is None:
        every = "every allowed coarsening leaves a limit breached"
        return none_found(every if search.exact else "none was found with which every limit holds", search)
    levels = search.found.levels
    final, own = made(levels, advise=True)
    dependences = _dependence(combined), _dependence(coarsened_output(combined, ladders, levels))
    entry = {
        "outcome": "coarsened",
        "reason": "the least allowed coarsening with which every limit holds",
        **_searched(search, ladders),
        "changes": _changes(ladders, levels, costs),
        "before": {"measures": dict(plain.judged), "breaches": list(plain.breaches)},
        "utility": {"cost": search.found.cost, "dependence_before": dependences[0], "dependence": dependences[1]},
    }
    return Protected(_with_protection(final, entry, spec), _named(ladders, levels), own, plain.breaches)


def _finest_before(earlier: Sequence[bytes], ladders: Sequence[Ladder]) -> dict[str, int]:
    """By variable the finest level at which a table of earlier releases has it; not those that no table has.

    An intruder with all releases has each variable as finely as any. A table that is coarser than that follows from one
    that is as fine: together they tell no less than what is released.
    """
    reports = [json.loads(report) for report in earlier]
    own = {frozenset(table["variables"]) for report in reports for table in report["tables"] if not table["earlier"]}
    finest: dict[str, int] = {}
    for report in reports:
        levels = as_levels(ladders, (report.get("protection") or {}).get("changes") or [])
        for table in report["tables"]:
            if table["earlier"] and frozenset(table["variables"]) in own:
                continue
            for ladder, level in zip(ladders, levels, strict=True):
                if ladder.variable in table["variables"]:
                    # Of a table whose own report is no longer there it is not known how coarse it was: not at all.
                    was = 0 if table["earlier"] else level
                    finest[ladder.variable] = min(finest.get(ladder.variable, was), was)
    return finest


def _unattainable(
    plain: Assessment, spec: Specification, combined: Combined, released: Callable[[], Iterable[EarlierRelease]]
) -> str:
    """Why no coarsening can be enough; empty if one may be."""
    measures = plain.document["measures"]
    fixed = [name for name in plain.breaches if name in UNCHANGED]
    if fixed:
        return f"no coarsening of variables changes {', '.join(fixed)}"
    past = [
        name
        for name in plain.breaches
        if measures[name]["earlier"] is not None and excess(measures[name]["earlier"], measures[name]["limit"]) > 0.0
    ]
    if past:
        return f"an earlier release has {', '.join(past)} above the limit, which no coarsening of this one takes back"
    if "differences" in plain.breaches:
        now = unpack(plain.counts)
        # Codes of another coding can be compared at full detail only.
        others = (r for r in released() if r.counts is not None and r.counts.coding != now.coding)
        measure = differences(combined.variables, now, others).measures.get("differences")
        if measure is not None and excess(measure.judged, measures["differences"]["limit"]) > 0.0:
            return "the differences are from a release in another coding, with which a coarser one cannot be compared"
    return ""


def _named(ladders: Sequence[Ladder], levels: Levels) -> dict[str, str]:
    return {ladder.variable: ladder.names[level - 1] for ladder, level in zip(ladders, levels, strict=True) if level}


def _changes(ladders: Sequence[Ladder], levels: Levels, costs: Costs) -> list[dict[str, Any]]:
    return [
        {
            "variable": ladder.variable,
            "coarsening": ladder.names[level - 1],
            "categories_before": ladder.categories(0),
            "categories": ladder.categories(level),
            "bits_before": bits[0],
            "bits": bits[level],
        }
        for ladder, level, bits in zip(ladders, levels, costs.bits, strict=True)
        if level
    ]


def _searched(search: Search, ladders: Sequence[Ladder]) -> dict[str, Any]:
    # Those that came closest are what a steward may want to know of.
    closest = sorted(search.tried, key=lambda one: (one.excess, one.cost, one.levels))[:_SHOWN]
    return {
        "possible": search.possible,
        "assessed": len(search.tried),
        "exact": search.exact,
        "tried": [
            {
                "changes": [{"variable": v, "coarsening": step} for v, step in _named(ladders, one.levels).items()],
                "cost": one.cost,
                "excess": one.excess,
                "breaches": list(one.breaches),
            }
            for one in closest
        ],
    }


def _dependence(combined: Combined) -> float:
    """Mutual information of every two variables among the linked records, summed, in bits."""
    codes = combined.codes.astype(np.int64) + 1
    total = 0.0
    own = [entropy(codes[:, q]) for q in range(codes.shape[1])]
    for q in range(codes.shape[1]):
        width = int(codes[:, q].max(initial=0)) + 1
        for other in range(q):
            total += own[q] + own[other] - entropy(codes[:, other] * width + codes[:, q])
    return max(0.0, total)


def _with_protection(assessment: Assessment, protection: Mapping[str, Any], specification: Specification) -> Assessment:
    # What was coarsened was assessed under a specification of its own; the parties signed this one.
    added = {"protection": protection, "specification_digest": specification_digest(specification).hex()}
    document = AssessmentDocument.of({**assessment.document, **added}, "assessment").plain()
    return replace(assessment, document=document, report=json.dumps(document, allow_nan=False, sort_keys=True).encode())
