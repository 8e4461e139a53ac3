"""Numbers in one spelling."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.custodian.cleaning.definition import clean_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("007", "7"),
        ("+5", "5"),
        ("-0.00", "0"),
        ("12.50", "12.5"),
        ("12.", "12"),
        (".5", "0.5"),
        ("1,234,567.80", "1234567.8"),
        ("1 234", "1234"),
        ("1'234", "1234"),
        ("1.5e3", "1500"),
        ("15e-3", "0.015"),
        ("-1E2", "-100"),
    ],
)
def test_read(text: str, number: str) -> None:
    assert clean_number(text) == number


@pytest.mark.parametrize("text", ["", ".", "-", "1,5", "1,23", "12a", "1.2.3", "0x10", "1e999", "١٢", "1,,234", "e5"])
def test_refused(text: str) -> None:
    assert clean_number(text) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4))
def test_the_value_stays(value: Decimal) -> None:
    for text in (f"{value:f}", f"{value:,f}", f"{value:e}"):
        cleaned = clean_number(text)
        assert cleaned is not None
        assert Decimal(cleaned) == Decimal(text.replace(",", ""))
