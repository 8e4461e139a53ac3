"""Worlds are drawn as stated, and the files of a world are what its dimensions say, each taken by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from benchmarks.worlds.files import ID, files
from benchmarks.worlds.naming import CUSTOMS
from benchmarks.worlds.world import SMALLEST, World, drawn, quiet
from gemel.coordinator.demonstration.people import TRUTH

WORLDS = [drawn(seed) for seed in range(1, 601)]
#: Labels that are rare by design: the ends of `common`, and files of one source.
RARE = {("common", "0"), ("source", "part"), ("source", "one")}


def in_both(world: World) -> pl.DataFrame:
    """The people in common, by their first record in either file; Bob's columns end in ``_then``."""
    alice, bob = (frame.unique(TRUTH, keep="first", maintain_order=True) for frame in files(world))
    return alice.join(bob, on=TRUTH, suffix="_then", how="inner")


def changed(both: pl.DataFrame, *names: str) -> float:
    """The share of people in common of whom one of the columns is not the same in both files."""
    different = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_then")) for name in names)
    return float(both.select(different.mean()).item())


def test_a_seed_gives_one_world_and_one_pair_of_files() -> None:
    small = next(world for world in WORLDS if world.records < 400)
    assert drawn(small.seed) == small
    for once, again in zip(files(small), files(drawn(small.seed)), strict=True):
        assert once.equals(again)


def test_every_label_of_every_dimension_is_drawn_often_enough() -> None:
    counts: dict[str, Counter[str]] = {}
    for world in WORLDS:
        for name, label in world.values.items():
            counts.setdefault(name, Counter())[label] += 1
    assert len(counts) >= 40
    for name, labels in counts.items():
        assert 2 <= len(labels) <= 6, name
        for label, times in labels.items():
            assert times >= 30 or (name, label) in RARE, (name, label, times)
    assert 2_000 <= np.median([world.records for world in WORLDS]) <= 3_000


def test_impossible_worlds_are_not_drawn() -> None:
    for world in WORLDS:
        alice, bob = world.sizes
        assert min(alice, bob) >= SMALLEST
        assert world.block is not False or (alice * bob <= 2.5e7 and world.mode == "open")
        assert 3 <= len(world.fields) == len(set(world.fields)) <= 12


@pytest.mark.parametrize("seed", [world.seed for world in WORLDS if world.records < 700][:8])
def test_sizes_and_people_in_common_are_as_drawn(seed: int) -> None:
    world = drawn(seed)
    alice, bob = files(world)
    assert (alice.height, bob.height) == world.sizes
    fewer = min(alice[TRUTH].n_unique(), bob[TRUTH].n_unique())
    assert len(set(alice[TRUTH]) & set(bob[TRUTH])) == max(world.common > 0, round(world.common * fewer))
    for frame in (alice, bob):
        assert frame.columns[:2] == [ID, TRUTH]
        assert set(world.fields) <= set(frame.columns)
        assert frame[ID].is_unique().all()
        assert set(frame.dtypes) == {pl.String}


def test_nothing_differs_where_nothing_happens() -> None:
    world = quiet()
    both = in_both(world)
    assert both.height == 1_500
    assert changed(both, *world.fields) == 0.0


def test_moves_and_marriages_change_what_they_change_and_no_more() -> None:
    both = in_both(quiet(moved_households=0.2, married=0.1))
    assert changed(both, "street", "house_number", "postcode") == pytest.approx(0.2, abs=0.04)
    women = both.filter(pl.col("sex") == "F", pl.col("date_of_birth") < "1998")
    assert changed(women, "surname") == pytest.approx(0.1, abs=0.03)
    assert changed(both, "given_name", "middle_name", "sex", "date_of_birth") == 0.0


@pytest.mark.parametrize("kind", ["typing", "hearing", "scanning", "dates", "all"])
@pytest.mark.parametrize("clustered", ["no", "persons"])
def test_errors_are_in_the_share_of_records_stated(kind: str, clustered: str) -> None:
    world = quiet(records=1_000, errors=0.3, error_kind=kind, clustered=clustered)
    found = changed(in_both(world), *world.fields)
    # Half as many in Alice's: the same people, or others.
    expected = 0.3 if clustered == "persons" else 1 - 0.7 * 0.85
    assert found == pytest.approx(expected, abs=0.06)


