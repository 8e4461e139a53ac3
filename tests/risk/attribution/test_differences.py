"""The difference of two releases: who it discloses, what a rounding lets anyone see of it, and unknown orders."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.risk.attribution.differences import Difference, Ranges, aligned, difference, in_order, sum_difference
from gemel.risk.attribution.laws import Conventional, Exact, Law, Random

Counts = NDArray[np.int64]
SEED = 20261123


def plain(counts: Counts) -> Ranges:
    return Ranges.of(counts, "none", None)


def compare(former: Counts, latter: Counts, *targets: int) -> Difference:
    return difference(plain(former), plain(latter), targets)


BEFORE = np.array([[40, 12, 3], [25, 0, 8]])


def test_one_person_who_comes_goes_or_changes_is_disclosed_in_either_order() -> None:
    changed = BEFORE.copy()
    changed[0, 1] -= 1
    changed[0, 2] += 1
    for pair in ((BEFORE, changed), (changed, BEFORE)):
        assert compare(*pair, 1) == Difference(people=2, small_cells=2, small=2, attributed=0, disclosed=2)
    come = BEFORE.copy()
    come[1, 1] += 1
    found = compare(BEFORE, come, 1)
    assert found == Difference(people=1, small_cells=1, small=1, attributed=1, disclosed=1)
    assert found.share == 1.0
    assert compare(BEFORE, BEFORE, 0, 1) == Difference(0, 0, 0, 0, 0)
    assert compare(BEFORE, BEFORE, 0, 1).share == 0.0


def test_many_who_come_are_disclosed_where_all_who_agree_are_in_one_category() -> None:
    come = BEFORE + np.array([[30, 0, 0], [9, 8, 7]])
    # The thirty of the first row are known to be in the first category; no one of the second row is.
    assert compare(BEFORE, come, 1) == Difference(people=54, small_cells=0, small=0, attributed=30, disclosed=30)
    assert compare(BEFORE, come) == Difference(people=54, small_cells=0, small=0, attributed=0, disclosed=0)
    # Fifteen more of one category and five fewer of the other: it is not known who has come.
    assert compare(BEFORE, BEFORE + np.array([[15, -5, 0], [0, 0, 0]]), 1).disclosed == 0


def box(law: Law, published: int) -> range:
    low, high = law.bounds(np.array([published]))
    return range(max(int(low[0]), 0), int(high[0]) + 1)


@pytest.mark.parametrize("protection", ["none", "conventional", "random"])
def test_a_difference_shows_if_no_true_counts_fit_both_releases_without_it(protection: str) -> None:
    """Against a definition: all published counts that the protection can draw, and all true ones that these allow."""
    base = None if protection == "none" else 5

    def drawn(true: int) -> tuple[Law, set[int]]:
        if protection == "none":
            return Exact(), {true}
        if protection == "conventional":
            return Conventional(5), {(true + 2) // 5 * 5}
        return Random(5), {true // 5 * 5, -(-true // 5) * 5}

    for former, latter in product(range(14), repeat=2):
        law, before = drawn(former)
        _, after = drawn(latter)
        shows = any(
            box(law, one).stop <= box(law, other).start or box(law, other).stop <= box(law, one).start
            for one, other in product(before, after)
        )
        made = [Ranges.of(np.array([true]), protection, base) for true in (former, latter)]
        assert difference(made[0], made[1], []).people == (abs(latter - former) if shows else 0), (former, latter)


def test_rounding_hides_most_changes_of_one_and_shows_those_across_a_boundary() -> None:
    hidden, shown = (
        difference(Ranges.of(np.array([n]), "conventional", 5), Ranges.of(np.array([n + 1]), "conventional", 5), [])
        for n in (11, 12)
    )
    assert (hidden.people, shown.small) == (0, 1)


def test_the_margin_over_common_variables_keeps_ranges() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    ranges = Ranges.of(table, "conventional", 5).over([2, 0])
    assert ranges.counts.tolist() == table.sum(axis=1).T.tolist()
    assert (ranges.low[0] <= ranges.counts).all()
    assert (ranges.high[1] >= ranges.counts).all()
    assert (ranges.low[1] - ranges.low[0]).max() == 3 * 4


def test_bad_tables_are_refused() -> None:
    with pytest.raises(GemelError, match="same levels"):
        compare(BEFORE, BEFORE[:1])
    with pytest.raises(GemelError, match="as it is, or rounded"):
        Ranges.of(BEFORE, "conventional", None)


def test_parts_and_their_whole_disclose_who_is_left() -> None:
    rng = np.random.default_rng(SEED)
    parts = [rng.poisson(30, (3, 4)) for _ in range(2)]
    whole = parts[0] + parts[1]
    assert sum_difference(whole, parts, [1], 0.05) is None, "no one is left"
    whole[1, 2] += 1
    found = sum_difference(whole, parts, [1], 0.05)
    assert found is not None
    assert (found.people, found.small_cells, found.disclosed) == (1, 1, 1)
    assert sum_difference(whole + 30, parts, [1], 0.05) is None, "these are not its parts"


def test_the_order_of_unknown_codes_is_found_by_the_counts() -> None:
    """200 tables of four persons a cell on average, relabelled; in the other release one person has another value."""
    rng = np.random.default_rng(SEED)
    wrong = 0
    for _ in range(200):
        table = rng.poisson(rng.gamma(1.0, 40.0, (4, 5, 3)))
        other = table.copy()
        cells = np.flatnonzero(table)
        from_, to = rng.choice(cells, 2, replace=False)
        other.ravel()[from_] -= 1
        other.ravel()[to] += 1
        shuffled = in_order(table, [rng.permutation(n) for n in table.shape])
        orders = aligned(shuffled.astype(float), other.astype(float), table.shape, 10**6)
        assert orders is not None
        wrong += int(np.abs(in_order(shuffled, orders) - other).sum()) != 2
    assert wrong == 0, SEED


def test_levels_that_stay_are_not_moved_and_too_much_work_is_refused() -> None:
    table = np.array([[5.0, 1.0, 9.0], [7.0, 2.0, 0.0]])
    orders = aligned(table[:, [1, 0, 2]], table, [2, 2], 100)
    assert orders is not None
    assert orders[1].tolist() == [1, 0, 2]
    assert aligned(table, table, [2, 2], 11) is None
