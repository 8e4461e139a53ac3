"""Values that stand for none are proposed as missing; those of people are not, however common."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from benchmarks.worlds.files import files
from benchmarks.worlds.world import World, drawn
from gemel.common.parties import Side
from gemel.common.specification import FieldSpec
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean

N, COMMON = 2_000, 500


@pytest.fixture(scope="module")
def people() -> tuple[pl.DataFrame, pl.DataFrame]:
    alice, bob = (file.drop(TRUTH) for file in two_files(N, N, COMMON, 0.1, np.random.default_rng(3)))
    return alice, bob


def often(file: pl.DataFrame, column: str, value: str, share: float = 0.1) -> pl.DataFrame:
    here = np.random.default_rng(1).random(file.height) < share
    return file.with_columns(pl.when(pl.Series(here)).then(pl.lit(value)).otherwise(column).alias(column))


@pytest.mark.parametrize(
    ("column", "value", "missing"),
    [
        ("date_of_birth", "1900-01-01", "1900-01-01"),
        ("date_of_birth", "1970-12-31", "1970-12-31"),
        ("given_name", "BABY", "baby"),
        ("surname", "Unbekannt", "unbekannt"),
        ("street", "No fixed abode", "no fixed abode"),
        ("phone", "1111111111", "1111111111"),
        ("postcode", "12345", "12345"),
    ],
)
def test_placeholders_are_proposed_as_missing(
    people: tuple[pl.DataFrame, pl.DataFrame], column: str, value: str, missing: str
) -> None:
    alice, bob = often(people[0], column, value), people[1]
    spec, comments, _ = draft(alice, bob, "placeholders")
    assert spec.field(column).missing == (missing,)
    assert [field.name for field in spec.fields if field.missing] == [column]
    comment = " ".join(comments.values())
    assert "of alice's rows are taken as missing: CHECK." in comment
    assert "of bob's rows are" not in comment
    assert clean(alice, spec, Side.ALICE).columns[column].null_count() > 0.08 * N


def test_a_year_of_birth_for_no_year(people: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    born = pl.col("date_of_birth").str.slice(0, 4).alias("birth_year")
    alice, bob = (file.with_columns(born).drop("date_of_birth") for file in people)
    spec, *_ = draft(often(alice, "birth_year", "1900", 0.03), bob, "placeholders")
    assert spec.field("birth_year").missing == ("1900",)
    assert draft(alice, bob, "placeholders")[0].field("birth_year").missing == ()


def test_of_a_frequent_value_without_the_form_the_draft_says_only_that_it_is(
    people: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    spec, comments, _ = draft(often(people[0], "date_of_birth", "1961-07-23"), people[1], "placeholders")
    comment = " ".join(comments.values())
    assert "One value is in " in comment
    assert "1961" not in comment
    assert spec.field("date_of_birth").missing == ()


def test_common_names_and_towns_and_what_all_have_are_none(people: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    alice, bob = people
    for column, value in (("given_name", "Maria"), ("surname", "Smith"), ("town", "Springfield"), ("sex", "F")):
        alice, bob = (often(file, column, value, 0.3) for file in (alice, bob))
    # All who came were given the first of January of their year.
    alice, bob = (
        file.with_columns(date_of_birth=pl.col("date_of_birth").str.slice(0, 4) + "-01-01") for file in (alice, bob)
    )
    spec, comments, _ = draft(alice, bob, "placeholders")
    assert _proposed(spec.fields) == {}
    assert "One value is in" not in " ".join(comments.values())


@pytest.mark.parametrize("seed", [22, 25, 28, 58])
def test_of_drawn_files_without_placeholders_none_is_proposed(seed: int) -> None:
    spec = _drafted(drawn(seed))
    assert _proposed(spec) == {}


@pytest.mark.long
def test_of_many_drawn_files_without_placeholders_none_is_proposed() -> None:
    worlds = [world for world in map(drawn, range(1, 150)) if not world.placeholders and world.records < 10_000]
    assert len(worlds) > 40
    assert {world.seed: found for world in worlds if (found := _proposed(_drafted(world)))} == {}


def _drafted(world: World) -> tuple[FieldSpec, ...]:
    alice, bob = (file.drop(TRUTH) for file in files(world))
    return draft(alice, bob, "drawn", False)[0].fields


def _proposed(fields: tuple[FieldSpec, ...]) -> dict[str, tuple[str, ...]]:
    return {field.name: field.missing for field in fields if field.missing}
