"""A claim corrected by simulations: its interval holds as often as it says, whatever the distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from gemel.carole.evaluation.quality_estimate import Interval, corrected_claim
from gemel.common.errors import GemelError


@pytest.mark.parametrize("replicates", [39, 60, 79, 200])
def test_it_holds_95_times_of_100_whatever_the_distribution(replicates: int) -> None:
    """The excess of a claim over the truth is drawn from a skewed distribution, for replicates and the real run."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(2000):
        excess = rng.gamma(0.7, 0.02, replicates + 1)
        found = corrected_claim(0.9, 0.9 + excess[1:], np.full(replicates, 0.9))
        held += found.lower <= 0.9 - excess[0] <= found.upper
    k = int((replicates + 1) * 0.025 + 1e-9)
    assert binomtest(held, 2000, (replicates + 1 - 2 * k) / (replicates + 1)).pvalue > 1e-3


def test_of_39_replicates_it_is_the_whole_range_less_the_mean() -> None:
    excess = np.linspace(-0.01, 0.03, 39)
    found = corrected_claim(0.95, 0.9 + excess, np.full(39, 0.9))
    assert (found.value, found.lower, found.upper) == pytest.approx((0.94, 0.92, 0.96))
    assert corrected_claim(1.0, np.full(39, 0.5), np.full(39, 0.9)) == Interval(1.0, 1.0, 1.0)


def test_too_few_replicates_are_refused() -> None:
    with pytest.raises(GemelError, match="at least 39 replicates"):
        corrected_claim(0.9, np.full(38, 0.9), np.full(38, 0.9))


def test_an_interval_excludes_what_lies_outside() -> None:
    interval = Interval(0.9, 0.8, 0.95)
    assert [interval.excludes(claim) for claim in (0.79, 0.8, 0.95, 0.96)] == [True, False, False, True]
