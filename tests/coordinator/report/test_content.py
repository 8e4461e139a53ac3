"""What a report is made from: mistakes in it, all at once, and the numbers derived from it."""

import json
from typing import Any

import pytest

from tryst.common.errors import TrystError, TrystErrors
from tryst.coordinator.reports.linkage import ReportContent


def test_documents_are_json(documents: dict[str, Any]) -> None:
    assert ReportContent.from_json(json.loads(json.dumps(documents))) == ReportContent.from_json(documents)


def test_threshold_as_a_weight(documents: dict[str, Any]) -> None:
    """At p = 1e-4 even odds take a weight of log2(9999); three in four takes log2(3) more."""
    assert ReportContent.from_json(documents).threshold_weight == pytest.approx(13.28757, abs=1e-5)
    documents["linkage"]["threshold"] = 0.75
    assert ReportContent.from_json(documents).threshold_weight == pytest.approx(13.28757 + 1.58496, abs=1e-5)
    documents["linkage"]["threshold_weight"] = 8.5
    assert ReportContent.from_json(documents).threshold_weight == 8.5


def test_all_mistakes_at_once(documents: dict[str, Any]) -> None:
    documents["model"]["fields"][0]["m"] = [0.1, 0.9]
    documents["model"]["fields"][1]["weights"] = [float("-inf"), 1.0]
    documents["linkage"]["histogram"]["counts"] = [1, 2]
    documents["linkage"]["patterns"] = [
        {"gamma": [0, 0], "observed": 1, "expected": 1.0},
        {"gamma": [0, 2, 0], "observed": 1, "expected": 1.0},
    ]
    documents["evaluation"]["curve"]["recall"] = [0.5]
    with pytest.raises(TrystErrors) as caught:
        ReportContent.from_json(documents)
    assert [error.where for error in caught.value.errors] == [
        "model.fields[0]",
        "model.fields[1].weights",
        "linkage.histogram",
        "linkage.patterns[0].gamma",
        "linkage.patterns[1].gamma",
        "linkage.examples[0].gamma",
        "evaluation.curve",
    ]


def test_an_absent_document_is_named(documents: dict[str, Any]) -> None:
    del documents["linkage"]
    with pytest.raises(TrystError, match="linkage"):
        ReportContent.from_json(documents)
