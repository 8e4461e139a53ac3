"""Dates in every usual spelling, read in one stated order."""

from __future__ import annotations

import datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.specification.model.defaults import DateOrder, DatePart
from gemel.custodian.cleaning.columns import plain_dates
from gemel.custodian.cleaning.definition import clean_date, clean_number

DAY = datetime.date(1965, 3, 7)


READ = {
    ("ymd", "19650307"): ("19650307", "1965-03-07", "1965-03-07 00:00:00+02:00", "196503070830", "07-MARCH-1965"),
    ("dmy", "19650307"): ("07031965", "7031965", "1965-03-07", "7/3/1965", "07.03.1965 12:00", "7 3 1965", "07mar1965"),
    ("mdy", "19650307"): ("03071965", "3071965", "1965-03-07T23:59:01.5Z", "3/7/1965", "7 Mar 1965"),
    ("ymd", "19650300"): ("19650300",),
    ("dmy", "19650300"): ("1965-03", "00.03.1965"),
    ("mdy", "19650300"): ("03/1965",),
    ("ymd", "19650000"): ("1965-00-00",),
    ("dmy", "19650000"): ("1965",),
    ("dmy", "19640229"): ("29.2.1964",),
    ("dmy", "00000229"): ("29/2/0000",),
    ("ymd", None): (
        *("7/3/1965", "65-03-07", "650307", "196503", "19651332", "0812-01-01", "9999-01-01", "00000000"),
        *("1965-03-07x", "١٩٦٥٠٣٠٧", ""),
    ),
    ("dmy", None): ("29.2.1965", "31.4.1965", "7/3/65", "7-3/1965", "7 mai 1965", "0"),
    ("mdy", None): ("13/7/1965",),
}
"""By order and what is read, None for no date: how it is written."""


@pytest.mark.parametrize(
    ("text", "order", "cleaned"), [(text, *meant) for meant, written in READ.items() for text in written]
)
def test_read_or_refused(text: str, order: DateOrder, cleaned: str | None) -> None:
    assert clean_date(text, order) == cleaned


def test_parts_not_compared_are_as_if_unknown() -> None:
    assert clean_date("1965-03-07", "ymd", ("year", "month")) == "19650300"
    assert clean_date("1965-03-07", "ymd", ("day",)) == "00000007"
    assert clean_date("1965", "ymd", ("month", "day")) is None


@pytest.mark.parametrize(
    ("text", "order", "cleaned"),
    [
        ("7/3/65", "dmy", "19650307"),
        ("3.7.26", "mdy", "20260307"),
        ("07.03.27 12:00", "dmy", "19270307"),
        ("65-03-07", "ymd", "19650307"),
        ("7 Mar 00", "dmy", "20000307"),
        ("7/3/1965", "dmy", "19650307"),
        ("2026-12-31", "dmy", "20261231"),
        ("2027-01-01", "dmy", None),
        ("07032027", "dmy", None),
        ("070365", "dmy", None),
        ("29.2.27", "dmy", None),
    ],
)
def test_years_of_two_digits_are_the_latest_that_they_can_be(text: str, order: DateOrder, cleaned: str | None) -> None:
    assert clean_date(text, order, latest_year=2026) == cleaned
    quick = plain_dates(pl.Series("v", [text]), order, ("year", "month", "day"), 2026).item()
    assert quick in (None, cleaned)


@given(st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)), st.integers(0, 99))
def test_two_digits_say_the_year_within_a_century(date: datetime.date, later: int) -> None:
    if date.year + later <= 2999:
        assert clean_date(date.strftime("%d/%m/%y"), "dmy", latest_year=date.year + later) == f"{date:%Y%m%d}"


dates = st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31))


@given(dates, st.sampled_from("-/. "), st.booleans())
def test_every_date_is_read_in_every_order(date: datetime.date, separator: str, padded: bool) -> None:
    expected = date.strftime("%Y%m%d").zfill(8)
    numbers = {"y": f"{date.year:04d}", "m": f"{date.month:02d}", "d": f"{date.day:02d}"}
    for order in ("ymd", "dmy", "mdy"):
        compact = "".join(numbers[part] for part in order)
        assert clean_date(compact, order) == expected
        written = [numbers[part] if padded or part == "y" else str(int(numbers[part])) for part in order]
        assert clean_date(separator.join(written), order) == expected


