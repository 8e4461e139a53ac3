"""Earlier releases: the larger measure counts, their tables are attacked too, and no option lowers their risk."""

from __future__ import annotations

import json

import pytest

from benchmarks._built_population import Built
from gemel.carole.assessment import Assessment, AssessmentContext, assess
from gemel.carole.assessment.accumulated import accumulated
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.result_warning import result_warning


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
    found = assess(
        population.combined, population.spec, AssessmentContext("s" * 32, earlier=[json.dumps(before).encode()])
    ).document
    for name, entry in found["measures"].items():
        own = assessment.document["measures"][name]["judged"]
        if not MEASURES[name].accumulates:
            assert (entry["earlier"], entry["judged"]) == (None, own), name
            continue
        assert (entry["earlier"], entry["judged"]) == (much, max(much, own)), name
    assert all(value >= much for option in found["options"] for value in option["effect"].values())
    minimum = [option for option in found["options"] if option["action"].startswith("with least loss")]
    assert bool(minimum) == (much < 0.2)
