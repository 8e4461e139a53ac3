"""A joint distribution in codes, with the labels put in by whoever has the seed."""

from __future__ import annotations

from typing import Any

import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.specification import Specification
from gemel.custodian.encoding.categories import relabelling
from gemel.custodian.steps.result_fetch import labelled

SPEC = Specification.model_validate(
    {
        "version": 1,
        "project": "p",
        "mode": "open",
        "custodians": {"alice": {"identifier": "id"}, "bob": {"identifier": "id"}},
        "fields": [{"name": "surname", "kind": "name"}],
        "variables": [{"name": "home", "holder": "bob", "categories": ["city", "suburb", "rural"]}],
        "retention": {"uploads_days": 1, "results_days": 1, "maps_days": 1},
    }
)
KEYS = Seed(bytes(range(32))), bytes(32), 1
CODED = {"name": "home", "levels": 3, "coded": True, "holder": "bob"}
OTHER = {"name": "surname", "levels": 40, "coded": False, "holder": "both"}


def test_each_code_gets_its_category_and_nothing_else_changes():
    document = {"variables": [CODED, OTHER], "records": 3.5, "cliques": [[1]]}
    named = labelled(document, SPEC, *KEYS)
    codes = relabelling(SPEC.variable("home"), "p", *KEYS)
    assert [named["variables"][0]["labels"][code] for code in codes] == ["city", "suburb", "rural"]
    assert named["variables"][1] == OTHER
    assert {**named, "variables": None} == {**document, "variables": None}
    assert "labels" not in CODED


@pytest.mark.parametrize(
    "variables", [None, ["x"], [{**CODED, "name": "age"}], [{**CODED, "levels": 4}], [{"coded": True}]]
)
def test_other_variables_are_refused(variables: Any):
    with pytest.raises(GemelError, match="does not fit this specification"):
        labelled({"variables": variables}, SPEC, *KEYS)


def test_labels_that_carole_put_in_are_not_believed():
    named = labelled({"variables": [{**OTHER, "labels": ["x"]}]}, SPEC, *KEYS)
    assert named["variables"] == [OTHER]
