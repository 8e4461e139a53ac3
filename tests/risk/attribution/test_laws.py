"""Laws of protected counts: distributions that sum to 1, bounds that are their support, and composition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.attribution.laws import (
    INFINITE,
    UNPUBLISHED,
    Adjacent,
    Barnardised,
    BelowThreshold,
    Composed,
    Conventional,
    Exact,
    Law,
    Random,
    Sampled,
    Within,
)

LAWS: tuple[Law, ...] = (
    Exact(),
    Conventional(3),
    Conventional(5),
    Random(2),
    Random(5),
    Barnardised(0.6),
    Sampled(20, 7),
    BelowThreshold(3),
    Composed(Barnardised(0.6), Random(3)),
    Composed(Random(3), Barnardised(0.5)),
    Composed(Sampled(20, 7), Conventional(3)),
    Composed(BelowThreshold(2), Random(5)),
    Composed(Random(3), Conventional(5)),
)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_law_is_a_distribution_and_its_bounds_are_its_support(law: Law) -> None:
    counts = np.arange(21)
    table = np.stack([law.probability(np.arange(41), true) for true in counts])  # (true, published)
    assert np.allclose(table.sum(axis=1), 1)
    for published in np.flatnonzero(table.any(axis=0)):
        possible = counts[table[:, published] > 0]
        low, high = law.bounds(np.asarray(published))
        # Counts above 20 were not tried: there the upper bound may be larger.
        assert low <= possible.min()
        assert high >= possible.max()
        if not isinstance(law, Composed):
            assert low == possible.min()
            assert high == possible.max() or possible.max() == 20


@pytest.mark.parametrize("law", [Random(3), Random(5), Barnardised(0.3)], ids=str)
@given(st.integers(0, 60))
def test_unbiased_schemes(law: Law, true: int) -> None:
    """T11: the expectation of a randomly rounded or Barnardised count is the count."""
    published = np.arange(true + 10)
    assert law.probability(published, true) @ published == pytest.approx(true)


@given(st.integers(0, 50), st.sampled_from([3, 5, 7]))
def test_conventional_rounding_is_to_the_nearest_multiple(true: int, base: int) -> None:
    """The same as T11's law by remainders, which it calls controlled rounding."""
    remainder = true % base
    nearest = true - remainder if remainder < base / 2 else true + base - remainder
    assert Conventional(base).probability(np.asarray(nearest), true) == 1
    low, high = Conventional(base).bounds(np.asarray(nearest))
    assert low <= true <= high
    assert high - low <= base - 1


@given(st.integers(0, 12), st.integers(2, 6))
def test_random_rounding_by_remainders(true: int, base: int) -> None:
    down = true - true % base
    assert Random(base).probability(np.asarray(down), true) == pytest.approx(1 - (true % base) / base)
    if true % base:
        assert Random(base).probability(np.asarray(down + base), true) == pytest.approx((true % base) / base)


@given(st.integers(0, 15), st.integers(0, 15))
def test_composition_is_the_sum_over_what_is_in_between(true: int, published: int) -> None:
    first, second = Barnardised(0.6), Random(3)
    between = np.arange(40)
    step = first.probability(between, true) @ second.probability(np.asarray(published), between)
    assert Composed(first, second).probability(np.asarray(published), true) == pytest.approx(step)


def test_trivial_bounds_of_the_rounding_schemes() -> None:
    low, high = Conventional(5).bounds(np.asarray([0, 5]))
    assert (low.tolist(), high.tolist()) == ([0, 3], [2, 7])
    low, high = Random(5).bounds(np.asarray([0, 5]))
    assert (low.tolist(), high.tolist()) == ([0, 1], [4, 9])
    low, high = Barnardised(0.5).bounds(np.asarray([0, 1, 4]))
    assert (low.tolist(), high.tolist()) == ([0, 1, 3], [1, 2, 5])


def test_a_withheld_count_says_nothing() -> None:
    for law in LAWS:
        low, high = law.bounds(np.asarray([UNPUBLISHED]))
        assert (low[0], high[0]) == (0, INFINITE)
        assert law.probability(np.asarray(UNPUBLISHED), np.asarray(4)) == 1


def test_laws_of_whole_tables_have_bounds_but_no_probability() -> None:
    for law in (Adjacent(3), Within(2, 2)):
        assert not law.known
        with pytest.raises(GemelError, match="whole table"):
            law.probability(np.asarray(3), np.asarray(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Conventional(4), "odd base"),
        (lambda: Random(0), "1 or more"),
        (lambda: Barnardised(1.5), "probability"),
        (lambda: Sampled(5, 6), "no larger"),
        (lambda: Random(3).bounds(np.asarray([3, 4])), "multiples of the base 3"),
    ],
)
def test_what_cannot_be_is_refused(make: object, message: str) -> None:
    with pytest.raises(GemelError, match=message):
        make()  # type: ignore[operator]
