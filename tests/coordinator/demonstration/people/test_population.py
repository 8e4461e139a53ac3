"""Invented people: shape, determinism, and the facts that the docstrings promise."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.coordinator.demonstration.people import COLUMNS, generate
from gemel.coordinator.demonstration.people.names import country


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return generate(30_000, np.random.default_rng(5))


def test_same_seed_same_people() -> None:
    first, again, other = (generate(500, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("sampled", [1.0, 0.05])
def test_small_populations(n: int, sampled: float) -> None:
    frame = generate(n, np.random.default_rng(3), sampled=sampled)
    assert frame.shape == (n, len(COLUMNS))
    assert tuple(frame.columns) == COLUMNS
    assert set(frame.dtypes) == {pl.String}


def test_nothing_is_missing_but_telephones(people: pl.DataFrame) -> None:
    missing = people.null_count().row(0, named=True)
    assert 0.06 < missing.pop("phone") / people.height < 0.10
    assert set(missing.values()) == {0}
    assert people["person_id"].n_unique() == people.height


def test_dates_are_real_and_plausible(people: pl.DataFrame) -> None:
    born = people["date_of_birth"].str.to_date("%Y-%m-%d", strict=True)
    assert born.min() > date(1918, 1, 1)
    assert born.max() <= date(2024, 6, 30)
    under_20 = (born > date(2004, 6, 30)).mean()
    assert 0.15 < under_20 < 0.30


def test_a_postcode_lies_in_one_town_and_a_large_town_has_many(people: pl.DataFrame) -> None:
    towns = people.group_by("postcode").agg(pl.col("town").n_unique())
    assert towns["town"].max() == 1
    land = country()
    assert len(set(land.towns)) == len(land.towns) == 1_200
    assert land.postcodes[0] > 40
    assert land.postcodes.min() == 1
    assert np.all(np.diff(land.first_postcode) == land.postcodes[:-1])


def test_families_share_surname_and_address(people: pl.DataFrame) -> None:
    address = ["house_number", "street", "postcode"]
    homes = people.group_by(address).agg(pl.len(), pl.col("surname").n_unique().alias("surnames"))
    shared = homes.filter(pl.col("len") > 1)
    assert 0.5 < shared["len"].sum() / people.height < 0.9
    assert 0.8 < (shared["surnames"] == 1).mean() < 0.95
    few = generate(5_000, np.random.default_rng(6), sampled=0.02).group_by(address).len()
    assert few.filter(pl.col("len") > 1)["len"].sum() < 0.1 * 5_000


@pytest.mark.parametrize("sampled", [0.0, 1.5])
def test_no_sample_without_a_population(sampled: float) -> None:
    with pytest.raises(GemelError, match="sampled"):
        generate(5, np.random.default_rng(6), sampled=sampled)


def test_surnames_are_as_skewed_as_names_are(people: pl.DataFrame) -> None:
    counts = people["surname"].value_counts(sort=True)
    assert counts["surname"][0] == "Smith"
    assert 0.009 < counts["count"][0] / people.height < 0.016
    assert counts.height > 6_000
    assert 0.01 < people["surname"].str.contains("-").mean() < 0.03
