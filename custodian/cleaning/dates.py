"""Dates as people and programs write them, read in one stated order.

Read: numbers between separators (``3/11/1965``, ``03-11-1965``, ``3.11.1965``), eight digits without (seven where a
leading zero was lost), ISO followed by a time, and a day with an English month's name (``12 Mar 1965``). A year of four
digits in front with separators is ISO in any order, since the order year, day, month is not in use. Partial: a year
alone, year and month, and ``00`` for a part that is not known.

Refused, that is counted as unreadable and made missing: a year of two digits (a pivot would put one person's birth a
century off), six digits (two orders of two-digit years and a year with a month look alike), a day that its month
does not have, and years outside 1000 to 2999.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence

from gemel.common.specification.model.defaults import DateOrder, DatePart

MIN_YEAR = 1000
MAX_YEAR = 2999
_LEAP_YEAR = 2000

_TIME = r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|[+-]\d{2}:?(?:\d{2})?)?)?"
_SEPARATED = re.compile(rf"(\d{{1,4}})([-/. ])(\d{{1,2}})\2(\d{{1,4}}){_TIME}", re.ASCII | re.IGNORECASE)
_TWO_PARTS = re.compile(r"(\d{1,4})[-/. ](\d{1,4})", re.ASCII)
_NAMED_MONTH = re.compile(rf"(\d{{1,2}})[-/. ]*([a-z]{{3,9}})[-/., ]*(\d{{4}}){_TIME}", re.ASCII | re.IGNORECASE)
_COMPACT = re.compile(rf"(\d{{7,8}}){_TIME}", re.ASCII | re.IGNORECASE)
_STAMP = re.compile(r"(\d{8})(?:\d{4}|\d{6})", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip

Day = tuple[int, int, int]
"""Year, month, day; 0 for one that is not known."""


def clean_date(text: str, order: DateOrder, parts: Sequence[DatePart] = ("year", "month", "day")) -> str | None:
    """A date as ``YYYYMMDD``, zeros for parts that are not known or not among `parts`; None if it is not a date.

    ``00000000``, a date of which nothing is known or compared, is a missing value: None as well.
    """
    date = parse_date(text, order)
    if date is None:
        return None
    year, month, day = (
        number if part in parts else 0 for number, part in zip(date, ("year", "month", "day"), strict=True)
    )
    return f"{year:04d}{month:02d}{day:02d}" if year or month or day else None


def parse_date(text: str, order: DateOrder) -> Day | None:
    """Year, month and day of a date, 0 where not known; None if it cannot be read as a date of this order."""
    text = text.strip()
    if match := _SEPARATED.fullmatch(text):
        first, second, third = match[1], match[3], match[4]
        if len(first) == 4 and len(third) <= 2:
            return _valid(first, second, third)
        return _ordered((first, second, third), order) if order != "ymd" else None
    if (match := _COMPACT.fullmatch(text)) or (match := _STAMP.fullmatch(text) if order == "ymd" else None):
        return _compact(match[1], order)
    if match := _NAMED_MONTH.fullmatch(text):
        word = match[2].lower()
        named = [number for number, month in enumerate(_MONTHS, start=1) if month.startswith(word)]
        return _valid(match[3], str(named[0]), match[1]) if named else None
    if _YEAR.fullmatch(text):
        return _valid(text, "0", "0")
    if match := _TWO_PARTS.fullmatch(text):
        first, second = match[1], match[2]
        if len(first) == 4 and len(second) <= 2:
            return _valid(first, second, "0")
        if len(second) == 4 and len(first) <= 2 and order != "ymd":
            return _valid(second, first, "0")
    return None


def _compact(digits: str, order: DateOrder) -> Day | None:
    if order == "ymd":
        return _valid(digits[:4], digits[4:6], digits[6:]) if len(digits) == 8 else None
    digits = digits.zfill(8)
    return _ordered((digits[:2], digits[2:4], digits[4:]), order)


def _ordered(parts: tuple[str, str, str], order: DateOrder) -> Day | None:
    first, second, year = parts
    if len(year) != 4 or len(first) > 2:
        return None
    return _valid(year, second, first) if order == "dmy" else _valid(year, first, second)


def _valid(year: str, month: str, day: str) -> Day | None:
    y, m, d = int(year), int(month), int(day)
    if m > 12 or not (y == 0 or MIN_YEAR <= y <= MAX_YEAR):
        return None
    longest = monthrange(y or _LEAP_YEAR, m)[1] if m else 31
    return (y, m, d) if d <= longest else None
