"""E[1/F | f] against the negative binomial law it is the mean of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nbinom

from tryst.common.errors import TrystError
from tryst.risk.protection.chance_of_match import individual_risk, required_frequency


@pytest.mark.parametrize("pi", [0.02, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("f", [1, 2, 5, 29, 30, 200])
def test_mean_over_the_law(f: int, pi: float) -> None:
    more = np.arange(40_000)
    mean = float((nbinom.pmf(more, f, pi) / (f + more)).sum())
    assert float(individual_risk(f, pi)) == pytest.approx(mean, rel=1e-9)


def test_closed_form_of_uniques() -> None:
    pi = np.array([1e-6, 0.001, 0.4])
    np.testing.assert_allclose(individual_risk(1, pi), -pi * np.log(pi) / (1 - pi), rtol=1e-10)


@pytest.mark.parametrize("pi", [1e-6, 0.05, 0.7, 1.0])
def test_recursion_joins_both_ways_of_summing(pi: float) -> None:
    f = np.arange(2, 60)
    risks = individual_risk(np.arange(1, 60), pi)
    # Under the integral pi u^(f-2) + (1 - pi) u^(f-1) is u^(f-2) times the denominator.
    np.testing.assert_allclose(pi * risks[:-1] + (1 - pi) * risks[1:], pi / (f - 1), rtol=1e-12)


def test_required_frequency_is_the_smallest() -> None:
    for risk, pi in ((0.2, 1.0), (0.005, 0.05), (0.01, 0.3)):
        f = required_frequency(risk, pi, 10_000)
        assert individual_risk(f, pi) <= risk < individual_risk(f - 1, pi)
    assert required_frequency(0.2, 1.0, 4) == 5
    with pytest.raises(TrystError, match="at least 1"):
        individual_risk([0, 1], 0.5)
