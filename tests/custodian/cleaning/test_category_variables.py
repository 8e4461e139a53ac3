"""Categories of the public list, missing values, and the error for a value that is neither."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.records.table import Positions
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.profile import Profile, profile_table

DRIVING = {"name": "driving", "holder": "alice", "column": "quality", "categories": ["Good", "so so", "Poor"]}
HOME = {"name": "home", "holder": "both", "categories": ["city", 3], "missing": ["x"]}


def spec(*variables: dict[str, Any]) -> Specification:
    return Specification.model_validate(
        {
            "version": 1,
            "project": "p",
            "mode": "open",
            "custodians": {"alice": {"identifier": "id"}, "bob": {"identifier": "id"}},
            "fields": [{"name": "surname", "kind": "name"}],
            "variables": list(variables),
            "retention": {"uploads_days": 1, "results_days": 1, "maps_days": 1},
        }
    )


def frame(**columns: list[Any]) -> pl.DataFrame:
    rows = len(next(iter(columns.values())))
    return pl.DataFrame({"surname": ["smith"] * rows, **columns})


def test_values_become_places_in_the_list():
    table = frame(quality=[" good ", "SO  SO", "Poor", "", None, "n/a"], home=[3, 3, None, None, None, None])
    cleaned = clean(table, spec(DRIVING, HOME), "alice")
    assert {name: column.to_list() for name, column in cleaned.variables.items()} == {
        "driving": [0, 1, 2, None, None, None],
        "home": [1, 1, None, None, None, None],
    }
    driving, home = cleaned.profile.variables
    assert (driving.blank, driving.coded, driving.missing, driving.column) == (2, 1, 3, "quality")
    assert (home.blank, home.coded, home.rows, home.categories) == (4, 0, 6, 2)
    assert Profile.from_dict(cleaned.profile.as_dict()) == cleaned.profile
    assert cleaned.profile.warnings() == (
        result_warning("one_value_in_all_rows", field="surname"),
        result_warning("rows_without_category", variable="home", missing=4, rows=6),
    )
    assert profile_table(cleaned.profile).row_count == 3


def test_only_the_holders_file_needs_them():
    cleaned = clean(frame(home=["city", "X"]), spec(DRIVING, HOME), "bob")
    assert cleaned.variables["home"].to_list() == [0, None]
    assert list(cleaned.variables) == ["home"]


@given(st.lists(st.sampled_from(["Good", " good", "so so", "poor", "", None, "?"]), min_size=1, max_size=12))
def test_every_row_is_counted_once(values: list[str | None]):
    cleaned = clean(frame(quality=pl.Series(values, dtype=pl.String)), spec(DRIVING), "alice")
    assert cleaned.profile.variables[0].missing == cleaned.variables["driving"].null_count()
    known = [value for value in values if value not in ("", None, "?")]
    assert cleaned.variables["driving"].drop_nulls().len() == len(known)


def test_a_value_outside_the_list_is_reported_by_count_and_place_and_never_shown():
    table = frame(quality=["good", "secret", "secret", "hidden", "poor"], home=["city", "villa", "city", "x", None])
    with pytest.raises(GemelErrors) as raised:
        clean(table, spec(DRIVING, HOME), "alice", Positions(np.arange(2, 7), "line"))
    text = str(raised.value)
    assert raised.value.code is ErrorCode.SOURCE
    assert "3 of 5 rows, 2 different values (lines 3, 4, 5)" in text
    assert "1 of 5 rows, 1 different values (line 3)" in text
    assert not any(word in text for word in ("secret", "hidden", "villa"))
    with pytest.raises(GemelError, match=r"rows 2, 3, 4\)"):
        clean(table, spec(DRIVING), "alice")


def test_a_missing_column_and_a_variable_that_no_custodian_has():
    with pytest.raises(GemelError, match="no column 'quality' for variable driving"):
        clean(frame(home=["city"]), spec(DRIVING), "alice")
    cleaned = clean(frame(quality=[None, "?"]), spec(DRIVING), "alice")
    assert cleaned.variables["driving"].null_count() == 2
    codes = {warning.code for warning in cleaned.profile.warnings()}
    assert "variable_without_categories" in codes
