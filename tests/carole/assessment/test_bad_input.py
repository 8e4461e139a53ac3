"""Degenerate outputs: a defined result for each, and errors for invalid ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks._built_population import SMALL, Trait, specification
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.common.errors import GemelError
from tests.carole.assessment.outputs import OUTPUT_MEASURES, RUN, output


def assessed(codes: np.ndarray, traits: tuple[Trait, ...] = SMALL, n_links: int | None = None) -> dict[str, Any]:
    """The document on an output of the first rows, of files that hold the same people."""
    spec = specification(traits, (0.5, 0.5, 0.25))
    found = assess(output(codes, spec, links=n_links), spec, AssessmentContext(RUN))
    assert set(found.judged) == set(found.document["measures"])
    assert all(np.isfinite(value) and 0 <= value <= 1 for value in found.judged.values())
    loaded: dict[str, Any] = json.loads(found.report)
    return loaded


def random_codes(n: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.stack([rng.integers(0, t.levels, n) for t in SMALL], axis=1).astype(np.int32)


def test_no_links() -> None:
    found = assessed(random_codes(20), n_links=0)
    assert found["records"] == 0
    assert [breach["measure"] for breach in found["breaches"]] == ["unlinked"]
    assert {entry["value"] for name, entry in found["measures"].items() if name != "unlinked"} == {0.0}
    assert found["warnings"][0]["code"] == "no_linked_record"


def test_empty_files() -> None:
    assert assessed(random_codes(0))["records"] == 0


def test_one_record() -> None:
    found = assessed(random_codes(20), n_links=1)
    assert found["records"] == 1
    assert found["measures"]["sample_uniques"]["value"] == 1.0
    assert found["measures"]["correct_unique_matches"]["upper"] == 1.0
    assert found["measures"]["certain_attribution"]["value"] == 1.0
    assert "one_linked_record" in {warning["code"] for warning in found["warnings"]}


def test_all_values_missing() -> None:
    found = assessed(np.full((30, len(SMALL)), -1))
    assert found["measures"]["sample_uniques"]["value"] == 0.0
    # All records are equal, one of 30 / 0.25 people.
    assert found["measures"]["correct_matches"]["value"] == pytest.approx(1 / 120, rel=0.05)
    assert found["measures"]["certain_attribution"]["value"] == 0.0
    assert sum(warning["code"] == "variable_without_values" for warning in found["warnings"]) == len(SMALL)


def test_a_key_with_one_level() -> None:
    codes = random_codes(200)
    codes[:, 1] = 3
    found = assessed(codes)
    without = assessed(np.delete(codes, 1, axis=1), tuple(t for i, t in enumerate(SMALL) if i != 1))
    for name in OUTPUT_MEASURES - {"gain_over_own_file"}:
        assert found["measures"][name]["value"] == pytest.approx(without["measures"][name]["value"]), name
    assert not any(option["action"] == "leave out age" for option in found["options"])


def test_the_whole_population_is_in_it() -> None:
    """A fraction of 1: a unique record is a person for certain."""
    codes = random_codes(40)
    spec = specification(SMALL, (1.0, 1.0, 1.0))
    measures = assess(output(codes, spec), spec, AssessmentContext(RUN)).document["measures"]
    keys = codes[:, [i for i, t in enumerate(SMALL) if t.role == "key"]]
    _, sizes = np.unique(keys, axis=0, return_counts=True)
    assert measures["population_uniques"]["value"] == pytest.approx((sizes == 1).sum() / 40)
    assert measures["correct_matches"]["value"] == pytest.approx(len(sizes) / 40)


def test_an_invalid_output_is_refused() -> None:
    spec = specification(SMALL, (0.5, 0.5, 0.25))
    combined = output(random_codes(5), spec)
    for change, words in (
        ({"row_a": combined.row_a + 1}, "outside its file"),
        ({"probability": 2 * combined.probability}, "expected probabilities"),
    ):
        with pytest.raises(GemelError, match=words):
            replace(combined, **change)
    with pytest.raises(GemelError, match="requests no assessment"):
        assess(combined, spec.model_copy(update={"assessment": None}), AssessmentContext(RUN))
