"""Weights and probabilities by Bayes' rule, distributions of levels, and counts of comparison patterns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.model import (
    MISSING,
    PatternCounts,
    corrected,
    match_weights,
    probability,
    probability_of,
    shares,
    within_levels,
)
from gemel.common.errors import ErrorCode, GemelError


@given(seed=st.integers(0, 2**32), n_levels=st.lists(st.integers(2, 5), min_size=1, max_size=4))
def test_weights_and_probabilities_are_bayes_rule(seed, n_levels):
    rng = np.random.default_rng(seed)
    width = max(n_levels)
    m, u = np.zeros((2, len(n_levels), width))
    for q, k in enumerate(n_levels):
        m[q, :k], u[q, :k] = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k))
    gamma = np.array([[rng.integers(-1, k) for k in n_levels] for _ in range(10)], dtype=np.int8)
    p = rng.uniform(1e-6, 0.9)
    weights = match_weights(gamma, m, u)
    probabilities = probability_of(weights, p)
    for i, vector in enumerate(gamma):
        present = [(q, k) for q, k in enumerate(vector) if k != MISSING]
        ratio = np.prod([m[q, k] / u[q, k] for q, k in present])
        assert weights[i] == pytest.approx(np.log2(ratio), abs=1e-9)
        assert probabilities[i] == pytest.approx(p * ratio / (p * ratio + 1 - p))


def test_a_level_never_seen_on_either_side_weighs_nothing():
    gamma = np.array([[0], [1], [2]], dtype=np.int8)
    m, u = np.array([[0.0, 0.5, 0.5]]), np.array([[0.0, 1.0, 0.0]])
    assert match_weights(gamma, m, u).tolist() == [0.0, -1.0, np.inf]


def test_the_logistic_function_does_not_overflow():
    assert probability(np.array([-5000.0, 0.0, 5000.0])).tolist() == [0.0, 0.5, 1.0]


def test_correction_removes_the_matches():
    valid = within_levels([2, 3])
    m, u, p = np.array([[0.1, 0.9, 0.0], [0.2, 0.2, 0.6]]), np.array([[0.7, 0.3, 0.0], [0.9, 0.08, 0.02]]), 0.01
    r = p * m + (1 - p) * u
    np.testing.assert_allclose(corrected(1e9 * r, m, p, valid, 0.0), u, atol=1e-12)


def test_correction_stays_a_distribution_where_matches_exceed_the_pairs():
    valid = within_levels([3])
    counts = np.array([[980.0, 15.0, 5.0]])
    u = corrected(counts, np.array([[0.0, 0.0, 1.0]]), 0.5, valid, 1.0)
    assert u.sum() == pytest.approx(1)
    assert 0 < u[0, 2] < 1e-3


def test_shares_without_counts_or_prior_are_uniform_over_the_fields_levels():
    valid = within_levels([2, 4])
    np.testing.assert_allclose(shares(np.zeros((2, 4)), valid, 0.0), [[0.5, 0.5, 0, 0], [0.25] * 4])
    np.testing.assert_allclose(shares(np.array([[3.0, 0, 0, 0], [0, 0, 0, 3.0]]), valid, 1.0)[0, :2], [0.875, 0.125])


def counts(gamma, mask=None, count=None):
    gamma = np.array(gamma, dtype=np.int8)
    mask = np.zeros(len(gamma)) if mask is None else np.array(mask)
    count = np.ones(len(gamma)) if count is None else np.array(count)
    return PatternCounts(gamma, mask.astype(np.uint32), count.astype(np.int64))


def test_sizes():
    patterns = counts([[0, 1], [-1, 2], [1, 1]], count=[5, 0, 7])
    assert (patterns.n_patterns, patterns.n_fields, patterns.n_pairs) == (3, 2, 12)


@pytest.mark.parametrize(
    ("gamma", "mask", "count", "normalized_reason"),
    [
        ([0, 1], [0, 0], [1, 1], "two dimensions"),
        ([[0], [1]], [0], [1, 1], r"shape \(2,\)"),
        ([[0], [1]], [0, 0], [1], r"shape \(2,\)"),
        ([[0], [-2]], [0, 0], [1, 1], "-1 .missing. or more, got -2"),
        ([[0], [1]], [0, 0], [1, -1], "must not be negative, got -1"),
    ],
)
def test_invalid_input_is_refused(gamma, mask, count, normalized_reason):
    with pytest.raises(GemelError, match=normalized_reason) as raised:
        counts(gamma, mask, count)
    assert raised.value.code is ErrorCode.PARAMETER
