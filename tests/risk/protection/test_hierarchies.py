"""Hierarchies: what a level means, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.risk.protection.hierarchies import (
    ALL,
    default_hierarchy,
    hierarchy_of_groups,
    hierarchy_of_rows,
    number_hierarchy,
    quantile_hierarchy,
)

ROWS = [["leeds", "north", "uk"], ["york", "north", "uk"], ["kent", "south", "uk"], ["lyon", "lyon", "fr"]]


def test_rows_become_levels_and_the_last_is_one_group() -> None:
    h = hierarchy_of_rows("town", ROWS, ["kent", "leeds", "lyon"], "town.csv")
    assert h.levels == (
        ("kent", "leeds", "lyon"),
        ("uk", "uk", "fr"),  # level 1 tells the three apart as the values do: it is left out
        (ALL, ALL, ALL),
    )
    whole = hierarchy_of_rows("town", ROWS, ["kent", "leeds", "lyon", "york"], "town.csv")
    assert whole.height == 3
    assert [own.tolist() for own in whole.groups] == [[0, 1, 2, 3], [0, 1, 2, 1], [0, 0, 1, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["a", "b"], ["b", "a"]], "cycle"),
        ([["a", "b", "c"], ["c", "b", "b"]], "cycle|two groups"),
        ([["a", "g", "x"], ["b", "g", "y"]], "two groups"),
        ([["a", "g"], ["a", "h"]], "two rows"),
        ([["a", "g"], ["b"]], "as many levels"),
        ([["a", "g"], ["b", ""]], "no name"),
        ([["a", "g"]], "in no row"),
        ([["a"]], "rows of a value"),
        ([], "rows of a value"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused(rows: list[list[str]], words: str) -> None:
    with pytest.raises(GemelError, match=words) as refused:
        hierarchy_of_rows("key", rows, ["a", "secretvalue"], "key.csv")
    assert "key.csv" in str(refused.value)
    assert "secretvalue" not in str(refused.value)


def test_ends_and_intervals_of_numbers() -> None:
    h = number_hierarchy("age", ["15", "17", "18", "22", "24", "29", "80", "93"], (5, 10), bottom=17, top=80)
    assert h.levels[1] == ("17 or less", "17 or less", "18", "22", "24", "29", "80 or more", "80 or more")
    assert h.levels[2][2:6] == ("18 to 19", "20 to 24", "20 to 24", "25 to 29")
    assert h.levels[3][2:6] == ("18 to 19", "20 to 29", "20 to 29", "20 to 29")
    numbers = h.numbers(2)
    assert numbers is not None
    assert numbers.tolist() == [16.0, 18.0, 23.0, 29.0, 86.5]


def test_negative_numbers_lie_in_intervals_too() -> None:
    assert number_hierarchy("x", ["-7", "-5", "-1", "0", "4"], (5,)).levels[1] == (
        "-10 to -6",
        "-5 to -1",
        "-5 to -1",
        "0 to 4",
        "0 to 4",
    )


@pytest.mark.parametrize("widths", [(5, 12), (1, 5), (10, 5), (5, 5)])
def test_widths_must_be_nested(widths: tuple[int, ...]) -> None:
    with pytest.raises(GemelError, match="multiple"):
        number_hierarchy("age", ["1", "2"], widths)


def test_quantiles_hold_as_many_records_each() -> None:
    values = [str(v) for v in range(100)]
    counts = np.ones(100, dtype=np.int64)
    h = quantile_hierarchy("age", values, counts, (4, 2))
    assert sorted(np.bincount(h.groups[1]).tolist()) == [25, 25, 25, 25]
    assert h.labels[2] == ("0 to 49", "50 to 99")
    with pytest.raises(GemelError, match="divide"):
        quantile_hierarchy("age", values, counts, (4, 3))


def test_groups_that_were_found_are_one_level() -> None:
    assert hierarchy_of_groups("x", ["a", "b", "c"], [0, 1, 0]).levels[1] == ("a | c", "b", "a | c")


def test_keys_without_a_hierarchy() -> None:
    ages = [str(v) for v in range(60)]
    assert default_hierarchy("age", ages, np.ones(60, dtype=np.int64)).height == 4
    few = default_hierarchy("sex", ["f", "m"], np.array([1, 999]))
    assert few.levels == (("f", "m"), (ALL, ALL))
    rare = default_hierarchy("land", ["a", "b", "c", "d"], np.array([990, 4, 3, 3]))
    assert rare.levels[1] == ("a", "other", "other", "other")
