"""The columns that name the person: what of a specification may not be made of them."""

from __future__ import annotations

import pytest

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.specification import Specification, load_specification
from gemel.coordinator.truth_columns import Truth
from tests.carole.refusals import refusal
from tests.specifications import heading

FIELDS = """
fields:
  - {name: surname, kind: name}
  - {name: given_name, kind: name, columns: {alice: first, bob: [first, middle]}}
  - {name: number, kind: code, columns: {alice: person, bob: entity}}
blocking:
  - {name: by_number, keys: [{field: number}]}
  - {name: by_name, keys: [{field: surname}]}
variables:
  - {name: cohort, holder: bob, column: cohort_number, categories: [a, b]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""


def specification() -> Specification:
    return load_specification(heading("truth") + FIELDS)


@pytest.mark.parametrize(
    ("truth", "where", "got"),
    [
        (Truth("person", "who"), "field number", "alice's 'person', compared and blocked by (rule by_number)"),
        (Truth("person", "entity"), "field number", "alice's 'person' and bob's 'entity', compared"),
        (Truth("who", "middle"), "field given_name", "bob's 'middle', compared"),
        (Truth("who", "cohort_number"), "variable cohort", "bob's 'cohort_number', carried as a code"),
    ],
)
def test_a_truth_that_is_linked_by_is_refused(truth: Truth, where: str, got: str) -> None:
    with refusal(ErrorCode.SPECIFICATION) as caught:
        truth.require_unused(specification())
    assert caught.value.where == where
    assert got in caught.value.got


def test_every_use_is_reported() -> None:
    with pytest.raises(GemelErrors) as caught:
        Truth("surname", "middle").require_unused(specification())
    assert [error.where for error in caught.value.errors] == ["field surname", "field given_name"]


@pytest.mark.parametrize("truth", [Truth("who", "who"), Truth("id", "id"), Truth("entity", "person")])
def test_a_column_that_is_not_linked_by_may_be_the_truth(truth: Truth) -> None:
    truth.require_unused(specification())


def test_one_column_of_the_two_is_no_truth() -> None:
    assert Truth.of_options(None, None) is None
    assert Truth.of_options("a", "b") == Truth("a", "b")
    for given in (("a", None), (None, "b")):
        with pytest.raises(GemelError, match="the truth needs a column of each file"):
            Truth.of_options(*given)
