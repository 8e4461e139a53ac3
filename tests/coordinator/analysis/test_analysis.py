"""Rubin's rules by hand, and the slope over drawn links where the truth is known."""

import math

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.coordinator.analysis.drawn_estimates import combined, combined_slope, linked_slope


def test_rubins_rules_by_hand():
    found = combined([1.0, 2.0, 3.0, 2.0], [0.5, 0.7, 0.5, 0.7])
    assert found.estimate == 2.0
    assert found.within == pytest.approx(0.6)
    assert found.between == pytest.approx(2 / 3)
    assert found.variance == pytest.approx(0.6 + 1.25 * 2 / 3)
    assert found.degrees == pytest.approx(3 * (1 + 0.6 / (1.25 * 2 / 3)) ** 2)
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(2.0)


def test_degrees_of_freedom_stay_below_those_of_the_analysis():
    """Barnard and Rubin: without differences between draws, nearly those of the complete analysis."""
    without = combined([1.0, 1.0], [0.1, 0.1], complete_degrees=20)
    assert without.degrees == pytest.approx(21 / 23 * 20)
    assert without.share_of_linkage == 0
    assert combined([1.0, 1.5, 0.7], [0.1, 0.1, 0.1], complete_degrees=20).degrees < 20
    assert combined([1.0, 1.0], [0.1, 0.1]).degrees == math.inf


@pytest.mark.parametrize(
    ("estimates", "variances"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, math.nan], [1, 1]), ([1, 2], [1, -1])]
)
def test_what_cannot_be_combined_is_refused(estimates, variances):
    with pytest.raises(GemelError, match="expected"):
        combined(estimates, variances)


def test_all_links_sure_is_least_squares():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    y = 2 * x + rng.normal(size=50)
    found = linked_slope(x, y, np.ones(50))
    centred = x - x.mean()
    slope = centred @ y / (centred @ centred)
    residual = y - y.mean() - slope * centred
    assert found.estimate == pytest.approx(slope)
    assert found.variance == pytest.approx(residual @ residual / 48 / (centred @ centred))
    assert found.degrees == 48


def test_false_links_no_longer_make_the_slope_smaller():
    """A fifth of 100,000 links is false, as their probabilities state: slope 1.5 and residual variance 1 are found."""
    rng = np.random.default_rng(2)
    n = 100_000
    p = rng.choice([0.6, 1.0], n)
    true = rng.random(n) < p
    x = rng.normal(size=n)
    y = np.where(true, 1.5 * x + rng.normal(size=n), rng.normal(size=n) * math.sqrt(1 + 1.5**2))
    found = linked_slope(x, y, p)
    assert found.estimate == pytest.approx(1.5, abs=0.03)
    assert found.variance * n == pytest.approx(1.0, abs=0.06)
    assert linked_slope(x, y, np.ones(n)).estimate == pytest.approx(1.2, abs=0.03)


@pytest.mark.parametrize(
    ("x", "p", "what"),
    [([1, 2, 3], [1, 1, 1], "four pairs"), ([1, 2, 3, 4], [1, 1, 1, 2], "0 to 1"), ([1, 1, 1, 1], [1] * 4, "varies"),
     ([1, 2, math.inf, 4], [1] * 4, "finite")],
)  # fmt: skip
def test_bad_input_of_a_slope_is_refused(x, p, what):
    with pytest.raises(GemelError, match=what):
        linked_slope(np.array(x, dtype=float), np.arange(len(x), dtype=float), np.array(p, dtype=float))


def test_draws_are_kept_apart():
    rng = np.random.default_rng(3)
    draw = np.repeat([0, 1, 2], 30)
    x, y = rng.normal(size=90), rng.normal(size=90)
    found = combined_slope(draw, x, y, np.ones(90))
    slopes = [linked_slope(x[draw == k], y[draw == k], np.ones(30)).estimate for k in range(3)]
    assert found.estimate == pytest.approx(np.mean(slopes))
    assert found.between == pytest.approx(np.var(slopes, ddof=1))
