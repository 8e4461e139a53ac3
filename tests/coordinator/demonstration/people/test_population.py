"""Invented people: names with their frequencies, households, towns, and two files with the truth beside them."""

from __future__ import annotations

import lzma
import string
from datetime import date
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.coordinator.demonstration.people import COLUMNS, IDENTIFIER, TRUTH, generate, two_files
from gemel.coordinator.demonstration.people.names import country, decode, name_tables
from tests.coordinator.demonstration.people.make_names import compile_table, front_code


@given(st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=14), min_size=1, max_size=30, unique=True))
def test_decoding_undoes_front_coding(names: list[str]) -> None:
    table = decode(f"group,weight,names\nsurname,7,{front_code(sorted(names))}\n")["surname"]
    assert sorted(name.lower() for name in table.names) == sorted(names)
    assert set(table.weights.tolist()) == {7}


def test_the_shipped_table_is_what_the_sources_give(shared: Path) -> None:
    folder = shared / "data" / "names"
    made = compile_table(folder / "us-census-surnames-1990.txt", folder / "us-census-firstnames-1990.csv")
    shipped = files("gemel.coordinator.demonstration.people").joinpath("names.csv.xz").read_bytes()
    assert lzma.decompress(made) == lzma.decompress(shipped)


def test_table_size_and_known_shares() -> None:
    """Smith is 1.006 per cent of the people counted, Mary 2.629 and James 3.318 of their sex."""
    tables = name_tables()
    assert len(files("gemel.coordinator.demonstration.people").joinpath("names.csv.xz").read_bytes()) < 200_000
    assert [len(tables[group].names) for group in ("surname", "female", "male")] == [40_000, 4_275, 1_219]
    for group, name, weight in (("surname", "Smith", 100_600), ("female", "Mary", 262_900), ("male", "James", 331_800)):
        assert (tables[group].names[0], tables[group].weights[0]) == (name, weight)
        assert len(set(tables[group].names)) == len(tables[group].names)


def test_draws_follow_the_weights() -> None:
    """Counts of the 50 commonest among 200,000 draws lie within 5 standard deviations (chance 3e-5 of one not)."""
    table = name_tables()["surname"]
    n = 200_000
    drawn = table.draw(n, np.random.default_rng(20))
    share = table.weights[:50] / table.weights.sum()
    counts = np.array([(drawn == name).sum() for name in table.names[:50]])
    assert np.all(np.abs(counts - n * share) < 5 * np.sqrt(n * share))
    assert len(set(drawn)) > 20_000


@pytest.mark.parametrize("name", ["McDonald", "O"])
def test_capitals(name: str) -> None:
    assert decode(f"group,weight,names\nsurname,1,{front_code([name.lower()])}\n")["surname"].names.tolist() == [name]


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


def test_sizes_overlap_and_identifiers() -> None:
    alice, bob = two_files(900, 700, 400, 0.2, np.random.default_rng(4))
    assert alice.height == 900
    assert bob.height == 700
    assert alice.columns == bob.columns == [IDENTIFIER, *COLUMNS]
    assert len(set(alice[TRUTH]) & set(bob[TRUTH])) == 400
    assert alice[IDENTIFIER].n_unique() == 900
    assert bob[IDENTIFIER].n_unique() == 700
    assert not set(alice[IDENTIFIER]) & set(bob[IDENTIFIER])


def test_errors_on_the_side_asked_for() -> None:
    """With no errors in either file the people in common read the same; with .5 in Bob's, half of them do not."""
    for shares, expected in (((0.0, 0.0), 0), ((0.0, 0.5), 200)):
        alice, bob = two_files(500, 500, 400, shares, np.random.default_rng(4))
        both = alice.join(bob, on=TRUTH, suffix="_bob")
        changed = sum(
            any(row[name] != row[f"{name}_bob"] for name in COLUMNS if name != TRUTH) for row in both.to_dicts()
        )
        assert changed == pytest.approx(expected, abs=45)  # 5 standard deviations of a hypergeometric draw


def test_neither_order_nor_number_tells_who_is_who() -> None:
    """Rank correlation of places and of numbers between the files, over 2,000 people in common: none."""
    alice, bob = two_files(2_000, 2_000, 2_000, 0.0, np.random.default_rng(4))
    places = alice.with_row_index("place").join(bob.with_row_index("place"), on=TRUTH, suffix="_bob")
    numbers = places.select(
        "place",
        "place_bob",
        a=places[IDENTIFIER].str.slice(1).cast(int),
        b=places[f"{IDENTIFIER}_bob"].str.slice(1).cast(int),
    ).to_numpy()
    correlation = np.corrcoef(numbers, rowvar=False)
    assert np.all(np.abs(correlation[~np.eye(4, dtype=bool)]) < 0.11)


def test_determined_by_the_seed() -> None:
    first, again = (two_files(50, 60, 20, 0.3, np.random.default_rng(4)) for _ in range(2))
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("common", [-1, 51])
def test_more_in_common_than_there_are_is_refused(common: int) -> None:
    with pytest.raises(GemelError, match="n_common"):
        two_files(50, 60, common, 0.3, np.random.default_rng(4))
