"""Whole columns of a database have the text that the definition gives their cells, one by one."""

from __future__ import annotations

import datetime
import decimal
import uuid
import zoneinfo

import numpy as np
import polars as pl
import pyarrow
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.database_cells import cell_text, column_text, decimal_text, uuid_text, zoned_text

UTC = datetime.UTC


def lists(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    return st.lists(st.none() | values, max_size=12)


whole = st.integers(-60, 60).flatmap(
    lambda power: st.sampled_from([float(2 ** abs(power)), -float(2 ** abs(power)) - 1])
)
KINDS = {
    pl.String: st.text(max_size=8),
    pl.Boolean: st.booleans(),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float64: st.floats() | whole,
    pl.Date: st.dates(),
    pl.Datetime: st.datetimes() | st.dates().map(lambda day: datetime.datetime.combine(day, datetime.time())),
    pl.Time: st.times(),
}


@given(st.sampled_from(sorted(KINDS, key=str)).flatmap(lambda kind: st.tuples(st.just(kind), lists(KINDS[kind]))))
@example((pl.Float64, [2.0**53, -(2.0**53), 2.0**53 - 1, -0.0, 1e16, 1e-5, float("nan"), float("-inf"), None]))
@example((pl.Datetime, [datetime.datetime(999, 1, 2), datetime.datetime(999, 1, 2, 0, 0, 0, 1), datetime.datetime.max]))
def test_a_column_has_the_text_of_its_cells(typed: tuple[type[pl.DataType], list[object]]) -> None:
    kind, values = typed
    column = pl.Series(values, dtype=kind)
    assert column_text(column, "x").to_list() == [cell_text(value, "x") for value in values]


@given(lists(st.floats(width=32)))
def test_numbers_of_half_the_precision_are_written_with_their_own_digits(values: list[float | None]) -> None:
    # As a driver reads them from PostgreSQL's text, which has the fewest digits that tell the number.
    expected = [None if value is None else cell_text(float(str(np.float32(value))), "x") for value in values]
    assert column_text(pl.Series(values, dtype=pl.Float32), "x").to_list() == expected


@given(lists(st.decimals(allow_nan=False, allow_infinity=False, places=9) | st.decimals(-(10**6), 10**6, places=2)))
@example([decimal.Decimal("5.00"), decimal.Decimal("0.0000001"), decimal.Decimal("-0.000000"), None])
@example([decimal.Decimal("0.000001"), decimal.Decimal("0.0000010"), decimal.Decimal("10.000000001")])
def test_decimals_in_digits(values: list[decimal.Decimal | None]) -> None:
    digits = [None if value is None else f"{value:f}" for value in values]
    expected = [None if value is None else cell_text(value, "x") for value in values]
    assert decimal_text(pl.Series(digits, dtype=pl.String), "x").to_list() == expected


def test_a_decimal_of_many_digits() -> None:
    many = "9" * 5000
    assert cell_text(decimal.Decimal(f"{many}.0"), "x") == decimal_text(pl.Series([f"{many}.0"]), "x").item() == many


def test_decimals_that_are_no_numbers() -> None:
    found = decimal_text(pl.Series(["nan", "inf", "-inf"]), "x").to_list()
    assert found == [cell_text(decimal.Decimal(text), "x") for text in ("nan", "inf", "-inf")]


@given(lists(st.uuids()))
def test_identifiers_as_bytes(values: list[uuid.UUID | None]) -> None:
    column = pl.Series([None if value is None else value.bytes for value in values], dtype=pl.Binary)
    assert uuid_text(column).to_list() == [cell_text(value, "x") for value in values]


@given(
    lists(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2300, 1, 1), timezones=st.just(UTC))),
    st.sampled_from(["UTC", "Europe/Amsterdam", "America/St_Johns"]),
)
def test_moments_are_written_as_a_clock_showed_them(values: list[datetime.datetime | None], name: str) -> None:
    zone = zoneinfo.ZoneInfo(name)
    expected = [None if value is None else cell_text(value.astimezone(zone), "x") for value in values]
    assert zoned_text(pl.Series(values, dtype=pl.Datetime("us", "UTC")), "x", zone).to_list() == expected


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (pyarrow.date32(), 2_932_897),
        (pyarrow.date32(), -719_163),
        (pyarrow.timestamp("us"), 253_402_300_800_000_000),
        (pyarrow.timestamp("us"), -62_135_596_800_000_001),
    ],
)
def test_what_python_cannot_hold_is_refused_by_its_row(kind: pyarrow.DataType, count: int) -> None:
    stored = pyarrow.int32() if kind == pyarrow.date32() else pyarrow.int64()
    column = pl.Series(pyarrow.array([None, count], stored).view(kind))
    with pytest.raises(GemelError) as caught:
        column_text(column, "born", 40)
    assert (caught.value.code, caught.value.where) == (ErrorCode.SOURCE, "the database query, row 42")


def test_a_moment_that_a_clock_elsewhere_shows_after_the_year_9999() -> None:
    last = pl.Series([datetime.datetime.max.replace(tzinfo=UTC)])
    assert zoned_text(last, "x", zoneinfo.ZoneInfo("UTC")).item() == "9999-12-31T23:59:59"
    with pytest.raises(GemelError, match="row 3: column 'x' has a date outside"):
        zoned_text(last, "x", zoneinfo.ZoneInfo("Asia/Tokyo"), 2)


def test_bytes_have_no_text_in_either_way() -> None:
    for read in (lambda: cell_text(b"x", "x"), lambda: column_text(pl.Series([b"x"]), "x")):
        with pytest.raises(GemelError, match="column 'x' is of a type that has no text form"):
            read()
