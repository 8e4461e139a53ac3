"""Specifications that the engine would refuse whatever the data: refused before anything is read."""

from __future__ import annotations

import pytest

from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import Specification, load_specification
from tests.specifications import heading


def specification(names: str, more: str = "") -> Specification:
    listed = ", ".join(f"{{name: {name}, kind: name, key_domain: names{more}}}" for name in names)
    return load_specification(
        f"{heading('few')}fields: [{listed}]\nretention: {{uploads_days: 1, results_days: 1, maps_days: 1}}\n"
    )


@pytest.mark.parametrize(("names", "reason"), [("a", "from one field"), ("ab", "from two fields")])
def test_too_few_fields(names: str, reason: str) -> None:
    with pytest.raises(GemelError, match=reason) as caught:
        refuse_unidentified(specification(names))
    assert caught.value.code is ErrorCode.NOT_IDENTIFIED
    assert "u to all_pairs" in caught.value.remedy


def test_enough() -> None:
    refuse_unidentified(specification("abc"))
    two = specification("ab")
    refuse_unidentified(two.model_copy(update={"model": two.model.model_copy(update={"u": "all_pairs"})}))
    # Further comparisons count as fields: of exchanged values, and of presence.
    refuse_unidentified(two.model_copy(update={"swaps": (("a", "b"),)}))
    refuse_unidentified(specification("ab", ", missing_as: level"))
