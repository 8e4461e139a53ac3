"""A disclosure measure is an entry of the registry and a computation: everything else follows."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from benchmarks._built_population import FEW, SMALL, WIDE, Built, built
from benchmarks.attribution_truth import made, specification
from gemel.carole.assessment.attribution import SENSITIVE_MEASURES
from gemel.carole.assessment.combined_assessment import (
    Assessment,
    AssessmentContext,
    assess,
    left_for_uniques,
    needed,
    needed_by_joint,
)
from gemel.carole.assessment.identification import KEY_MEASURES, key_file
from gemel.carole.assessment.joint_model import joint_model
from gemel.carole.engine.run.resources import Resources
from gemel.common.documents.disclosure_measures import MEASURES, QUESTIONS, report_order
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification import suda as suda
from gemel.risk.identification.suda import largest_within
from tests.carole.assessment.outputs import OUTPUT_MEASURES, RUN, assessed

THROW_AWAY = """
from gemel.common.documents.disclosure_measures import MEASURES, DisclosureMeasure

MEASURES["half_uniques"] = DisclosureMeasure(
    name="half_uniques",
    title="Half of those like no other",
    meaning="Half the share of sample uniques.",
    intruder="An intruder who tosses a coin.",
    sentence="With a coin {value} are found.",
    method="counted and halved",
    question="found",
    place=9,
    maximum=0.5,
)

from gemel.carole.assessment.identification import KEY_MEASURES
from gemel.carole.assessment.measures import Measure

def halved(records):
    whole = KEY_MEASURES["sample_uniques"](records)
    return Measure(whole.value / 2, "halved", whole.lower / 2, whole.upper / 2)

KEY_MEASURES["half_uniques"] = halved

import json
import numpy as np
from tests.document_reference import measures_table
from benchmarks._built_population import FEW, built
from gemel.carole.assessment.combined_assessment import AssessmentContext
from gemel.carole.assessment.combined_assessment import assess
from gemel.common.errors import GemelErrors
from gemel.coordinator.draft.specification_text import (dump_specification, json_schema)
from gemel.common.specification import (load_specification, specification_digest)
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
    assert [request for request, _ in report_order()] == list(QUESTIONS.values())
    for _, own in report_order():
        assert len({measure.place for measure in own}) == len(own), "the order within a question is stated"


# The memory of an assessment: what is counted covers what is allocated, and the rest limits the search for special
# uniques.


def policy_of(population: Built):  # type: ignore[no-untyped-def]
    assert population.spec.assessment is not None
    return population.spec.assessment


@pytest.mark.parametrize(
    ("traits", "advise"),
    [(FEW, False), pytest.param(SMALL, True, marks=pytest.mark.long), pytest.param(WIDE, True, marks=pytest.mark.long)],
)
def test_the_computed_memory_covers_what_is_allocated(traits, advise) -> None:  # type: ignore[no-untyped-def]
    population = built(traits, 2_500, (0.5, 0.5), np.random.default_rng(3), "correct_matches: 0.1")
    assess(population.combined, population.spec, AssessmentContext(RUN), advise=advise)  # compiled
    tracemalloc.start()
    found = assess(population.combined, population.spec, AssessmentContext(RUN), advise=advise)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.breaches
    counted = needed(population.combined, policy_of(population))
    assert peak < counted < 20 * peak


@pytest.mark.parametrize("links", [300, 3_000])
def test_the_computed_memory_covers_the_joint_model(links: int) -> None:
    """Its own part, and more than nothing: the rest of an assessment is over when it begins."""
    spec = specification("little", 0.1)
    found = made(spec, links, 0.1, 0.1, "some", np.random.default_rng(1))
    joint_model(found.combined, spec, found.joint, None)
    assert found.combined.codes.size
    tracemalloc.start()
    joint_model(found.combined, spec, found.joint, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counted = needed_by_joint(found.combined)
    assert spec.assessment is not None
    without = needed(found.combined, spec.assessment)
    assert needed(found.combined, spec.assessment, modelled=True) == without + counted
    assert peak < counted + without
    assert counted < 20 * peak


def test_threads_are_those_given_and_change_nothing(
    population: Built, without_advice: Assessment, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    pool = suda.ThreadPoolExecutor
    monkeypatch.setattr(suda, "ThreadPoolExecutor", lambda threads: (started.append(threads), pool(threads))[1])
    for threads in (1, 3):
        found = assessed(population.combined, population.spec, resources=Resources(3 << 30, threads))
        assert found.report == without_advice.report
    assert started == [1, 3]


def test_where_memory_is_short_smaller_uniques_are_looked_for(population: Built, without_advice: Assessment) -> None:
    combined, whole = population.combined, json.loads(without_advice.report)
    keys = combined.with_role("key")
    file = key_file(combined.codes[:, combined.columns(keys)], keys, 0.25)
    assert file is not None
    # One fewer than there are: what is found before it is known to be minimal is more.
    selected = sum(whole["identification"]["special_uniques"]["by_size"]) - 1
    extra = next(size for size in range(0, 2**24, 64) if largest_within(file, size, 1) == selected)
    resources = Resources(combined.n_bytes + needed(combined, policy_of(population)) + extra, 1)
    short = json.loads(assessed(combined, population.spec, resources=resources).report)
    special, all_sizes = (each["identification"]["special_uniques"] for each in (short, whole))
    assert all_sizes["complete"]
    assert not special["complete"]
    size = special["max_size"]
    assert 1 <= size < all_sizes["max_size"]
    assert special["by_size"][: size + 1] == all_sizes["by_size"][: size + 1]
    assert any(f"by at most {size} of the 5 key variables" in warning["text"] for warning in short["warnings"])
    assert short["measures"] == whole["measures"]


def test_an_assessment_that_does_not_fit_is_refused_before_it_begins(population: Built) -> None:
    minimum = population.combined.n_bytes + needed(population.combined, policy_of(population))
    assert left_for_uniques(population.combined, policy_of(population), Resources(minimum + 5, 2)) == Resources(5, 2)
    stages: list[str] = []
    short = Resources(minimum - 1, 2)
    with pytest.raises(GemelError, match="the assessment of the combined output needs") as caught:
        assessed(population.combined, population.spec, resources=short, progress=lambda stage, _: stages.append(stage))
    assert caught.value.code == ErrorCode.MEMORY
    assert not stages
