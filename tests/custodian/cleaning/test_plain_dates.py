"""The quick way of reading dates agrees with the definition, or leaves the value to it."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.specification.model.defaults import DateOrder, DatePart
from gemel.custodian.cleaning.columns import plain_dates
from gemel.custodian.cleaning.definition import clean_date

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
