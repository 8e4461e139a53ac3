"""Cleaning of whole files: as defined, value by value, and counted."""

from __future__ import annotations

import datetime
import io
import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import STEPS, FieldSpec, Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.definition import clean_value
from gemel.custodian.cleaning.profile import Profile, profile_table
from tests.carole.refusals import refusal
from tests.specifications import of_sections

PLANTED = "Wraxhollow"


def specification(*fields: dict[str, Any]) -> Specification:
    return of_sections(fields=fields)


steps = st.lists(st.sampled_from(list(STEPS)), unique=True)
values = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.text(alphabet=[chr(code) for code in range(128)], max_size=12),
    st.text(alphabet=st.sampled_from("aB0 -.'éß\t\x1c\u0301\u200d\u00a0"), max_size=12),
    st.sampled_from(
        ["the mr x", "N/A", "na", "NULL", " ? ", "unknown", "00 12", "the", "Mr.", "ｎ/ａ", "1,234.5", "1965-03-07"]
    ),
)


@given(
    rows=st.lists(values, min_size=1, max_size=20),
    kind=st.sampled_from(["name", "text", "code", "category", "number", "date"]),
    clean_steps=st.one_of(st.none(), steps),
    stopped=st.booleans(),
)
def test_columns_are_cleaned_as_defined(
    rows: list[str | None], kind: str, clean_steps: list[str] | None, stopped: bool
) -> None:
    field: dict[str, Any] = {"name": "f", "kind": kind}
    if kind == "date":
        field["date"] = {"order": "ymd"}
    if clean_steps is not None:
        allowed = FieldSpec.model_validate(field).defaults.allowed
        field["clean"] = [step for step in clean_steps if step in allowed]
    checked = FieldSpec.model_validate(field)
    if stopped and "stop_words" in checked.clean and "leading_zeros" not in checked.clean:
        field["stop_words"] = ["the", "Mr.", "b a"]
    spec = specification(field)
    cleaned = clean(pl.DataFrame({"f": pl.Series(rows, dtype=pl.String)}), spec, Side.ALICE)
    expected = [clean_value(value, spec.fields[0]) for value in rows]
    assert cleaned.columns["f"].to_list() == expected
    profile = cleaned.profile.fields[0]
    assert profile.missing == expected.count(None)
    assert profile.rows == len(rows)
    assert profile.distinct == len({value for value in expected if value is not None})


def test_everything_that_changed_is_counted() -> None:
    spec = specification(
        {"name": "surname", "kind": "name", "stop_words": ["van"]},
        {"name": "born", "kind": "date", "column": "dob", "date": {"order": "dmy"}},
        {"name": "house", "kind": "number"},
    )
    frame = pl.DataFrame(
        {
            "surname": ["Smith", "Smith", "smith", "O'Brien", "van Dyk", "van", None, " ", "unknown", "José"],
            "dob": [*["7/3/1965"] * 4, "31/2/1965", "65", "n/a", "", "1965-03-07", None],
            "house": ["7", "007", "7.0", "7a", None, "-9", "12", "1", "2", "3"],
        }
    )
    surname, born, house = clean(frame, spec, "alice").profile.fields
    assert surname.changed == {
        "unicode": 0,
        "case": 5,
        "accents": 1,
        "punctuation": 1,
        "stop_words": 2,
        "alphanumeric": 0,
    }
    assert (surname.blank, surname.coded, surname.emptied, surname.missing) == (2, 1, 1, 4)
    assert (surname.distinct, surname.tokens) == (4, (4, 6, 7))
    assert (born.blank, born.coded, born.unreadable, born.changed["date"]) == (2, 1, 2, 5)
    assert (house.unreadable, house.coded, house.changed["number"]) == (1, 1, 2)
    assert house.column == "house"
    assert born.column == "dob"


def test_a_wrong_date_order_shows_in_the_warnings() -> None:
    spec = specification({"name": "born", "kind": "date", "date": {"order": "mdy"}})
    frame = pl.DataFrame({"born": [f"{day}/3/1965" for day in range(1, 29)]})
    profile = clean(frame, spec, "bob").profile
    assert profile.fields[0].unreadable == 16
    assert any("order of day, month and year" in warning.line for warning in profile.warnings())


