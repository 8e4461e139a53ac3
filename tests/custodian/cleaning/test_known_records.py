"""Training records and the cells of a joint distribution: places in the public lists, and errors with rows and columns.

No message has a value of the file.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.specification import Specification
from gemel.custodian.source.known_file import clean_joint, clean_training
from gemel.records.table import Positions
from tests.custodian.cleaning.test_harmonising import DRIVING, HOME, spec

JOB = {"name": "job", "holder": "bob", "categories": ["Clerk", "Cook"]}
ODD = "Wizard"
"""A value that no message may show."""


def named(rows: int = 20, **latent: Any) -> Specification:
    """With a file of so many rows; `home` is in both files and no key, and therefore no column."""
    given = latent or {"training": {"by": "alice", "sha256": "0" * 64, "records": rows}}
    return Specification.model_validate({**spec(DRIVING, HOME, JOB).model_dump(), "latent": given})


def joint(cells: int) -> Specification:
    return named(joint={"by": "bob", "sha256": "0" * 64, "cells": cells})


def training(**changed: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"driving": [" good ", "SO  SO", "Poor", "n/a"] * 5, "job": ["clerk", None] * 10, **changed})


CELLS = {"driving": ["Good", "so so", "poor"], "job": ["clerk", "COOK", "cook"], "count": ["5", "0", "2.5"]}


def cleaned(frame: pl.DataFrame, of: Specification):
    clean = clean_training if of.latent.training is not None else clean_joint
    return clean(frame, of, Positions.of_rows(frame.height), "known.csv")


def refused(frame: pl.DataFrame, of: Specification) -> GemelError:
    with pytest.raises(GemelError) as raised:
        cleaned(frame, of)
    assert ODD not in str(raised.value)
    return raised.value


def test_training_records_become_places_and_columns_are_the_value_models():
    found = cleaned(training(home=["city"] * 20, notes=["x"] * 20), named())
    assert {name: column.to_list()[:4] for name, column in found.places.items()} == {
        "driving": [0, 1, 2, None],
        "job": [0, None, 0, None],
    }
    assert found.counts is None
    assert found.n_rows == 20


def test_cells_become_places_and_numbers():
    found = cleaned(pl.DataFrame(CELLS), joint(3))
    assert found.places["driving"].to_list() == [0, 1, 2]
    assert found.places["job"].to_list() == [0, 1, 1]
    assert found.counts.tolist() == [5.0, 0.0, 2.5]
    shares = {name: values for name, values in CELLS.items() if name != "count"} | {"share": [0.5, 0.25, 0.2500001]}
    assert cleaned(pl.DataFrame(shares), joint(3)).counts.sum() == pytest.approx(1, abs=2e-7)


def test_an_unknown_category_is_an_error_with_its_column_and_rows():
    for frame, of in (
        (training(job=["clerk"] * 6 + [ODD] * 2 + ["cook"] * 12), named()),
        (pl.DataFrame({**CELLS, "job": ["clerk", ODD, ODD]}), joint(3)),
    ):
        error = refused(frame, of)
        assert error.code is ErrorCode.SOURCE
        rows = "7, 8" if of.latent.training else "2, 3"
        assert str(error).startswith(
            "known.csv, column 'job': variable job has values that are none of its 2 categories, got"
            f" 2 of {frame.height} rows (rows {rows}); "
        )


def test_every_column_with_an_error_is_named():
    with pytest.raises(GemelErrors) as raised:
        cleaned(training(driving=[ODD] * 20).drop("job"), named())
    assert [error.code for error in raised.value.errors] == [ErrorCode.SOURCE, ErrorCode.FIELD_MISSING]
    assert "there is no column 'job', which every variable of the value model has" in str(raised.value.errors[1])


def test_another_number_of_rows_than_was_approved_is_refused():
    what = "the specification names a file of 21 training records, got 20"
    assert what in str(refused(training(), named(21)))
    assert "the specification names a file of 4 cells, got 3" in str(refused(pl.DataFrame(CELLS), joint(4)))


def test_training_records_without_a_value_are_refused():
    assert "no training record has a value" in str(refused(training(driving=[None] * 20, job=[""] * 20), named()))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"count": ["5", "-1", "2"]}, "every count must be 0 or more, got 1 of 3 rows that are not (row 2)"),
        ({"count": ["5", "many", "2"]}, "every count must be a number"),
        ({"count": ["5", None, "2"]}, "every count must be a number"),
        ({"count": ["5", "inf", "2"]}, "every count must be a number"),
        ({"count": ["0", "0", "0"]}, "counts must have a sum above 0"),
        ({"count": ["1e308", "1e308", "1e308"]}, "counts must have a sum above 0"),
        ({"share": [0.5, 0.3, 0.2]}, "a column named count, or one named share"),
        ({"count": None}, "a column named count, or one named share"),
        ({"count": None, "share": [0.5, 0.3, 0.1]}, "must sum to 1, within 1e-06, got a sum of 0.9"),
        ({"count": None, "share": [0.5, 0.7, -0.2]}, "every share must be 0 or more"),
        ({"driving": ["good", "n/a", "poor"]}, "has a category of every variable"),
        ({"driving": ["good", " GOOD", "poor"], "job": ["cook"] * 3}, "each cell of a joint distribution has one row"),
    ],
)
def test_a_joint_distribution_that_is_none_is_refused(change: dict[str, Any], what: str):
    columns = {name: values for name, values in {**CELLS, **change}.items() if values is not None}
    assert what in str(refused(pl.DataFrame(columns), joint(3)))
