"""The document of an assessment: its form, its verdict, and that it tells what a steward may see and no more."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from benchmarks._built_population import Built
from carole.assessment import Assessment, assess
from common.specification.assessment import MEASURES

FORM = {
    "version",
    "project",
    "run",
    "verdict",
    "on_breach",
    "breaches",
    "measures",
    "identification",
    "attribution",
    "custodians",
    "tables",
    "options",
    "supposed",
    "records",
    "expected_records",
    "earlier_releases",
    "warnings",
}
ENTRY = {
    "value",
    "lower",
    "upper",
    "interval",
    "judged",
    "earlier",
    "limit",
    "breached",
    "intruder",
    "words",
    "method",
}


def test_the_form(document: dict[str, Any]) -> None:
    assert set(document) == FORM
    assert document["version"] == 1
    assert set(document["measures"]) == set(MEASURES)
    for name, entry in document["measures"].items():
        assert set(entry) == ENTRY, name
        assert 0 <= entry["value"] <= 1
        assert (entry["upper"] is None) == (entry["lower"] is None) == (entry["interval"] is None)
        assert entry["judged"] >= entry["value"]
        assert "{" not in entry["words"]
    for option in document["options"]:
        assert set(option) == {"action", "effect"}
        assert set(option["effect"]) <= set(MEASURES)


def test_the_verdict_is_what_the_limits_say(population: Built, assessment: Assessment) -> None:
    document, judgement = assessment.document, assessment.judgement
    assert population.spec.assessment is not None
    over = {
        name
        for name, limit in population.spec.assessment.limits.given.items()
        if document["measures"][name]["judged"] > limit
    }
    assert over
    assert set(judgement.breaches) == over == {breach["measure"] for breach in document["breaches"]}
    assert over < set(population.spec.assessment.limits.given)
    assert document["verdict"] == "breach"
    assert judgement.measures == {name: entry["judged"] for name, entry in document["measures"].items()}


def test_the_judgement_names_the_report(assessment: Assessment) -> None:
    assert assessment.judgement.report == hashlib.sha256(assessment.report).digest()
    assert json.loads(assessment.report) == assessment.document


def test_the_same_run_gives_the_same_report(population: Built, assessment: Assessment) -> None:
    assert assess(population.combined, population.spec, "r" * 32).report == assessment.report


def test_no_label_is_in_it(population: Built, assessment: Assessment) -> None:
    labels = {label for variable in population.spec.variables for label in variable.categories}
    words = set(assessment.report.decode().replace('"', " ").replace(",", " ").split())
    assert not labels & words


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_a_limit_is_breached_above_and_kept_at_it(population: Built, assessment: Assessment, measure: str) -> None:
    judged = assessment.judgement.measures[measure]
    policy = population.spec.assessment
    assert policy is not None
    for limit, breached in ((judged, False), (judged - 1e-9, True)):
        limits = policy.limits.model_copy(update=dict.fromkeys(MEASURES) | {measure: limit})
        spec = population.spec.model_copy(update={"assessment": policy.model_copy(update={"limits": limits})})
        entry = assess(population.combined, spec, "r" * 32).document["measures"][measure]
        assert entry["breached"] is breached
