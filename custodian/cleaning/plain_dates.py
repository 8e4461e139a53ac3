"""The common way of writing a date, read column by column: ten times as fast as one by one.

Whole dates with four-digit years, in the field's order with or without separators, or ISO. All other values (partial,
with a time, with a month's name, or not dates) are left to the definition in `dates`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gemel.common.specification.model.defaults import DateOrder, DatePart
from gemel.custodian.cleaning.dates import MAX_YEAR, MIN_YEAR

_ISO = ("%Y-%m-%d", r"^\d{4}-\d{2}-\d{2}$")
_FORMATS: dict[DateOrder, tuple[tuple[str, str], ...]] = {
    "ymd": (_ISO, ("%Y%m%d", r"^\d{8}$"), ("%Y/%m/%d", r"^\d{4}/\d{2}/\d{2}$")),
    "dmy": (_ISO, ("%d%m%Y", r"^\d{8}$"), ("%d/%m/%Y", r"^\d{2}/\d{2}/\d{4}$"), ("%d.%m.%Y", r"^\d{2}\.\d{2}\.\d{4}$")),
    "mdy": (_ISO, ("%m%d%Y", r"^\d{8}$"), ("%m/%d/%Y", r"^\d{2}/\d{2}/\d{4}$")),
}
_SHAPES: tuple[tuple[DatePart, str], ...] = (("year", "%Y"), ("month", "%m"), ("day", "%d"))


def plain_dates(values: pl.Series, order: DateOrder, parts: Sequence[DatePart]) -> pl.Series:
    """Dates as `dates.clean_date` writes them, ``YYYYMMDD``; null where a value is not plainly such a date."""
    column = pl.col(values.name)
    dates = [
        pl.when(column.str.contains(shape)).then(column).str.to_date(form, strict=False)
        for form, shape in _FORMATS[order]
    ]
    date = pl.coalesce(dates)
    believable = date.dt.year().is_between(MIN_YEAR, MAX_YEAR)
    written = "".join(code if part in parts else ("0000" if part == "year" else "00") for part, code in _SHAPES)
    return values.to_frame().select(pl.when(believable).then(date).dt.strftime(written)).to_series()