@given(st.text(alphabet="0123456789-/. :TZjanfeb", max_size=24), st.sampled_from(["ymd", "dmy", "mdy"]))
def test_what_is_read_is_a_date(text: str, order: str) -> None:
    cleaned = clean_date(text, order)  # type: ignore[arg-type]
    if cleaned is not None:
        year, month, day = int(cleaned[:4]), int(cleaned[4:6]), int(cleaned[6:])
        assert len(cleaned) == 8
        datetime.date(year or 2000, month or 1, day or 1)


# The quick way of reading dates agrees with the definition, or leaves the value to it.

ORDERS: tuple[DateOrder, ...] = ("ymd", "dmy", "mdy")
PARTS: tuple[DatePart, ...] = ("year", "month", "day")
NUMBERS = st.integers(0, 3100)
WRITTEN = st.builds(
    lambda a, b, c, mark, form: mark.join(str(n).zfill(width) for n, width in zip((a, b, c), form, strict=True)),
    *(NUMBERS | st.integers(0, 32),) * 3,
    st.sampled_from(["-", "/", ".", "", " "]),
    st.sampled_from([(4, 2, 2), (2, 2, 4), (2, 4, 2), (1, 1, 4)]),
)
VALUES = st.lists(WRITTEN | st.text(max_size=12) | st.dates().map(str) | st.none(), min_size=1, max_size=20)


@given(VALUES, st.sampled_from(ORDERS), st.sets(st.sampled_from(PARTS), min_size=1))
def test_agrees_with_the_definition_or_leaves_it_to_it(
    values: list[str | None], order: DateOrder, parts: set[DatePart]
) -> None:
    chosen = tuple(part for part in PARTS if part in parts)
    for value, found in zip(values, plain_dates(pl.Series("v", values, dtype=pl.String), order, chosen), strict=True):
        if found is not None:
            assert value is not None
            assert found == clean_date(value, order, chosen)


@pytest.mark.parametrize(
    ("order", "value"),
    [("ymd", "1965-03-12"), ("ymd", "19650312"), ("dmy", "12/03/1965"), ("dmy", "12.03.1965"), ("mdy", "03/12/1965")],
)
def test_reads_what_is_common(order: DateOrder, value: str) -> None:
    assert plain_dates(pl.Series("v", [value]), order, PARTS).to_list() == ["19650312"]
    assert plain_dates(pl.Series("v", [value]), order, ("year",)).to_list() == ["19650000"]


@pytest.mark.parametrize("value", ["19650230", "00000000", "0965-03-12", "3001-01-01", "1965", "12 Mar 1965", ""])
def test_leaves_the_rest(value: str) -> None:
    assert plain_dates(pl.Series("v", [value]), "ymd", PARTS).to_list() == [None]


# Numbers in one spelling.


NUMERALS = {
    "007": "7", "+5": "5", "-0.00": "0", "12.50": "12.5", "12.": "12", ".5": "0.5", "1,234,567.80": "1234567.8",
    "1 234": "1234", "1'234": "1234", "1.5e3": "1500", "15e-3": "0.015", "-1E2": "-100",
    **dict.fromkeys(["", ".", "-", "1,5", "1,23", "12a", "1.2.3", "0x10", "1e999", "١٢", "1,,234", "e5"]),
}  # fmt: skip
"""What is read of each, None for no number."""


@pytest.mark.parametrize(("text", "number"), NUMERALS.items())
def test_numerals(text: str, number: str | None) -> None:
    assert clean_number(text) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4))
def test_the_value_stays(value: Decimal) -> None:
    for text in (f"{value:f}", f"{value:,f}", f"{value:e}"):
        cleaned = clean_number(text)
        assert cleaned is not None
        assert Decimal(cleaned) == Decimal(text.replace(",", ""))
