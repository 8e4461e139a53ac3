"""What a report is made from, with all errors at once; numbers in words: never a 100 % that is none."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelErrors
from gemel.common.language import share
from gemel.coordinator.reports.linkage import wording
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


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (wording.count, 1234567, "1,234,567"),
        (share, 0.9996, "99.96 %"),
        (share, 0.5, "50.0 %"),
        (share, 1.0, "100.0 %"),
        (share, 0.0, "0.0 %"),
        (share, 0.0000012, "0.0001 %"),
        (share, math.nan, "–"),
        (wording.quantity, 0.0, "0"),
        (wording.quantity, 1234.5, "1,234"),
        (wording.quantity, 12.345, "12.3"),
        (wording.quantity, 0.9996, "1.00"),
        (wording.quantity, 0.001234, "0.00123"),
        (wording.quantity, 0.000123, "1.2 × 10⁻⁴"),
        (wording.quantity, 1.22e-17, "1.2 × 10⁻¹⁷"),
        (wording.probability, 0.5, "0.5"),
        (wording.probability, 0.99987, "0.99987"),
        (wording.probability, 1.0, "1"),
        (wording.score, 0.995, "0.9950"),
        (wording.score, 0.99998, "0.99998"),
        (wording.score, 1.0, "1.0000"),
        (wording.signed, -0.04, "0.0"),
        (wording.signed, -3.04, "−3.0"),
        (wording.signed, 8.06, "+8.1"),
        (wording.duration, 0.042, "0.04 s"),
        (wording.duration, 59.96, "1 min 0 s"),
        (wording.duration, 250.2, "4 min 10 s"),
        (wording.duration, 7500.0, "2 h 5 min"),
        (wording.memory, 3.25 * 2**30, "3.2 GiB"),
        (wording.sentence, "field surname is odd", "Field surname is odd."),
        (wording.sentence, "p reached its bound", "p reached its bound."),
        (wording.sentence, "date_of_birth says nothing!", "date_of_birth says nothing!"),
    ],
)
def test_examples(function: object, value: float, text: str) -> None:
    assert function(value).replace("\u00a0", " ") == text  # type: ignore[operator]


@given(st.floats(1e-9, 1 - 1e-9))
def test_a_share_short_of_all_or_nothing_reads_so(value: float) -> None:
    written = float(share(value).split("\u00a0")[0])
    assert 0.0 < written < 100.0
    assert written == pytest.approx(100 * value, abs=0.05)
    assert 0.0 < float(wording.probability(value)) < 1.0


@given(st.floats(1e-12, 999.0))
def test_quantities_are_within_their_figures(value: float) -> None:
    text = wording.quantity(value).replace("\u00a0", "")
    if "×" in text:
        mantissa, power = text.split("×10")
        written = float(mantissa) * 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
        assert written == pytest.approx(value, rel=0.051)
    else:
        assert float(text) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("bounds", "labels"),
    [
        ([0.9999, 1.0], ["different", "same"]),
        ([0.2, 0.95, 0.999, 1.0], ["0 – .2", ".2 – .95", ".95 – .999", "same"]),
        ([0.5, 1.0], ["0 – .5", ".5 – 1"]),
        ([1.0], ["0 – 1"]),
    ],
)
def test_levels_are_named_by_similarity(bounds: list[float], labels: list[str]) -> None:
    assert wording.level_labels(bounds) == labels
