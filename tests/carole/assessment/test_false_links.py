"""The limit on false links: judged by the upper end of the estimate that supposes least, each release by itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks._built_population import SMALL, Built, built
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification import dump_specification, load_specification
from tests.carole.engine.no_statistics import NO_STATISTICS

CHECK = {"value": 0.99, "lower": 0.95, "upper": 0.995}
BOOTSTRAP = {"value": 0.999, "lower": 0.99, "upper": 1.0}


@pytest.fixture(scope="module")
def population() -> Built:
    made = built(SMALL, 600, (0.5, 0.5), np.random.default_rng(3))
    text = dump_specification(made.spec).replace("{correct_matches: 0.2}", "{correct_matches: 0.9, false_links: 0.02}")
    spec = load_specification(text + "quality: {bootstrap: 39}\n")
    assert spec.assessment is not None
    assert spec.assessment.limits.given == {"correct_matches": 0.9, "false_links": 0.02}
    return Built(made.combined, spec, made.truth)


def linkage(links: int = 100, **intervals: dict[str, float]) -> LinkageDocument:
    quality = [
        {"method": method, "precision": precision, "recall": None, "observations": 39, "supposes": []}
        for method, precision in intervals.items()
    ]
    plain: dict[str, Any] = NO_STATISTICS.linkage.plain()
    expected = {"precision": 0.98, "recall": 0.9}
    return LinkageDocument.of({**plain, "links": links, "expected": expected, "quality": quality}, "linkage")


def assessed(population: Built, of: LinkageDocument | None, earlier: tuple[bytes, ...] = ()) -> Assessment:
    return assess(
        population.combined, population.spec, AssessmentContext("r" * 32, linkage=of, earlier=earlier), advise=False
    )


@pytest.mark.parametrize(
    ("of", "value", "judged", "breached"),
    [
        (linkage(check_field=CHECK, bootstrap=BOOTSTRAP), 0.01, 0.05, True),
        (linkage(bootstrap=BOOTSTRAP), 0.001, 0.01, False),
        (linkage(decoys=CHECK, bootstrap=BOOTSTRAP), 0.01, 0.05, True),
        (linkage(check_field=BOOTSTRAP, decoys=CHECK), 0.001, 0.01, False),
        (linkage(), 0.02, 1.0, True),
        (linkage(links=0), 0.0, 0.0, False),
    ],
)
def test_the_upper_end_is_judged(
    population: Built, of: LinkageDocument, value: float, judged: float, breached: bool
) -> None:
    found = assessed(population, of)
    entry = found.document["measures"]["false_links"]
    assert (entry["value"], entry["judged"]) == (pytest.approx(value), pytest.approx(judged))
    assert entry["breached"] == breached == ("false_links" in found.breaches)
    assert "of the links are estimated to be false" in entry["words"]


def test_an_earlier_release_is_no_reason_to_refuse_a_better_one(population: Built) -> None:
    first = assessed(population, linkage(check_field=CHECK))
    again = assessed(population, linkage(bootstrap=BOOTSTRAP), (json.dumps(first.document).encode(),))
    entry = again.document["measures"]["false_links"]
    assert (entry["earlier"], entry["breached"]) == (None, False)


def test_without_a_request_there_is_no_such_measure() -> None:
    made = built(SMALL, 300, (0.5, 0.5), np.random.default_rng(4))
    found = assess(
        made.combined, made.spec, AssessmentContext("r" * 32, linkage=linkage(check_field=CHECK)), advise=False
    )
    assert "false_links" not in found.judged
