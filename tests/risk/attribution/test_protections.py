"""Laws of protected counts: distributions that sum to 1, bounds that are their support, and composition."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from gemel.common.errors import GemelError
from gemel.risk.attribution import laws
from gemel.risk.attribution.cell_bounds import bounds
from gemel.risk.attribution.laws import Composed, Conventional, Law, Random, Sampled
from gemel.risk.attribution.protections import (
    AttributeSuppression,
    Barnardisation,
    CellSuppression,
    ControlledRounding,
    ConventionalRounding,
    IntervalPublication,
    Pram,
    RandomRounding,
    Recoding,
    RecordSuppression,
    Sampling,
    Swapping,
    TabularAdjustment,
    UnbiasedControlledRounding,
)
from gemel.risk.attribution.protections.records import Chain, Protection
from gemel.risk.attribution.release import Published, Release, Table, publish
from research._thesis_tables import anonymous
from tests.risk.attribution.definition import published_counts
from tests.risk.attribution.small_releases import hold

LAWS: tuple[Law, ...] = (
    laws.Exact(),
    Conventional(3),
    Conventional(5),
    Random(2),
    Random(5),
    laws.Barnardised(0.6),
    Sampled(20, 7),
    laws.BelowThreshold(3),
    Composed(laws.Barnardised(0.6), Random(3)),
    Composed(Random(3), laws.Barnardised(0.5)),
    Composed(Sampled(20, 7), Conventional(3)),
    Composed(laws.BelowThreshold(2), Random(5)),
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


@pytest.mark.parametrize("law", [Random(3), Random(5), laws.Barnardised(0.3)], ids=str)
@given(st.integers(0, 60))
def test_unbiased_schemes(law: Law, true: int) -> None:
    """T11: the expectation of a randomly rounded or Barnardised count is the count.

    Of random rounding, which has two values, nothing else is then left to choose.
    """
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


@given(st.integers(0, 15), st.integers(0, 15))
def test_composition_is_the_sum_over_what_is_in_between(true: int, published: int) -> None:
    first, second = laws.Barnardised(0.6), Random(3)
    between = np.arange(40)
    step = first.probability(between, true) @ second.probability(np.asarray(published), between)
    assert Composed(first, second).probability(np.asarray(published), true) == pytest.approx(step)


def test_trivial_bounds_of_the_rounding_schemes() -> None:
    for law, published, lowest, highest in (
        (Conventional(5), [0, 5], [0, 3], [2, 7]),
        (Random(5), [0, 5], [0, 1], [4, 9]),
        (laws.Barnardised(0.5), [0, 1, 4], [0, 1, 3], [1, 2, 5]),
    ):
        low, high = law.bounds(np.asarray(published))
        assert (low.tolist(), high.tolist()) == (lowest, highest)


def test_a_withheld_count_says_nothing() -> None:
    for law in LAWS:
        low, high = law.bounds(np.asarray([laws.UNPUBLISHED]))
        assert (low[0], high[0]) == (0, laws.INFINITE)
        assert law.probability(np.asarray(laws.UNPUBLISHED), np.asarray(4)) == 1


def test_laws_of_whole_tables_have_bounds_but_no_probability() -> None:
    for law in (laws.Adjacent(3), laws.Within(2, 2)):
        assert law.whole_table is not None
        with pytest.raises(GemelError, match="whole table"):
            law.probability(np.asarray(3), np.asarray(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Conventional(4), "odd base"),
        (lambda: Random(0), "1 or more"),
        (lambda: laws.Barnardised(1.5), "probability"),
        (lambda: Sampled(5, 6), "no larger"),
        (lambda: Random(3).bounds(np.asarray([3, 4])), "multiples of the base 3"),
    ],
)
def test_laws_that_cannot_be_are_refused(make: object, message: str) -> None:
    with pytest.raises(GemelError, match=message):
        make()  # type: ignore[operator]


# Protections: each publishes by its law, optimal ones are optimal, and what they promise holds for an attacker.


def of_counts(counts: np.ndarray) -> Published:
    return publish("t", Table(anonymous(counts.shape), counts))


COUNTS = np.asarray([[4, 1, 2], [0, 3, 5]])
GIVEN = of_counts(COUNTS)

RANDOM: tuple[Protection, ...] = (
    ConventionalRounding(3),
    RandomRounding(3),
    Barnardisation(0.4),
    RecordSuppression(2),
    Sampling(size=6),
    Swapping("V2", 0.6),
    Swapping("V1", 0.5, ("V2",)),
    Pram("V2", ((0.8, 0.1, 0.1), (0.2, 0.7, 0.1), (0.0, 0.3, 0.7))),
    UnbiasedControlledRounding(3),
    Chain((Sampling(size=9), RandomRounding(3))),
    Chain((Barnardisation(0.5), ConventionalRounding(3))),
)


@pytest.mark.parametrize("protection", RANDOM, ids=lambda p: str(p)[:60])
def test_published_counts_follow_the_law(protection: Protection) -> None:
    """2,000 protections: cells (1, 1), (1, 2) and (2, 3) by chi-square against the law; fails below p = 1e-4.

    The seed is fixed. For controlled rounding, the law of a single cell is that of random rounding.
    """
    generator = np.random.default_rng(11)
    drawn = [protection.protect(GIVEN, generator).table for _ in range(2_000)]
    assert all(((t.box[0] <= COUNTS) & (t.box[1] >= COUNTS)).all() for t in drawn[:100]), "the truth is within bounds"
    for index in ((0, 0), (0, 1), (1, 2)):
        law = published_counts(drawn[0].law, COUNTS, index)
        seen = np.bincount([t.counts[index] for t in drawn], minlength=len(law))
        assert seen[law < 1e-12].sum() == 0
        usual = law * len(drawn) >= 5
        observed, expected = (np.append(x[usual], x[~usual].sum()) for x in (seen, law * 2_000))
        kept = expected > 0.5
        statistic = (((observed - expected) ** 2)[kept] / expected[kept]).sum()
        assert chi2.sf(statistic, max(1, kept.sum() - 1)) > 1e-4, index


@pytest.mark.parametrize("protection", RANDOM, ids=lambda p: str(p)[:60])
def test_a_seed_gives_the_same_table(protection: Protection) -> None:
    first, again = (protection.protect(GIVEN, np.random.default_rng(5)).table.counts for _ in range(2))
    assert (first == again).all()


def test_swapping_keeps_its_margins() -> None:
    outcome = Swapping("V2", 1.0).protect(GIVEN, np.random.default_rng(0))
    assert (outcome.table.counts.sum(axis=0) == COUNTS.sum(axis=0)).all()
    assert (outcome.table.counts.sum(axis=1) == COUNTS.sum(axis=1)).all()
    release = Release(anonymous((2, 3)), (outcome.table, *outcome.also))
    assert hold(bounds(release), COUNTS)


tables = st.lists(st.integers(0, 7), min_size=9, max_size=9).map(lambda x: np.asarray(x).reshape(3, 3))


@settings(max_examples=15)
@given(tables, st.integers(2, 5))
def test_controlled_rounding_adds_up_and_is_nearest(counts: np.ndarray, base: int) -> None:
    """Against all roundings of cells up or down that add up, by enumeration."""
    outcome = ControlledRounding(base).protect(of_counts(counts), np.random.default_rng(0))

    def lines(t: np.ndarray) -> np.ndarray:
        return np.concatenate([t.ravel(), t.sum(axis=0), t.sum(axis=1), [t.sum()]])

    published = np.concatenate([outcome.table.counts.ravel(), *[t.counts.ravel() for t in outcome.also]])
    assert (np.sort(published) == np.sort(lines(outcome.table.counts))).all(), "what is published adds up"
    true = lines(counts)
    assert (np.abs(lines(outcome.table.counts) - true) < base).all()
    best = np.inf
    open_cells = np.flatnonzero(counts.ravel() % base)
    for ups in product((0, 1), repeat=len(open_cells)):
        tried = counts.ravel() // base * base
        tried[open_cells] += base * np.asarray(ups, dtype=int)
        change = np.abs(lines(tried.reshape(3, 3)) - true)
        if (change < base).all():
            best = min(best, change.sum())
    assert np.abs(lines(outcome.table.counts) - true).sum() == best


@given(tables, st.integers(2, 6), st.integers(0, 10**6))
def test_unbiased_controlled_rounding_adds_up(counts: np.ndarray, base: int, seed: int) -> None:
    outcome = UnbiasedControlledRounding(base).protect(of_counts(counts), np.random.default_rng(seed))
    rounded = outcome.table.counts
    assert (rounded % base == 0).all()
    assert (np.abs(rounded - counts) < base).all()
    for axis in (0, 1, None):
        assert (np.abs(rounded.sum(axis=axis) - counts.sum(axis=axis)) < base).all()


@settings(max_examples=10)
@given(st.lists(st.integers(0, 4), min_size=9, max_size=9).map(lambda x: np.asarray(x).reshape(3, 3)))
def test_cell_suppression_protects_with_the_fewest_cells(counts: np.ndarray) -> None:
    """Attacked by tight bounds; and no smaller set of cells with the risky one in it does, by enumeration."""
    risky = np.argwhere(counts == 1)
    if not len(risky):
        return
    cell = tuple(int(i) for i in risky[0])
    protection = CellSuppression(cells=(cell,))
    try:
        outcome = protection.protect(of_counts(counts), np.random.default_rng(0))
    except GemelError:
        outcome = None
    table = Table(anonymous((3, 3)), counts)
    margins = [publish(a, table.over([a])) for a in table.names]

    def safe(hidden: tuple[int, ...]) -> bool:
        shown = counts.ravel().copy()
        shown[list(hidden)] = laws.UNPUBLISHED
        detail = publish("t", table, counts=shown.reshape(3, 3))
        return not bounds(Release(table.variables, (detail, *margins))).recovered[cell]

    flat = int(np.ravel_multi_index(cell, (3, 3)))
    others = [c for c in range(9) if c != flat]
    if outcome is None:
        assert not safe(tuple(range(9)))
        return
    hidden = tuple(np.flatnonzero(outcome.table.counts.ravel() < 0))
    assert safe(hidden)
    assert not any(safe((flat, *more)) for more in combinations(others, len(hidden) - 2))


def test_intervals_protect_and_are_narrow() -> None:
    counts = np.asarray([[0, 3, 0, 1], [0, 1, 0, 0], [4, 1, 0, 2], [1, 0, 7, 1]])
    cells, generator = ((1, 1), (2, 1)), np.random.default_rng(0)
    outcome = IntervalPublication(cells=cells, lower=1, width=1).protect(of_counts(counts), generator)
    found = bounds(Release(anonymous((4, 4)), (outcome.table, *outcome.also)))
    for cell in cells:
        assert found.lower[cell] == counts[cell] - 1
        assert found.upper[cell] >= counts[cell]
    assert (found.lower <= counts).all()
    assert outcome.table.intervals is not None
    suppressed = CellSuppression(cells=cells, lower=1).protect(of_counts(counts), np.random.default_rng(0))
    assert (outcome.table.counts >= 0).sum() >= (suppressed.table.counts >= 0).sum() - 1
    assert (outcome.table.intervals[1] - outcome.table.intervals[0]).max() <= 2


@settings(max_examples=10)
@given(tables)
def test_tabular_adjustment_leaves_no_risky_count_and_keeps_margins(counts: np.ndarray) -> None:
    protection = TabularAdjustment(threshold=2, reach=3)
    try:
        outcome = protection.protect(of_counts(counts), np.random.default_rng(0))
    except GemelError:
        assume(False)
    adjusted = outcome.table.counts
    assert set(adjusted[counts == 1].tolist()) <= {0, 2}
    for axis in (0, 1):
        assert (adjusted.sum(axis=axis) == counts.sum(axis=axis)).all()
    release = Release(anonymous((3, 3)), (outcome.table, *outcome.also))
    assert hold(bounds(release), counts)


def test_chains_compose_laws() -> None:
    groups = {"x": ["1", "2"], "y": ["3"]}
    chain = Chain((Recoding("V2", groups), AttributeSuppression(("V1",)), Sampling(fraction=0.5), RandomRounding(3)))
    outcome = chain.protect(GIVEN, np.random.default_rng(0))
    assert outcome.table.names == ("V2",)
    assert outcome.table.axes[0].labels == ("x", "y")
    assert "Sampled" in str(outcome.table.law)
    assert "Random" in str(outcome.table.law)
    for steps, law in (
        ((Recoding("V2", groups), RandomRounding(3)), Random(3)),
        ((Sampling(size=5), Recoding("V2", groups)), Sampled(15, 5)),  # a sum of hypergeometric counts is one
    ):
        assert Chain(steps).protect(GIVEN, np.random.default_rng(0)).table.law == law


@pytest.mark.parametrize(
    ("protection", "message"),
    [
        (Chain((RandomRounding(3), Recoding("V2", {"x": ["1", "2"], "y": ["3"]}))), "put recoding before"),
        (Chain((RandomRounding(3), Sampling(size=3))), "put sampling first"),
        (Recoding("V2", {"x": ["1", "2"]}), "every level in one group"),
        (Recoding("V9", {"x": ["1"]}), "no variable 'V9'"),
        (Pram("V2", ((1.0, 0.0), (0.0, 1.0))), "3 rows of 3"),
        (CellSuppression(cells=((0, 1),), upper=100), "no solution"),
        (ControlledRounding(3, margins=(("V7",),)), "unknown variables"),
    ],
)
def test_what_cannot_be_is_refused(protection: Protection, message: str) -> None:
    with pytest.raises(GemelError, match=message):
        protection.protect(GIVEN, np.random.default_rng(0))
