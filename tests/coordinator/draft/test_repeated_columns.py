"""Columns that can be computed of others are left out of a draft, and no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft

N, COMMON = 1_000, 300
BORN = pl.col("date_of_birth")
YEAR = BORN.str.extract(r"(\d{4})").cast(pl.Int64)


@pytest.fixture(scope="module")
def files() -> tuple[pl.DataFrame, pl.DataFrame]:
    alice, bob = (file.drop(TRUTH) for file in two_files(N, N, COMMON, 0.2, np.random.default_rng(8)))
    return alice, bob


def drafted(
    files: tuple[pl.DataFrame, pl.DataFrame], change: Callable[[pl.DataFrame], pl.DataFrame]
) -> tuple[set[str], list[str]]:
    """The names of the fields, and what is left out."""
    spec, comments, _ = draft(*(change(file) for file in files), "repeated")
    return {field.name for field in spec.fields}, comments["fields"].splitlines()


def spoilt(column: pl.Expr, name: str) -> pl.Expr:
    """Some values are missing and some are of other people."""
    row = pl.int_range(pl.len())
    return pl.when(row % 20 == 7).then(None).when(row % 40 == 5).then(column.reverse()).otherwise(column).alias(name)


@pytest.mark.parametrize(
    ("name", "column", "of"),
    [
        ("full_name", pl.concat_str("given_name", "surname", separator=" "), "given_name and surname together say the"),
        ("called", pl.concat_str("surname", pl.lit(", "), pl.col("given_name").str.to_uppercase()), "together say"),
        ("age", 2024 - YEAR - (BORN.str.slice(5) > "06-30"), "can be computed of date_of_birth"),
        ("year_born", YEAR, "can be computed of date_of_birth"),
        ("gender", pl.col("sex").replace({"F": "female", "M": "male"}), "sex says the same"),
        ("col7", pl.col("surname").str.to_uppercase(), "surname says the same"),
        ("area", pl.col("postcode").str.slice(0, 2), "the beginning of postcode"),
        ("initial", pl.col("given_name").str.slice(0, 1), "the beginning of given_name"),
    ],
)
def test_what_can_be_computed_of_others_is_left_out(
    files: tuple[pl.DataFrame, pl.DataFrame], name: str, column: pl.Expr, of: str
) -> None:
    fields, left_out = drafted(files, lambda file: file.with_columns(spoilt(column, name)))
    assert name not in fields
    (reason,) = (line for line in left_out if line.startswith(f"Left out: {name}: "))
    assert of in reason
    assert fields == drafted(files, lambda file: file)[0]


def test_what_is_written_down_by_itself_stays(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    """Towns follow from postcodes, most people have their mother's surname and live where they were born."""
    row = pl.int_range(pl.len())

    def change(file: pl.DataFrame) -> pl.DataFrame:
        return file.with_columns(
            mother_surname=pl.when(row % 16 > 0).then("surname").otherwise(pl.col("surname").shift(1)),
            birthplace=pl.when(row % 16 > 0).then("town").otherwise(pl.col("town").shift(1)),
            flag=pl.when(row % 50 > 0).then(pl.lit("1")).otherwise(pl.lit("2")),
            other_flag=pl.when(row % 47 > 0).then(pl.lit("1")).otherwise(pl.lit("2")),
        )

    fields, left_out = drafted(files, change)
    assert not [line for line in left_out if "count twice" in line]
    assert {"postcode", "town", "phone", "sex", "given_name", "mother_surname", "birthplace", "flag"} <= fields


def test_a_copy_that_many_rows_alone_have_stays(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    row = pl.int_range(pl.len())
    age = (2024 - YEAR).alias("age")
    without = pl.when(row % 2 == 0).then(BORN)
    assert "age" in drafted(files, lambda file: file.with_columns(age, without))[0]
