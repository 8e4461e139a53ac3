"""The document of an assessment: its form, its verdict, and that it contains only what a steward may see."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from benchmarks._built_population import FEW, Built, built
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from gemel.carole.assessment.measures import accumulated
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.result_warning import result_warning
from tests.carole.assessment.outputs import OUTPUT_MEASURES, RUN, assessed

FORM = {
    *("version", "project", "run", "specification_digest", "verdict", "on_breach", "breaches", "measures"),
    *("identification", "attribution", "custodians", "contributions", "tables", "options", "supposed", "records"),
    *("expected_records", "expected_left_out", "earlier_releases", "former_projects", "differences", "warnings"),
}
ENTRY = {
    *("value", "lower", "upper", "interval", "no_interval", "judged", "earlier", "limit", "breached", "intruder"),
    *("words", "method"),
}


def test_the_form(document: dict[str, Any]) -> None:
    assert set(document) == FORM
    assert document["version"] == 1
    assert set(document["measures"]) == OUTPUT_MEASURES | {"unlinked"}
    for name, entry in document["measures"].items():
        assert set(entry) == ENTRY, name
        assert 0 <= entry["value"] <= 1
        assert (entry["upper"] is None) == (entry["lower"] is None) == (entry["interval"] is None)
        assert (entry["no_interval"] is None) == (entry["upper"] is not None), name
        assert entry["judged"] >= entry["value"]
        assert "{" not in entry["words"]
    for option in document["options"]:
        assert set(option) == {"action", "effect"}
        assert set(option["effect"]) <= set(MEASURES)


def test_the_verdict_follows_from_the_limits(population: Built, assessment: Assessment) -> None:
    document = assessment.document
    assert population.spec.assessment is not None
    over = {
        name
        for name, limit in population.spec.assessment.limits.given.items()
        if document["measures"][name]["judged"] > limit
    }
    assert over
    assert set(assessment.breaches) == over == {breach["measure"] for breach in document["breaches"]}
    assert over < set(population.spec.assessment.limits.given)
    assert document["verdict"] == "breach"
    assert assessment.judged == {name: entry["judged"] for name, entry in document["measures"].items()}


def test_the_policy_decision_names_the_report(assessment: Assessment) -> None:
    assert assessment.digest == hashlib.sha256(assessment.report).digest()
    assert json.loads(assessment.report) == assessment.document


def test_the_same_run_gives_the_same_report() -> None:
    few = built(FEW, 300, (0.5, 0.5), np.random.default_rng(7))
    first, again = (assess(few.combined, few.spec, AssessmentContext(RUN)) for _ in range(2))
    assert first.breaches
    assert first.report == again.report


def test_no_label_is_in_it(population: Built, assessment: Assessment) -> None:
    labels = {label for variable in population.spec.variables for label in variable.categories}
    words = set(assessment.report.decode().replace('"', " ").replace(",", " ").split())
    assert not labels & words


@pytest.mark.parametrize(("below", "breached"), [(0.0, False), (1e-9, True)])
def test_a_limit_is_kept_at_the_measure_and_breached_below(
    population: Built, assessment: Assessment, below: float, breached: bool
) -> None:
    policy = population.spec.assessment
    assert policy is not None
    limits = policy.limits.model_copy(update={name: assessment.judged[name] - below for name in OUTPUT_MEASURES})
    overlap = {"minimum_overlap": 1 - assessment.judged["unlinked"] + below}
    spec = population.spec.model_copy(update={"assessment": policy.model_copy(update={"limits": limits, **overlap})})
    found = assessed(population.combined, spec)
    assert set(found.breaches) == (OUTPUT_MEASURES | {"unlinked"} if breached else set())
    assert all(entry["breached"] is breached for entry in found.document["measures"].values())
    assert found.document["verdict"] == ("breach" if breached else "within")


def test_a_custodian_without_links_learns_nothing(document: dict[str, Any]) -> None:
    effects = {option["action"]: option["effect"] for option in document["options"]}
    learnt = {side: found["upper"] for side, found in document["custodians"].items()}
    assert min(learnt.values()) > 0
    assert effects["give Alice statistics only"] == {"members_disclosed": learnt["bob"]}
    assert effects["give Bob statistics only"] == {"members_disclosed": learnt["alice"]}
    assert effects["give both custodians statistics only"] == {"members_disclosed": 0.0}


def test_some_option_brings_the_expected_matches_within_their_limit(
    population: Built, document: dict[str, Any]
) -> None:
    """It was searched for; what is given is the measure of the recoded output, not of the search."""
    policy = population.spec.assessment
    assert policy is not None
    limit = policy.limits.correct_matches
    assert limit is not None
    assert document["measures"]["correct_matches"]["value"] > limit
    (minimum,) = [o for o in document["options"] if o["action"].startswith("with least loss")]
    assert minimum["effect"]["correct_matches"] <= limit
    # Less is lost than by leaving out every key variable but one.
    assert minimum["effect"]["correct_matches"] > limit / 10


# Earlier releases: the larger measure counts, their tables are attacked too, and no option lowers their risk.


def test_nothing_before() -> None:
    found = accumulated([], ["sex"])
    assert (found.releases, dict(found.largest), found.tables, found.warnings) == (0, {}, (), ())


def test_the_largest_of_each_and_all_tables_that_can_still_be_attacked(assessment: Assessment) -> None:
    first = assessment.document
    second = json.loads(assessment.report)
    second["measures"]["correct_matches"]["judged"] = 0.99
    names = [variable["name"] for variable in first["supposed"]["variables"]]
    found = accumulated([first, second], names)
    assert found.releases == 2
    assert found.largest["correct_matches"] == 0.99
    assert found.largest["sample_uniques"] == first["measures"]["sample_uniques"]["judged"]
    assert [table.variables for table in found.tables] == [("region", "illness"), ("sex", "occupation")]
    assert not found.warnings
    fewer = accumulated([first], [name for name in names if name != "illness"])
    assert [table.variables for table in fewer.tables] == [("sex", "occupation")]
    assert fewer.warnings == (result_warning("earlier_tables_left_out", variables="illness"),)


@pytest.mark.parametrize("much", [0.15, 0.95])
def test_released_output_is_assessed_and_no_option_lowers_it(
    population: Built, assessment: Assessment, much: float
) -> None:
    """The limit on correct_matches is 0.2: what was released before keeps it, or has breached it for good."""
    before = json.loads(assessment.report)
    for entry in before["measures"].values():
        entry["judged"] = much
    context = AssessmentContext("s" * 32, earlier=[json.dumps(before).encode()])
    found = assess(population.combined, population.spec, context).document
    for name, entry in found["measures"].items():
        own = assessment.document["measures"][name]["judged"]
        if not MEASURES[name].accumulates:
            assert (entry["earlier"], entry["judged"]) == (None, own), name
            continue
        assert (entry["earlier"], entry["judged"]) == (much, max(much, own)), name
    assert all(value >= much for option in found["options"] for value in option["effect"].values())
    minimum = [option for option in found["options"] if option["action"].startswith("with least loss")]
    assert bool(minimum) == (much < 0.2)
