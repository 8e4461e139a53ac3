"""Tables of categorisation: in a specification, what is refused, and the cleaning of a file with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_notes
from gemel.coordinator.draft.specification_text import dump_specification, json_schema
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.profile import Profile, profile_table
from gemel.custodian.steps.seed_agreement import canary
from gemel.records.table import Positions
from tests.common.specification.example import EXAMPLE
from tests.specifications import of_sections

TABLE: list[dict[str, Any]] = [
    {"category": "0-24", "alice": ["0-15", "16-24"], "bob": {"below": 25}},
    {"category": "25-64", "alice": ["25-44", "45-64"], "bob": {"minimum": 25, "below": 65}},
    {"category": "65+", "alice": ["65+", 66], "bob": {"minimum": 65}},
]


def _text(table: object = TABLE, **more: Any) -> str:
    data = yaml.safe_load(EXAMPLE)
    data["fields"].append({"name": "age", "kind": "category", "missing": ["DK"], "categorisation": table, **more})
    return yaml.safe_dump(data)


SPEC = load_specification(_text())


def _cleaned(side: str, values: list[str | None], spec=SPEC) -> pl.Series:
    names = {column for field in spec.fields for column in field.columns_of(side)} | {"rec_id"}
    frame = pl.DataFrame({name: [None] * len(values) for name in names}, schema=dict.fromkeys(names, pl.String))
    return clean(frame.with_columns(pl.Series("age", values, dtype=pl.String)), spec, side).columns["age"]


def test_both_files_come_to_the_same_categories():
    assert _cleaned("alice", ["0-15", " 16-24", "66", "65+", "dk", None, ""]).to_list() == [
        *["0-24"] * 2,
        *["65+"] * 2,
        *[None] * 3,
    ]
    assert _cleaned("bob", ["-1.5", "24.9", "25", "64", "1e2", "DK"]).to_list() == [
        *["0-24"] * 2,
        *["25-64"] * 2,
        "65+",
        None,
    ]


def test_a_value_outside_the_table_is_counted_and_never_shown():
    with pytest.raises(GemelError) as raised:
        _cleaned("alice", ["0-15", "16-25", "16-25", "0-24"])
    assert "age" in str(raised.value)
    assert "got 3 of 4 rows, 2 different values (rows 2, 3, 4)" in str(raised.value)
    assert "16-25" not in str(raised.value)
    for bad in ("17 years", "infinity", "0-24"):
        with pytest.raises(GemelError, match="1 of 1 rows"):
            _cleaned("bob", [bad])


def test_it_is_encoded_dumped_and_noted():
    plain = load_specification(_text([]))
    assert encoding_digest(plain) != encoding_digest(SPEC)
    again = load_specification(dump_specification(SPEC))
    assert again == SPEC
    assert '      - {category: "0-24", alice: ["0-15", "16-24"], bob: {below: 25}}' in dump_specification(SPEC)
    reported = "\n".join(specification_notes(SPEC))
    assert (
        "Field age is harmonised: alice's 6 values (0 of them kept apart from all others) and bob's numbers" in reported
    )
    assert "become 3 categories" in reported
    assert "CommonCategory" in json_schema()["$defs"]


def test_the_canary_is_the_same_on_both_sides():
    seed = Seed(bytes(range(32)))
    digest = encoding_digest(SPEC)
    assert canary(SPEC, digest, Side.ALICE, seed, 1) == canary(SPEC, digest, Side.BOB, seed, 1)


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (TABLE[:1], "", "all values map to one category.*cannot be harmonised"),
        ([*TABLE[:2], {**TABLE[2], "bob": {"minimum": 60}}], "[2].bob", "overlaps that of row 1, got 60"),
        ([*TABLE[:2], {**TABLE[2], "alice": ["0-15"]}], "[2].alice", "the value is in row 0 already"),
        ([*TABLE[:2], {**TABLE[2], "alice": []}], "[2].alice", "no value of alice's means '65[+]'"),
        ([*TABLE[:2], {**TABLE[2], "category": "0-24 "}], "[2].category", "that of row 0 already"),
        ([*TABLE[:2], {**TABLE[2], "category": "n/a"}], "[2].category", "missing values"),
        ([*TABLE[:2], {**TABLE[2], "bob": {"minimum": 6, "below": 5}}], "[2].bob", "must ascend"),
        ([*TABLE[:2], {**TABLE[2], "bob": {}}], "[2].bob", "at least one bound"),
        ([*TABLE[:2], {**TABLE[2], "carole": ["x"]}], "[2].carole", "unknown key"),
        ("ages.csv", "", "must be a list"),
    ],
)
def test_what_cannot_be_harmonised_is_refused(change, where, what):
    with pytest.raises(GemelErrors, match=what) as raised:
        load_specification(_text(change))
    assert any(f".categorisation{where}: " in str(error) for error in raised.value.errors), raised.value


def test_only_categories_are_harmonised_and_not_cleaned_besides():
    with pytest.raises(GemelErrors, match="only categories are harmonised"):
        load_specification(_text(kind="name"))
    with pytest.raises(GemelErrors, match="need no other cleaning"):
        load_specification(_text(clean=["digits"]))


def test_a_variable_is_harmonised_too():
    data = yaml.safe_load(EXAMPLE)
    labels = [row["category"] for row in TABLE]
    variable = {"name": "age", "holder": "both", "categories": labels, "categorisation": TABLE}
    spec = load_specification(yaml.safe_dump({**data, "variables": [variable]}))
    assert load_specification(dump_specification(spec)) == spec
    names = {column for field in spec.fields for column in field.columns_of("bob")}
    frame = pl.DataFrame({name: ["x"] * 3 for name in names}).with_columns(pl.Series("age", ["7", None, "65"]))
    assert clean(frame, spec, "bob").variables["age"].to_list() == [0, None, 2]
    with pytest.raises(GemelError, match="variable age has values that its table"):
        clean(frame.with_columns(pl.Series("age", ["7", "0-24", "65"])), spec, "bob")
    assert "Variable age is harmonised" in "\n".join(specification_notes(spec))
    with pytest.raises(GemelErrors, match="not the variable's `categories`"):
        load_specification(yaml.safe_dump({**data, "variables": [{**variable, "categories": labels[::-1]}]}))
    with pytest.raises(GemelErrors, match="alice's file does not have the variable"):
        load_specification(yaml.safe_dump({**data, "variables": [{**variable, "holder": "bob"}]}))


# Categories of the public list, missing values, and the error for a value that is neither.

DRIVING = {"name": "driving", "holder": "alice", "column": "quality", "categories": ["Good", "so so", "Poor"]}
HOME = {"name": "home", "holder": "both", "categories": ["city", 3], "missing": ["x"]}


def spec(*variables: dict[str, Any]) -> Specification:
    return of_sections(fields=[{"name": "surname", "kind": "name"}], variables=variables)


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
