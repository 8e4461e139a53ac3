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
from gemel.risk.protection.numbers import add_noise, microaggregate, round_to
from gemel.risk.protection.perturbed_keys import (
    grouped_matrix,
    invariant_matrix,
    neighbour_matrix,
    pram,
    pram_matrix,
    swap,
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


# PRAM, swapping, microaggregation, noise, rounding: laws by enumeration or over many draws, MDAV against its text.

COUNTS = np.array([50, 30, 0, 20])


def test_matrices_of_pram_keep_the_expected_counts() -> None:
    theta = pram_matrix(COUNTS, 0.3)
    np.testing.assert_allclose(theta.sum(axis=0), 1.0)
    np.testing.assert_allclose(theta @ COUNTS, COUNTS)
    rng = np.random.default_rng(3)
    any_matrix = rng.dirichlet(np.ones(4), 4).T
    own = invariant_matrix(any_matrix, COUNTS)
    np.testing.assert_allclose(own.sum(axis=0), 1.0)
    np.testing.assert_allclose(own @ COUNTS, COUNTS, atol=1e-12)
    assert not np.allclose(any_matrix @ COUNTS, COUNTS)
    near = neighbour_matrix(4, 0.2)
    np.testing.assert_allclose(near, [[0.8, 0.1, 0, 0], [0.2, 0.8, 0.1, 0], [0, 0.1, 0.8, 0.2], [0, 0, 0.1, 0.8]])
    np.testing.assert_allclose(invariant_matrix(near, COUNTS) @ COUNTS, COUNTS, atol=1e-12)


def test_values_are_redrawn_by_their_columns() -> None:
    theta = np.array([[0.7, 0.1, 0.0], [0.3, 0.6, 0.0], [0.0, 0.3, 1.0]])
    values = np.repeat(np.array([0, 1, 2, -1], dtype=np.int32), 20_000)
    drawn = pram(values, theta, np.random.default_rng(5))
    for true in range(3):
        shares = np.bincount(drawn[values == true], minlength=3) / 20_000
        assert np.abs(shares - theta[:, true]).max() < 5 * np.sqrt(0.25 / 20_000)
    assert (drawn[values < 0] == -1).all()


def test_swapping_keeps_the_counts_of_every_stratum() -> None:
    rng = np.random.default_rng(7)
    values = rng.integers(-1, 5, 2_000).astype(np.int32)
    strata = rng.integers(0, 7, 2_000)
    swapped = swap(values, 0.4, rng, strata)
    for stratum in range(7):
        own = strata == stratum
        np.testing.assert_array_equal(np.bincount(values[own] + 1), np.bincount(swapped[own] + 1))
    changed = (swapped != values).mean()
    assert 0.2 < changed < 0.4
    assert ((values < 0) == (swapped < 0)).all()
    np.testing.assert_array_equal(swap(values, 0.0, rng), values)


def test_a_matrix_between_groups_is_the_law_of_the_groups() -> None:
    theta = pram_matrix(COUNTS, 0.5)
    groups = [0, 0, 1, 1]
    own = grouped_matrix(theta, groups, COUNTS)
    joint = theta * COUNTS / COUNTS.sum()  # observed and true value
    both = np.array([[joint[np.ix_([0, 1], [0, 1])].sum(), joint[np.ix_([0, 1], [2, 3])].sum()]])
    assert own[0, 0] == pytest.approx(both[0, 0] / 0.8)
    assert own[0, 1] == pytest.approx(both[0, 1] / 0.2)
    np.testing.assert_allclose(own.sum(axis=0), 1.0)


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_rates_are_shares(rate: float) -> None:
    with pytest.raises(GemelError, match="from 0 to 1"):
        pram_matrix(COUNTS, rate)
    with pytest.raises(GemelError, match="from 0 to 1"):
        swap(np.zeros(3, dtype=np.int32), rate, np.random.default_rng(1))


def mdav(points: np.ndarray, k: int) -> list[frozenset[int]]:
    """The method as its authors write it."""
    left, found = list(range(len(points))), []

    def nearest(start: np.ndarray, number: int) -> list[int]:
        return sorted(left, key=lambda i: (((points[i] - start) ** 2).sum(), i))[:number]

    def farthest(start: np.ndarray) -> int:
        return max(left, key=lambda i: (((points[i] - start) ** 2).sum(), -i))

    while len(left) >= 2 * k:
        r = farthest(points[left].mean(axis=0))
        s = farthest(points[r])
        for start in (r, s) if len(left) >= 3 * k else (r,):
            group = nearest(points[start], k)
            found.append(frozenset(group))
            left = [i for i in left if i not in group]
    return [*found, frozenset(left)]


@pytest.mark.parametrize(("n", "k"), [(30, 3), (31, 3), (29, 5), (7, 3), (6, 3), (5, 3), (4, 4)])
def test_microaggregation_is_mdav(n: int, k: int) -> None:
    numbers = np.random.default_rng(n * k).normal(size=(n, 2)) * [1.0, 50.0]
    made, groups = microaggregate(numbers, k)
    np.testing.assert_array_equal(groups[:, 0], groups[:, 1])
    found = [frozenset(np.flatnonzero(groups[:, 0] == g).tolist()) for g in range(groups.max() + 1)]
    assert set(found) == set(mdav(numbers / numbers.std(axis=0), k))
    assert min(len(g) for g in found) >= k
    np.testing.assert_allclose(made.mean(axis=0), numbers.mean(axis=0))
    for g in found:
        np.testing.assert_allclose(made[list(g)], numbers[list(g)].mean(axis=0)[None, :].repeat(len(g), axis=0))


def test_numbers_that_are_missing_stay_as_they_are() -> None:
    numbers = np.array([[1.0], [np.nan], [2.0], [9.0], [11.0]])
    made, groups = microaggregate(numbers, 2)
    np.testing.assert_array_equal(made[:, 0], [1.5, np.nan, 1.5, 10.0, 10.0])
    assert groups[1] == -1
    with pytest.raises(GemelError, match="5 of 4 records"):
        microaggregate(numbers, 5)


def test_noise_keeps_means_and_covariances_over_draws() -> None:
    rng = np.random.default_rng(11)
    numbers = rng.multivariate_normal([10.0, -3.0], [[4.0, 1.5], [1.5, 1.0]], 40_000)
    made = add_noise(numbers, 0.5, rng)
    np.testing.assert_allclose(made.mean(axis=0), numbers.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(np.cov(made.T), np.cov(numbers.T), rtol=0.05)
    # What is left of a number: correlation 1 / sqrt(1 + share).
    assert np.corrcoef(made[:, 0], numbers[:, 0])[0, 1] == pytest.approx(1 / np.sqrt(1.5), abs=0.02)
    with pytest.raises(GemelError, match="above 0"):
        add_noise(numbers, 0.0, rng)


def test_rounding() -> None:
    numbers = np.array([-1.0, 2.4, 2.5, 7.0, np.nan])
    np.testing.assert_array_equal(round_to(numbers, 5.0), [0.0, 0.0, 5.0, 5.0, np.nan])
    with pytest.raises(GemelError, match="base"):
        round_to(numbers, 0.0)
