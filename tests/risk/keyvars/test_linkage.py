"""Two codings brought to the finest common categories, and the table written into a specification."""

from __future__ import annotations

import itertools

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.common.specification.model.variables import category_of
from gemel.risk.keyvars.environment import Environment
from gemel.risk.keyvars.linkage import common_categories, insert
from tests.common.specification.example import EXAMPLE

HERE = ["0-15", "16-24", "25-44", "45-64", "65+"]
THERE = ["0-17", "18-24", "25-34", "35-64", "65-79", "80+"]


def environment(alice=HERE, bob=THERE, scale="whole") -> Environment:
    made = Environment()
    made.add_variable("Age", scale)
    for name, bands in (("a", alice), ("b", bob)):
        made.add_form(name)
        made.code(name, "Age", bands)
    return made


def test_bands_that_differ_and_overlap():
    found = common_categories(environment(), "Age", "a", "b")
    assert [(row.category, row.alice, row.bob) for row in found.table] == [
        ("0-24", ("0-15", "16-24"), ("0-17", "18-24")),
        ("25-64", ("25-44", "45-64"), ("25-34", "35-64")),
        ("65+", ("65+",), ("65-79", "80+")),
    ]
    assert found.code == "H3.001"
    assert found.losses[0].startswith(
        "alice's 5 categories become 3: no longer distinguished are '0-15', '16-24'; '25-44'"
    )


def test_exact_ages_come_to_the_others_bands():
    found = common_categories(environment([]), "Age", "a", "b")
    assert [row.category for row in found.table] == THERE
    assert [row.alice.ends for row in found.table][-2:] == [(65, 80), (80, float("inf"))]
    assert found.losses == ("alice's exact values become 6 categories", "bob's 6 categories stay as they are")


def test_what_the_data_hold_is_what_is_listed():
    made = environment()
    made.code("b", "Age", THERE, {str(i): band for i, band in enumerate(THERE)})
    found = common_categories(made, "Age", "a", "b")
    assert [row.bob for row in found.table] == [("0", "1"), ("2", "3"), ("4", "5")]


def test_what_cannot_be_harmonised_is_refused():
    for env, message in (
        (environment(["0-17", "18+"], ["0-15", "16+"]), "only one category in common, everything"),
        (environment([], []), "both forms take whatever is written in"),
    ):
        with pytest.raises(GemelError, match=message):
            common_categories(env, "Age", "a", "b")
    made = environment()
    made.add_form("c")
    with pytest.raises(GemelError, match="c: the form has no such variable"):
        common_categories(made, "Age", "a", "c")
    made.add_variable("Eyes")
    made.code("a", "Eyes", ["blue", "other"])
    made.code("b", "Eyes", [])
    with pytest.raises(GemelError, match="b, Eyes: the form takes whatever is written in"):
        common_categories(made, "Eyes", "a", "b")


def test_categories_without_a_name_of_their_own_are_called_by_their_parts():
    made = Environment()
    made.add_variable("Eyes")
    for name in "ab":
        made.add_form(name)
    made.code("a", "Eyes", ["blue", "grey", "brown", "black", "other"])
    made.edit("Eyes", lambda graph: graph.aggregate("light", ["blue", "grey"]).aggregate("dark", ["brown", "black"]))
    made.edit("Eyes", lambda graph: graph.aggregate("brown or other", ["brown", "other"]))
    made.code("b", "Eyes", ["light", "brown or other", "black"])
    made.code("a", "Eyes", ["blue", "grey", "dark", "other"])
    found = common_categories(made, "Eyes", "a", "b")
    assert [row.category for row in found.table] == ["light", "dark or other"]


@st.composite
def _bands(draw):
    cuts = sorted(draw(st.sets(st.integers(1, 40), max_size=8)))
    bounds = [0, *cuts, None]
    return [
        f"{low}+" if high is None else str(low) if high == low + 1 else f"{low}-{high - 1}"
        for low, high in itertools.pairwise(bounds)
    ]


def _band(bands, age):
    for band in bands:
        low, _, high = band.rstrip("+").partition("-")
        if int(low) <= age and (band.endswith("+") or age <= int(high or low)):
            return band
    raise AssertionError


@given(_bands(), st.one_of(st.just([]), _bands()))
def test_one_person_comes_to_one_category_and_the_table_is_the_finest(here, there):
    lower = [{band.split("-")[0].rstrip("+") for band in bands} for bands in (here, there or here)]
    shared = lower[0] & lower[1]
    if len(shared) == 1:
        with pytest.raises(GemelError, match="cannot be harmonised"):
            common_categories(environment(here, there), "Age", "a", "b")
        return
    found = common_categories(environment(here, there), "Age", "a", "b")
    of_alice, of_bob = (category_of(found.table, side) for side in Side)
    seen = set()
    for age in range(60):
        category = of_alice(_band(here, age))
        assert category == of_bob(_band(there, age) if there else str(age))
        seen.add(category)
    assert len(seen) == len(found.table) == len(shared)  # each shared bound kept


TABLE = common_categories(environment(), "Age", "a", "b").table
FIELD = """  # How old they are.
  - name: age
    kind: category   # in bands
    columns: {alice: age_group, bob: alter}
"""


def _specification(field: str = FIELD) -> str:
    return EXAMPLE.replace("blocking:\n", field + "blocking:\n", 1)


def test_a_table_is_written_into_a_field_and_nothing_else_changes():
    text = _specification()
    made = insert(text, "age", TABLE)
    assert load_specification(made).field("age").categorisation == TABLE
    added = set(made.splitlines()) - set(text.splitlines())
    assert [line for line in made.splitlines() if line not in added] == text.splitlines()
    with pytest.raises(GemelError, match=r"line [0-9]+: field age has categorisation already.*--replace"):
        insert(made, "age", TABLE)
    other = common_categories(environment([]), "Age", "a", "b").table
    assert load_specification(insert(made, "age", other, replace=True)).field("age").categorisation == other
    assert insert(insert(made, "age", other, replace=True), "age", TABLE, replace=True) == made


def test_a_variable_gets_its_categories_too():
    text = EXAMPLE + yaml.safe_dump(
        {"variables": [{"name": "age", "holder": "both", "categories": ["x", "y"], "role": "key"}]}, sort_keys=False
    )
    with pytest.raises(GemelError, match="variable age has categories already"):
        insert(text, "age", TABLE)
    made = load_specification(insert(text, "age", TABLE, replace=True)).variable("age")
    assert (made.categories, made.categorisation) == (("0-24", "25-64", "65+"), TABLE)


def test_where_it_cannot_be_written_it_is_not():
    for name, message, field in (
        ("eyes", "got 'eyes'", FIELD),
        ("surname", "got 'surname'", FIELD),
        ("age", "one entry to a line", "  - {name: age, kind: category}\n"),
    ):
        with pytest.raises(GemelError, match=message):
            insert(_specification(field), name, TABLE)
