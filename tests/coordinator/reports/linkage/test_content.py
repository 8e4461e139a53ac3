"""What a report is made from: errors in it, all at once, and the numbers derived from it."""

import json
from typing import Any

import pytest

from gemel.common.errors import GemelErrors
from tests.coordinator.reports.linkage.documents import content_of


def test_documents_are_json(documents: dict[str, Any]) -> None:
    assert content_of(json.loads(json.dumps(documents))) == content_of(documents)


def test_threshold_as_a_weight(documents: dict[str, Any]) -> None:
    """At p = 1e-4 even odds take a weight of log2(9999); three in four takes log2(3) more."""
    assert content_of(documents).threshold_weight == pytest.approx(13.28757, abs=1e-5)
    documents["linkage"]["threshold"] = 0.75
    assert content_of(documents).threshold_weight == pytest.approx(13.28757 + 1.58496, abs=1e-5)
    documents["linkage"]["threshold_weight"] = 8.5
    assert content_of(documents).threshold_weight == 8.5


def places(documents: dict[str, Any]) -> list[str]:
    with pytest.raises(GemelErrors) as caught:
        content_of(documents)
    return [error.where for error in caught.value.errors]


def test_all_errors_of_a_document_at_once(documents: dict[str, Any]) -> None:
    documents["model"]["fields"][0]["m"] = [0.1, 0.9]
    documents["model"]["fields"][1]["weights"] = [float("-inf"), 1.0]
    documents["model"]["surprise"] = 1
    assert places(documents) == ["model.fields[0]", "model.fields[1].weights[0]", "model.surprise"]


@pytest.mark.parametrize(
    ("document", "part", "change", "place"),
    [
        ("linkage", "histogram", {"counts": [1, 2]}, "linkage.histogram"),
        ("linkage", "histogram", {"links": [1, 2]}, "linkage.histogram"),
        ("linkage", "threshold", "0.5", "linkage.threshold"),
        ("linkage", "links", -1, "linkage.links"),
        ("evaluation", "curve", {"recall": [0.5]}, "evaluation.curve"),
        ("timings", "stages", None, "timings.stages"),
        ("run", "files", {"alice": None}, "run.files.alice"),
    ],
)
def test_what_is_not_as_described_is_refused(
    documents: dict[str, Any], document: str, part: str, change: Any, place: str
) -> None:
    old = documents[document][part]
    documents[document][part] = {**old, **change} if isinstance(change, dict) else change
    assert places(documents) == [place]


def test_a_level_must_be_of_a_field(documents: dict[str, Any]) -> None:
    documents["linkage"]["patterns"] = [
        {"gamma": [0, 0], "observed": 1, "expected": 1.0},
        {"gamma": [0, 2, 0], "observed": 1, "expected": 1.0},
    ]
    documents["linkage"]["examples"][0]["gamma"] = [7, 1, 3]
    assert places(documents) == ["linkage.patterns[0].gamma", "linkage.patterns[1].gamma", "linkage.examples[0].gamma"]


def test_an_absent_document_is_named(documents: dict[str, Any]) -> None:
    del documents["linkage"]
    assert places(documents) == ["linkage"]
