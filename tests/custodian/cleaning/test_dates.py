"""Dates in every usual spelling, read in one stated order."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.custodian.cleaning.definition import clean_date

DAY = datetime.date(1965, 3, 7)


@pytest.mark.parametrize(
    ("text", "order", "cleaned"),
    [
        ("19650307", "ymd", "19650307"),
        ("07031965", "dmy", "19650307"),
        ("03071965", "mdy", "19650307"),
        ("7031965", "dmy", "19650307"),
        ("3071965", "mdy", "19650307"),
        ("1965-03-07", "ymd", "19650307"),
        ("1965-03-07", "dmy", "19650307"),
        ("1965-03-07T23:59:01.5Z", "mdy", "19650307"),
        ("1965-03-07 00:00:00+02:00", "ymd", "19650307"),
        ("196503070830", "ymd", "19650307"),
        ("7/3/1965", "dmy", "19650307"),
        ("3/7/1965", "mdy", "19650307"),
        ("07.03.1965 12:00", "dmy", "19650307"),
        ("7 3 1965", "dmy", "19650307"),
        ("7 Mar 1965", "mdy", "19650307"),
        ("07-MARCH-1965", "ymd", "19650307"),
        ("07mar1965", "dmy", "19650307"),
        ("29.2.1964", "dmy", "19640229"),
        ("1965", "dmy", "19650000"),
        ("1965-03", "dmy", "19650300"),
        ("03/1965", "mdy", "19650300"),
        ("19650300", "ymd", "19650300"),
        ("1965-00-00", "ymd", "19650000"),
        ("00.03.1965", "dmy", "19650300"),
        ("29/2/0000", "dmy", "00000229"),
    ],
)
def test_read(text: str, order: str, cleaned: str) -> None:
    assert clean_date(text, order) == cleaned  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("29.2.1965", "dmy"),
        ("31.4.1965", "dmy"),
        ("13/7/1965", "mdy"),
        ("7/3/1965", "ymd"),
        ("7/3/65", "dmy"),
        ("65-03-07", "ymd"),
        ("650307", "ymd"),
        ("196503", "ymd"),
        ("19651332", "ymd"),
        ("0812-01-01", "ymd"),
        ("9999-01-01", "ymd"),
        ("7-3/1965", "dmy"),
        ("7 mai 1965", "dmy"),
        ("00000000", "ymd"),
        ("1965-03-07x", "ymd"),
        ("١٩٦٥٠٣٠٧", "ymd"),
        ("", "ymd"),
        ("0", "dmy"),
    ],
)
def test_refused(text: str, order: str) -> None:
    assert clean_date(text, order) is None  # type: ignore[arg-type]


def test_parts_not_compared_are_as_if_unknown() -> None:
    assert clean_date("1965-03-07", "ymd", ("year", "month")) == "19650300"
    assert clean_date("1965-03-07", "ymd", ("day",)) == "00000007"
    assert clean_date("1965", "ymd", ("month", "day")) is None


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
