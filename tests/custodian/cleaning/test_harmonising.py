"""Tables of categorisation: in a specification, what is refused, and the cleaning of a file with them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import yaml

from gemel.common.errors import GemelError, GemelErrors
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import (
    dump_specification,
    encoding_digest,
    json_schema,
    load_specification,
    specification_notes,
)
from gemel.custodian.cleaning import clean
from gemel.custodian.steps.seed_agreement import canary
from tests.common.specification.example import EXAMPLE

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
