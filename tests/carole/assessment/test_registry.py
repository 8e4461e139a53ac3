"""A disclosure measure is an entry of the registry and a computation: everything else follows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gemel.carole.assessment import Assessment
from gemel.carole.assessment.attribution import SENSITIVE_MEASURES
from gemel.carole.assessment.identification import KEY_MEASURES
from gemel.common.documents.disclosure_measures import MEASURES, QUESTIONS, register, report_order
from gemel.common.errors import GemelError
from tests.carole.assessment.output_measures import OUTPUT_MEASURES

THROW_AWAY = """
from gemel.common.documents.disclosure_measures import FOUND, DisclosureMeasure, measures_table, register

register([
    DisclosureMeasure(
        name="half_uniques",
        title="Half of those like no other",
        meaning="Half the share of sample uniques.",
        intruder="An intruder who tosses a coin.",
        sentence="With a coin {value} are found.",
        method="counted and halved",
        question=FOUND,
        place=9,
        maximum=0.5,
    )
])

from gemel.carole.assessment.identification import KEY_MEASURES
from gemel.carole.assessment.measures import Measure

def halved(records):
    whole = KEY_MEASURES["sample_uniques"](records)
    return Measure(whole.value / 2, "halved", whole.lower / 2, whole.upper / 2)

KEY_MEASURES["half_uniques"] = halved

import json
import numpy as np
from benchmarks._built_population import FEW, built
from gemel.carole.assessment import AssessmentContext, assess
from gemel.common.errors import GemelErrors
from gemel.common.specification import dump_specification, json_schema, load_specification, specification_digest
from gemel.coordinator.reports.disclosure import render_risk_report

limits = "half_uniques: 0.01, correct_matches: 0.5"
population = built(FEW, 300, (0.3, 0.3), np.random.default_rng(1), limits)
text = dump_specification(population.spec)
assert "half_uniques: 0.01" in text
assert specification_digest(load_specification(text, "again")) == specification_digest(population.spec)
try:
    load_specification(text.replace("half_uniques: 0.01", "half_uniques: 0.7"), "too large")
except GemelErrors as error:
    assert "limits.half_uniques" in str(error)
else:
    raise AssertionError("a limit out of its range was taken")
limit = json_schema()["$defs"]["Limits"]["properties"]["half_uniques"]
assert (limit["description"], limit["anyOf"][0]["maximum"]) == ("Half the share of sample uniques.", 0.5)

found = assess(population.combined, population.spec, AssessmentContext("r" * 32))
document = json.loads(found.report)
whole = document["measures"]["sample_uniques"]["value"]
assert document["measures"]["half_uniques"]["value"] == whole / 2 > 0.01
assert document["measures"]["half_uniques"]["words"] == f"With a coin {50 * whole:.3g} % are found."
assert "half_uniques" in found.breaches
effects = [option["effect"] for option in document["options"] if "sample_uniques" in option["effect"]]
assert effects and all(effect["half_uniques"] == effect["sample_uniques"] / 2 for effect in effects)

page = render_risk_report(document)
assert "Half of those like no other" in page and "An intruder who tosses a coin." in page
assert "| `half_uniques` | Half the share of sample uniques." in measures_table()
"""


def test_a_new_measure_goes_from_the_specification_to_the_report() -> None:
    done = subprocess.run([sys.executable, "-c", THROW_AWAY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_measure_of_the_registry_is_computed(assessment: Assessment) -> None:
    assert set(assessment.judged) == OUTPUT_MEASURES | {"unlinked"}
    assert {*KEY_MEASURES, *SENSITIVE_MEASURES} <= set(MEASURES)
    assert {name for name, measure in MEASURES.items() if measure.needs == "sensitive"} == set(SENSITIVE_MEASURES)


def test_the_report_shows_every_measure_once_under_its_question() -> None:
    listed = [measure.name for _, own in report_order() for measure in own]
    assert sorted(listed) == sorted(MEASURES)
    assert [request for request, _ in report_order()] == list(QUESTIONS)
    for _, own in report_order():
        assert len({measure.place for measure in own}) == len(own), "the order within a question is stated"


def test_a_name_is_given_once() -> None:
    with pytest.raises(GemelError, match="a disclosure measure of this name exists"):
        register([MEASURES["correct_matches"]])
