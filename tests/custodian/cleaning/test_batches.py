"""A file cleaned in batches has the values, the counts and the errors of the same file cleaned as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.custodian.cleaning.columns import Cleaning, clean
from gemel.custodian.cleaning.own_copies import copies_warnings, links_one_of_copies, own_copies
from gemel.records.table import Positions
from tests.common.specification.example import EXAMPLE
from tests.specifications import heading

TEXT = yaml.safe_load(EXAMPLE)
TEXT["fields"] = [
    {"name": "surname", "kind": "name", "stop_words": ["mr"], "clean": ["stop_words", "case"]},
    {"name": "street", "kind": "text", "columns": {"alice": ["house", "road"], "bob": "street"}},
    {"name": "born", "kind": "date", "date": {"order": "dmy"}, "missing": ["?"]},
    {"name": "phone", "kind": "code", "salt": {"field": "born", "part": "year"}},
    {"name": "town", "kind": "name", "only_similar": ["f"]},
    {
        "name": "age",
        "kind": "category",
        "missing": ["DK"],
        "categorisation": [
            {"category": "young", "alice": ["0-24"], "bob": ["0"]},
            {"category": "old", "alice": ["25"], "bob": ["1"]},
        ],
    },
]
TEXT["blocking"] = [{"name": "born", "keys": [{"field": "born"}]}]
TEXT["variables"] = [{"name": "home", "holder": "both", "categories": ["city", 3], "missing": ["x"]}]
for name in ("swaps", "alternatives", "leakage", "quality"):
    TEXT.pop(name, None)
SPEC = load_specification(yaml.safe_dump(TEXT))
CELLS: dict[str, list[str | None]] = {
    "surname": [None, "Mr", "Smith", "smith", "Dr. No", "mr X", "É"],
    "house": [None, "", "1", "12b"],
    "road": [None, "Main St", " "],
    "born": [None, "?", "1/2/1960", "01021960", "1960", "40/1/1960"],
    "phone": [None, "01 2", "55"],
    "town": ["f", "m", None],
    "age": ["0-24", "dk", None],
    "home": ["city", "3", "x", None],
}


def in_batches(frame: pl.DataFrame, rows: int) -> tuple[dict[str, pl.Series], dict[str, pl.Series], Any]:
    cleaning, columns, variables = Cleaning(SPEC, Side.ALICE), [], []
    for begin in range(0, frame.height, rows):
        part = frame.slice(begin, rows)
        numbers = np.arange(begin + 2, begin + 2 + part.height)
        fields, coded = cleaning.batch(part, Positions(numbers, "line"))
        columns.append(fields)
        variables.append(coded)
    whole = {name: pl.concat([part[name] for part in columns]) for name in columns[0]}
    distinct = {name: column.drop_nulls().n_unique() for name, column in whole.items()}
    coded = {name: pl.concat([part[name] for part in variables]) for name in variables[0]}
    return whole, coded, cleaning.profile(distinct)


@given(data=st.data(), n=st.integers(1, 12), rows=st.integers(1, 13))
def test_batches_clean_as_the_whole(data: st.DataObject, n: int, rows: int) -> None:
    drawn = {name: data.draw(st.lists(st.sampled_from(cells), min_size=n, max_size=n)) for name, cells in CELLS.items()}
    frame = pl.DataFrame(drawn, schema=dict.fromkeys(drawn, pl.String))
    whole = clean(frame, SPEC, Side.ALICE)
    columns, variables, profile = in_batches(frame, rows)
    assert profile == whole.profile
    assert all(columns[name].equals(column) for name, column in whole.columns.items())
    assert all(variables[name].equals(places) for name, places in whole.variables.items())


@pytest.mark.parametrize("column", ["age", "home"])
def test_values_that_nothing_names_are_counted_and_placed_over_all_batches(column: str) -> None:
    frame = pl.DataFrame({name: [None] * 9 for name in CELLS}, schema=dict.fromkeys(CELLS, pl.String))
    odd = pl.Series(column, ["a", None, "b", "a", "c", None, "a", "b", "d"])
    with pytest.raises(GemelError) as whole:
        clean(frame.with_columns(odd), SPEC, Side.ALICE, Positions(np.arange(2, 11), "line"))
    assert "7 of 9 rows, 4 different values (lines 2, 4, 5, 6, 8, ...)" in str(whole.value)
    for rows in (1, 2, 4):
        with pytest.raises(GemelError) as parts:
            in_batches(frame.with_columns(odd), rows)
        assert str(parts.value) == str(whole.value)


# What a custodian reads of people who are more than once in its own file; the counts: tests/coordinator/draft.

ROWS = 400


def linked(assignment: str) -> Specification:
    fields = "fields: [{name: surname, kind: name}, {name: given, kind: name}, {name: phone, kind: code}]\n"
    return load_specification(heading("copies") + fields + f"links: {{assignment: {assignment}}}\n" + RETENTION)


RETENTION = "retention: {uploads_days: 7, results_days: 30, maps_days: 90}\n"


NAMES = ("surname", "given", "phone")


def columns(copies: int) -> dict[str, pl.Series]:
    """A file of people with a name and a number of their own, some of whom are in it twice."""
    people = [*range(ROWS), *range(copies)]
    return {name: pl.Series([f"{name} {person}" for person in people]) for name in NAMES}


@pytest.mark.parametrize(
    ("assignment", "side", "warned"),
    [
        ("one_to_one", Side.ALICE, True),
        ("one_to_one", Side.BOB, True),
        ("greedy", Side.BOB, True),
        ("many_to_one", Side.ALICE, False),
        ("many_to_one", Side.BOB, True),
        ("one_to_many", Side.ALICE, True),
        ("one_to_many", Side.BOB, False),
        ("none", Side.ALICE, False),
    ],
)
def test_copies_are_named_where_one_of_each_would_be_linked(assignment: str, side: Side, warned: bool) -> None:
    spec = linked(assignment)
    found = list(copies_warnings(own_copies(columns(30), NAMES) if links_one_of_copies(spec, side) else None, spec))
    assert [warning.code for warning in found] == (["own_copies"] if warned else [])
    if warned:
        assert "30 pairs of records are equal in every field" in found[0].text
        assert assignment in found[0].text


def test_a_file_without_copies_has_no_warning() -> None:
    assert not list(copies_warnings(own_copies(columns(0), NAMES), linked("one_to_one")))