def test_missing_values_bare_records_and_blocks_are_as_many_as_stated() -> None:
    _, bob = files(quiet(missing=0.2))
    shares = sorted(
        bob[name].null_count() / bob.height for name in ("given_name", "surname", "sex", "street", "postcode")
    )
    assert shares[0] == pytest.approx(0.04, abs=0.02)
    assert shares[-1] == pytest.approx(0.2, abs=0.03)
    _, bob = files(quiet(bare=0.1))
    gone = pl.all_horizontal(pl.col("sex", "date_of_birth", "street", "postcode", "telephone").is_null())
    assert bob.select(gone.mean()).item() == pytest.approx(0.1, abs=0.03)
    alice, bob = files(quiet(lacking=0.5))
    more = [bob[name].null_count() - alice[name].null_count() for name in quiet().fields]
    assert max(more) > 0.3 * bob.height


def test_placeholders_are_in_one_field_or_in_two() -> None:
    for placed, fields in (("one field", 1), ("two fields", 2)):
        _, bob = files(quiet(placeholders=0.1, placed=placed))
        usual, _ = files(quiet())
        more = 0
        for name in quiet().fields:
            top = bob[name].value_counts(sort=True)
            often = set(top.filter(pl.col("count") > 0.08 * bob.height)[name]) - set(usual[name])
            more += len(often - {None})
        assert more == fields


@pytest.mark.parametrize(("copies", "low", "high"), [("few", 0.01, 0.03), ("many", 0.1, 0.3), ("crowd", 0.005, 0.2)])
@pytest.mark.parametrize("alike", ["equal", "changed"])
def test_copies_are_as_many_as_stated(copies: str, low: float, high: float, alike: str) -> None:
    world = quiet(records=1_000, copies=copies, copies_in="both", copies_alike=alike)
    for frame in files(world):
        again = frame.height - frame[TRUTH].n_unique()
        assert low <= again / frame.height <= 2 * high
        values = frame.select(TRUTH, *world.fields).unique().height - frame[TRUTH].n_unique()
        assert values == 0 if alike == "equal" else values > 0
        if copies == "crowd":
            assert frame[TRUTH].value_counts()["count"].max() >= 24


def test_twins_namesakes_and_homes_are_there() -> None:
    alice, bob = files(quiet(kin="households", twins=0.1, twins_apart=True, namesakes=0.1))
    everyone = pl.concat([alice, bob]).unique(TRUTH)
    same = everyone.group_by("surname", "date_of_birth").len().filter(pl.col("len") > 1)
    assert same["len"].sum() / everyone.height > 0.04
    men = everyone.filter(pl.col("sex") == "M")
    named = men.group_by("given_name", "surname", "street", "house_number").len().filter(pl.col("len") > 1)
    assert named.height / men.height > 0.01
    alice, _ = files(quiet(homes=0.1))
    addresses = alice.group_by("street", "house_number", "postcode").len().filter(pl.col("len") >= 10)
    assert addresses["len"].sum() / alice.height == pytest.approx(0.1, abs=0.03)


def test_a_part_is_in_the_whole_record_by_record() -> None:
    world = quiet(source="part", ratio=0.3, common=1.0, errors=0.3, missing=0.1)
    alice, bob = files(world)
    assert bob.join(alice, on=[TRUTH, *world.fields], how="semi", nulls_equal=True).height == bob.height


@pytest.mark.parametrize("custom", [*CUSTOMS, "mixture"])
def test_every_custom_names_everyone_and_is_spelt_in_two_ways(custom: str) -> None:
    both = in_both(quiet(records=400, custom=custom, spelling="all otherwise"))
    assert both["given_name"].null_count() == 0
    assert (both["surname"].null_count() > 0) == (custom == "indian")
    assert (changed(both, "given_name", "surname") > 0) == (custom != "english")
