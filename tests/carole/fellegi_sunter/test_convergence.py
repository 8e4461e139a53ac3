"""Diagnostics of chains whose convergence is known."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from gemel.carole.fellegi_sunter.linkage_draws import effective_draws, split_r_hat


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_an_autoregression_is_worth_as_many_draws_as_theory_gives(correlation):
    noise = np.random.default_rng(1).normal(size=(4, 20_000))
    chains = lfilter([1.0], [1.0, -correlation], noise)
    expected = chains.size * (1 - correlation) / (1 + correlation)
    assert effective_draws(chains) == pytest.approx(expected, rel=0.1)
    assert split_r_hat(chains) == pytest.approx(1, abs=0.01)


def test_chains_that_disagree_or_drift_are_noticed():
    rng = np.random.default_rng(2)
    apart = rng.normal(size=(2, 1000)) + np.array([[0.0], [3.0]])
    # Within each 1, between them 3 ** 2 / 2: R-hat about sqrt(1 + 3), by halves sqrt(1 + 3 * 2 / 3).
    assert split_r_hat(apart) == pytest.approx(math.sqrt(1 + 3), rel=0.1)
    drift = rng.normal(size=(2, 1000)) + np.linspace(0, 6, 1000)
    assert split_r_hat(drift) > 1.5


def test_figures_that_never_change():
    assert split_r_hat(np.ones((2, 10))) == 1
    assert split_r_hat(np.repeat([[1.0], [2.0]], 10, axis=1)) == math.inf
    assert effective_draws(np.ones((2, 10))) == 20
