"""Assessments as a report shows them: of a built population, and with a protection that was tried or applied."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from benchmarks._built_population import SMALL, Built, built
from gemel.coordinator.reports.disclosure import render_risk_report

LIMITS = "correct_matches: 0.2, correct_unique_matches: 0.1, certain_attribution: 0.9, members_disclosed: 0.9"

TRIED: dict[str, Any] = {
    "changes": [{"variable": "age", "coarsening": "bands"}, {"variable": "region", "coarsening": "drop"}],
    "cost": 1.25,
    "excess": 0.1,
    "breaches": ["correct_matches"],
}
NOT_COARSENED = {
    "outcome": "none",
    "reason": "every allowed coarsening leaves a limit breached",
    "possible": 5,
    "assessed": 5,
    "exact": True,
    "tried": [TRIED],
    "changes": [],
    "before": None,
    "utility": None,
}


def coarsened(before: Mapping[str, float]) -> dict[str, Any]:
    """The protection of a result that was coarsened; `before` has the measures as they were."""
    return {
        **NOT_COARSENED,
        "outcome": "coarsened",
        "reason": "the least allowed coarsening with which every limit holds",
        "assessed": 2,
        "tried": [],
        "changes": [{**TRIED["changes"][0], "categories_before": 7, "categories": 3, "bits_before": 2.0, "bits": 0.5}],
        "before": {"measures": dict(before), "breaches": ["correct_matches"]},
        "utility": {"cost": 0.75, "dependence_before": 2.0, "dependence": 1.5},
    }


def population(n: int, shares: tuple[float, float]) -> Built:
    """A built population of `n` people, of whom the files have these shares."""
    return built(SMALL, n, shares, np.random.default_rng(7), LIMITS)


def text_of(page: str) -> str:
    payload = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", payload)).replace("\u00a0", " ")


@cache
def _page_of(document: str) -> str:
    return render_risk_report(json.loads(document))


def page_of(document: Mapping[str, Any]) -> str:
    """The page of an assessment, rendered once however many tests read it."""
    return _page_of(json.dumps(document))
