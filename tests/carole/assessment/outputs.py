"""Small combined outputs and their assessments, and the measures that such an output alone decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification import Specification
from tests.carole.engine.no_statistics import NO_STATISTICS

RELEASE_MEASURES = {"differences"}
"""Decided by earlier releases beside this one."""

OUTPUT_MEASURES = {
    name
    for name, measure in MEASURES.items()
    if measure.needs not in ("quality", "joint model", "released joint") and not measure.own_limit
}
"""Neither those of what a run estimates of its own quality, nor those of records that a custodian may have invented,
nor those of a joint distribution."""

RUN = "r" * 32


def output(
    codes: NDArray[np.int32],
    spec: Specification,
    probability: float | NDArray[np.float64] = 1.0,
    links: int | None = None,
) -> Combined:
    """Row i of Alice is row i of Bob, for all rows or the first; each has the variables that it holds."""
    held = [np.array([v.holder in ("both", side) for v in spec.variables]) for side in ("alice", "bob")]
    alice, bob = (np.where(own, codes, -1).astype(np.int32) for own in held)
    rows = np.arange(len(codes) if links is None else links)
    chance = np.broadcast_to(probability, len(rows)).astype(np.float64)
    return Combined(tuple(spec.variables), alice, bob, rows, rows, chance, rows, rows, chance)


def assessed(
    combined: Combined, spec: Specification, run: str = RUN, *, ladders: Any = None, **beside: Any
) -> Assessment:
    """Assess without the search for options, which is most of the work."""
    return assess(combined, spec, AssessmentContext(run, **beside), ladders=ladders, advise=False)


Interval = dict[str, float | None]


def linkage(links: int, claims: dict[str, Interval] | None = None, **precision: Interval) -> LinkageDocument:
    """A run's decision with the precision and recall that it claims, and estimates of the share of true links."""
    quality = [
        {"method": method, "precision": interval, "observations": 39, "supposes": []}
        for method, interval in precision.items()
    ]
    plain: dict[str, Any] = NO_STATISTICS.linkage.plain()
    every = {"value": float(links), "lower": float(links), "upper": float(links)}
    claimed = (
        None if claims is None else {"compared": every, "matches": every, "people": every, "candidates": None, **claims}
    )
    return LinkageDocument.of({**plain, "links": links, "quality": quality, "claims": claimed}, "linkage")
