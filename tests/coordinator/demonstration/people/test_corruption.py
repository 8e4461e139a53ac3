"""Errors put into records: how many, where, of which kinds, and nothing else."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.coordinator.demonstration.people import COLUMNS, corrupt, damage, generate
from gemel.coordinator.demonstration.people.corruption import ERRORS, KINDS, NEIGHBOURS, swap_day_and_month

fraction = st.floats(0, 1, exclude_max=True)
word = st.from_regex(r"[A-Z][a-z]{0,10}( [A-Z][a-z]{1,6})?", fullmatch=True)


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return generate(8_000, np.random.default_rng(5))


def differs(before: pl.DataFrame, after: pl.DataFrame) -> list[bool]:
    return [one != other for one, other in zip(before.rows(), after.rows(), strict=True)]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.333, 1.0])
def test_exactly_the_share_of_records_is_changed(people: pl.DataFrame, share: float) -> None:
    changed = differs(people, corrupt(people, np.random.default_rng(8), share))
    assert sum(changed) == round(share * people.height)


def test_what_is_changed_is_what_the_log_says(people: pl.DataFrame) -> None:
    after, log = damage(people, np.random.default_rng(8), 0.3)
    changed = np.flatnonzero(differs(people, after)).tolist()
    assert changed == sorted(set(log["row"].to_list()))
    assert set(log["kind"]) == set(KINDS)
    assert after["person_id"].equals(people["person_id"])
    assert after.schema == people.schema
    assert 1.4 < log.height / len(changed) < 1.6


def test_same_seed_same_errors(people: pl.DataFrame) -> None:
    first, again = (corrupt(people, np.random.default_rng(9)) for _ in range(2))
    assert first.equals(again)


def test_other_columns_and_rows_keep_their_place(people: pl.DataFrame) -> None:
    tagged = people.with_columns(pl.int_range(pl.len()).alias("place"))
    after = corrupt(tagged, np.random.default_rng(1), 0.5)
    assert after["place"].equals(tagged["place"])
    assert after.columns == [*COLUMNS, "place"]


@pytest.mark.parametrize("arguments", [{"share": 1.1}, {"share": -0.1}, {"errors_per_record": 0.5}])
def test_impossible_settings_are_refused(people: pl.DataFrame, arguments: dict[str, float]) -> None:
    with pytest.raises(GemelError) as caught:
        corrupt(people, np.random.default_rng(1), **arguments)
    assert caught.value.code == ErrorCode.PARAMETER


def test_movers_take_a_postcode_of_their_new_town(people: pl.DataFrame) -> None:
    after, log = damage(people, np.random.default_rng(2), 1.0, errors_per_record=1.0)
    moved = log.filter(pl.col("kind") == "moved")["row"].to_list()
    towns = dict(zip(people["postcode"], people["town"], strict=True))
    rows = after[moved]
    assert 0.3 < (rows["postcode"] != people[moved]["postcode"]).mean() < 0.7
    for postcode, town in zip(rows["postcode"], rows["town"], strict=True):
        assert towns.get(postcode, town) == town


@given(word, fraction, fraction)
def test_lengths_after_slips(value: str, at: float, choice: float) -> None:
    assert len(ERRORS["insert"](value, at, choice)) == len(value) + 1
    assert len(ERRORS["delete"](value, at, choice)) == max(1, len(value) - 1)
    changed = ERRORS["substitute"](value, at, choice)
    assert sum(a != b for a, b in zip(value, changed, strict=True)) == 1
    assert sorted(ERRORS["transpose"](value, at, choice).lower()) == sorted(value.lower())


@given(st.sampled_from(sorted(ERRORS)), st.text(min_size=1, max_size=12), fraction, fraction)
def test_no_error_breaks_on_any_text(kind: str, value: str, at: float, choice: float) -> None:
    assert isinstance(ERRORS[kind](value, at, choice), str)


@given(st.dates(date(1900, 1, 1), date(2024, 12, 31)))
def test_day_and_month_swap_where_both_are_dates(born: date) -> None:
    swapped = date.fromisoformat(swap_day_and_month(born.isoformat(), 0, 0))
    assert (swapped == born) == (born.day > 12 or born.day == born.month)
    assert swap_day_and_month(swapped.isoformat(), 0, 0) == born.isoformat()


def test_keyboard_neighbours_are_mutual() -> None:
    assert set(NEIGHBOURS["g"]) == set("fhtyvb")
    for key, near in NEIGHBOURS.items():
        assert near
        assert all(key in NEIGHBOURS[other] for other in near), key


def test_a_letter_that_is_two_in_lower_case_shifts_no_place() -> None:
    assert "İrn" in {ERRORS["misread"]("İm", at, 0.5) for at in np.linspace(0, 0.99, 9).tolist()}