def test_warnings_of_empty_and_constant_columns() -> None:
    spec = specification(
        {"name": "a", "kind": "name"}, {"name": "b", "kind": "category"}, {"name": "c", "kind": "code"}
    )
    frame = pl.DataFrame({"a": [None, "?"], "b": ["x", "x"], "c": ["1", "2"]})
    assert clean(frame, spec, "bob").profile.warnings() == (
        result_warning("field_without_values", field="a", column="a"),
        result_warning("one_value_in_all_rows", field="b"),
    )


def test_values_not_sent_and_values_sent_as_codes_are_counted_and_reported() -> None:
    spec = specification(
        {"name": "a", "kind": "name", "salt": {"field": "born", "part": "year"}, "only_similar": ["ANN", "Bo"]},
        {"name": "born", "kind": "date", "date": {"order": "ymd"}},
    )
    frame = pl.DataFrame(
        {"a": ["Ann", "ann", "Anne", "Bo", None, "?"], "born": ["1965-03-07", "", "0000-03-07", "1966", None, "1966"]}
    )
    profile = clean(frame, spec, "bob").profile
    field = profile.fields[0]
    assert (field.present, field.unsalted, field.coded_values) == (4, 2, 1)
    assert clean(frame, spec, "bob").columns["a"].to_list() == ["ann", "ann", "anne", "bo", None, None]
    assert result_warning("values_without_salt", field="a", unsalted=2, present=4) in profile.warnings()
    assert Profile.from_dict(json.loads(json.dumps(profile.as_dict()))) == profile
    shown = Console(width=300, record=True, file=io.StringIO())
    shown.print(profile_table(profile))
    assert "sent as missing, without a salt 2, sent as codes 1" in shown.export_text()
    none = clean(frame.with_columns(a=pl.lit("zoe")), spec, "bob").profile
    assert result_warning("no_value_listed", field="a") in none.warnings()


def test_types_other_than_text() -> None:
    spec = specification(
        {"name": "postcode", "kind": "code"},
        {"name": "born", "kind": "date", "date": {"order": "dmy"}},
        {"name": "seen", "kind": "date", "date": {"order": "mdy"}},
        {"name": "score", "kind": "number"},
        {"name": "sex", "kind": "category"},
        {"name": "alive", "kind": "category"},
        {"name": "nothing", "kind": "name"},
    )
    frame = pl.DataFrame(
        {
            "postcode": [2612.0, None, float("nan")],
            "born": [datetime.date(1965, 3, 7), None, datetime.date(2000, 1, 1)],
            "seen": [datetime.datetime(1965, 3, 7, 12, 30, 1, 5), None, datetime.datetime(2000, 1, 1)],
            "score": [1.5, 2.0, None],
            "sex": pl.Series(["F", "M", None], dtype=pl.Categorical),
            "alive": [True, False, None],
            "nothing": [None, None, None],
        }
    )
    columns = clean(frame, spec, "alice").columns
    assert {name: column.to_list() for name, column in columns.items()} == {
        "postcode": ["2612", None, None],
        "born": ["19650307", None, "20000101"],
        "seen": ["19650307", None, "20000101"],
        "score": ["1.5", "2", None],
        "sex": ["f", "m", None],
        "alive": ["true", "false", None],
        "nothing": [None, None, None],
    }


def test_a_missing_column_is_named_with_its_custodian_and_the_columns_present() -> None:
    spec = specification({"name": "surname", "kind": "name", "columns": {"alice": "surname", "bob": "family_name"}})
    with refusal(ErrorCode.FIELD_MISSING) as caught:
        clean(pl.DataFrame({"id": [1], "Family Name": ["x"]}), spec, Side.BOB)
    for part in ("surname", "'family_name'", "bob", "id, Family Name", "did you mean Family Name", "columns: {bob:"):
        assert part in str(caught.value)


