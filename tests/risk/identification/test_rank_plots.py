"""Logit rank plots and AUC: known slopes, invariance, counting pairs, odd input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from gemel.common.errors import GemelError
from gemel.risk.identification.assessment.beside_keys import _regression, auc, logit_rank_plot

CASES = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40)


@given(CASES)
def test_auc_counts_pairs(cases):
    s, y = (np.array(x) for x in zip(*cases, strict=True))
    wins = [(a > b) + 0.5 * (a == b) for a in s[y] for b in s[~y]]
    found = auc(s, y)
    assert found == pytest.approx(np.mean(wins)) if wins else np.isnan(found)


@given(CASES)
def test_a_monotone_transformation_changes_nothing(cases):
    s, y = (np.array(x) for x in zip(*cases, strict=True))
    plain, stretched = logit_rank_plot(s, y, points=5), logit_rank_plot(np.exp(s) + 3, y, points=5)
    assert stretched.logit == pytest.approx(plain.logit)
    assert auc(s, y) == pytest.approx(auc(s**3, y), nan_ok=True)


def test_the_slope_is_that_of_the_logits():
    """With P(event) = expit(2 t - 1) at rank logit t, the plot is the line 2 t - 1.

    40,000 records: standard errors under .07 inside (-2, 2); tolerance .3.
    """
    rng = np.random.default_rng(1)
    n = 40_000
    share = np.arange(1, n + 1) / (n + 1)
    t = np.log(share / (1 - share))
    y = rng.random(n) < 1 / (1 + np.exp(1 - 2 * t))
    found = logit_rank_plot(np.arange(n), y, points=19)
    inside = np.abs(found.t) < 2
    assert found.logit[inside] == pytest.approx(2 * found.t[inside] - 1, abs=0.3)
    assert found.slope == pytest.approx(2, abs=0.1)
    assert (np.diff(found.probability) > 0).all()


def test_a_score_of_chance_is_flat_and_a_better_one_is_steeper():
    rng = np.random.default_rng(2)
    y = rng.random(4_000) < 0.3
    scores = [rng.random(4_000) + weight * y for weight in (0.0, 0.3, 1.0)]
    slopes = [logit_rank_plot(s, y).slope for s in scores]
    areas = [auc(s, y) for s in scores]
    assert abs(slopes[0]) < 0.1
    assert slopes[0] < slopes[1] < slopes[2]
    assert areas[0] == pytest.approx(0.5, abs=0.03)
    assert areas == sorted(areas)


def test_the_regression_is_the_maximum():
    rng = np.random.default_rng(3)
    x, trials = rng.normal(size=30), rng.integers(1, 9, 30).astype(float)
    events = rng.binomial(trials.astype(int), 0.4).astype(float)
    best = minimize(lambda v: (trials * np.logaddexp(0, v[0] + v[1] * x) - events * (v[0] + v[1] * x)).sum(), [0, 0])
    assert _regression(x, trials, events) == pytest.approx(tuple(best.x), abs=2e-3)


def test_one_kind_only_stays_finite():
    found = logit_rank_plot([1.0, 2.0, 3.0], [1, 1, 1], points=3)
    assert np.isfinite(found.logit).all()
    assert np.isnan(auc([1.0, 2.0], [0, 0]))


def test_bad_input():
    for scores, events in (([], []), ([1.0], [1, 0]), ([np.nan], [1]), ([1.0], [0.5])):
        with pytest.raises(GemelError):
            auc(scores, events)
    with pytest.raises(GemelError, match="positive"):
        logit_rank_plot([1.0], [1], points=0)