def test_all_missing_columns_are_named_at_once() -> None:
    spec = specification({"name": "a", "kind": "name"}, {"name": "b", "kind": "name"}, {"name": "c", "kind": "name"})
    with pytest.raises(GemelErrors) as caught:
        clean(pl.DataFrame({"b": ["x"]}), spec, "alice")
    assert caught.value.code is ErrorCode.FIELD_MISSING
    assert ["'a'" in str(caught.value.errors[0]), "'c'" in str(caught.value.errors[1])] == [True, True]


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (pl.Series([], dtype=pl.String), ErrorCode.EMPTY_SOURCE),
        (pl.Series([[PLANTED]]), ErrorCode.SOURCE),
        (pl.Series([{"x": PLANTED}]), ErrorCode.SOURCE),
        (pl.Series([PLANTED.encode()]), ErrorCode.SOURCE),
        (pl.Series([PLANTED * 2000]), ErrorCode.SOURCE),
    ],
)
def test_columns_that_hold_no_values(column: pl.Series, code: ErrorCode) -> None:
    with refusal(code) as caught:
        clean(pl.DataFrame({"f": column}), specification({"name": "f", "kind": "name"}), "alice")
    assert PLANTED not in str(caught.value)


def test_a_profile_and_what_is_printed_hold_no_value() -> None:
    spec = specification({"name": "f", "kind": "name"}, {"name": "d", "kind": "date", "date": {"order": "ymd"}})
    cleaned = clean(pl.DataFrame({"f": [PLANTED, None], "d": [PLANTED, "1965"]}), spec, "alice")
    screen = Console(file=io.StringIO(), width=200)
    screen.print(profile_table(cleaned.profile), *(warning.line for warning in cleaned.profile.warnings()))
    text = screen.file.getvalue() + repr(cleaned) + str(cleaned.profile.as_dict())  # type: ignore[attr-defined]
    assert "unreadable" in text
    assert PLANTED.lower() not in text.lower()
    assert Profile.from_dict(cleaned.profile.as_dict()) == cleaned.profile


@pytest.mark.parametrize("order", ["ymd", "dmy", "mdy"])
def test_parts_of_a_date_keep_their_places_where_some_are_unknown(order: str) -> None:
    date = {"order": order}
    columns = [{"y": "year", "m": "month", "d": "day"}[part] for part in order]
    spec = specification({"name": "born", "kind": "date", "date": date, "column": columns})
    whole = specification({"name": "born", "kind": "date", "date": date, "column": "whole"})
    # Every way to leave parts out, and the date of the same parts as it is written in one column with zeros.
    known = [(1965, 12, 3), (1981, 2, 29), (1980, 2, 29), (2001, 10, 31)]
    rows = [
        tuple(value if chosen >> place & 1 else None for place, value in enumerate(date))
        for date in known
        for chosen in range(8)
    ]
    frame = pl.DataFrame(rows, schema=["year", "month", "day"], orient="row")
    iso = [None if row == (None,) * 3 else "{:04d}-{:02d}-{:02d}".format(*(part or 0 for part in row)) for row in rows]
    joined = clean(frame, spec, "alice").columns["born"]
    assert joined.to_list() == clean(pl.DataFrame({"whole": iso}), whole, "alice").columns["born"].to_list()
    assert joined.null_count() == 4 + 1, "nothing known, and 29 February 1981"
    assert clean(pl.DataFrame([("?", "", "x")], frame.columns, orient="row"), spec, "bob").columns[
        "born"
    ].to_list() == [None]


def test_the_name_of_a_month_may_be_a_part() -> None:
    spec = specification({"name": "born", "kind": "date", "date": {"order": "dmy"}, "column": ["d", "m", "y"]})
    frame = pl.DataFrame({"d": ["3", None], "m": ["Dec", "mar"], "y": ["1965", "1970"]})
    assert clean(frame, spec, "bob").columns["born"].to_list() == ["19651203", "19700300"]


def test_several_columns_are_one_field() -> None:
    spec = specification({"name": "address", "kind": "text", "column": ["number", "street"]})
    frame = pl.DataFrame({"number": [12, None, 7, None], "street": ["High Street", "Low Road", None, "  "]})
    cleaned = clean(frame, spec, "alice")
    assert cleaned.columns["address"].to_list() == ["12 high street", "low road", "7", None]
    assert cleaned.profile.fields[0].column == "number + street"
    with pytest.raises(GemelError, match="there is no column 'street' for field address"):
        clean(frame.drop("street"), spec, "alice")
