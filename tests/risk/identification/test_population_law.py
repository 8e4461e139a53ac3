"""E[1/(f + K)]: the closed form against the series, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.matching.bayesian_matching import expected_reciprocal
from tests.risk.identification import definition


@given(f=st.integers(1, 400), rate=st.floats(0, 2000))
def test_closed_form_is_the_series(f, rate):
    assert float(expected_reciprocal(f, rate)) == pytest.approx(definition.expected_reciprocal(f, rate), rel=1e-10)


@pytest.mark.parametrize("rate", [1e-300, 0.5, 9.9, 10.1, 1e5])
def test_closed_form_at_its_seams(rate):
    for f in (1, 2, 10, 5_000):
        assert float(expected_reciprocal(f, rate)) == pytest.approx(definition.expected_reciprocal(f, rate), rel=1e-10)


def test_no_one_outside_the_sample_leaves_one_in_f():
    np.testing.assert_allclose(expected_reciprocal([1, 2, 7], 0.0), [1, 1 / 2, 1 / 7])


def test_more_people_outside_make_a_correct_match_less_likely():
    rates = np.linspace(0, 300, 4000)
    for f in (1, 2, 20, 200):
        assert (np.diff(expected_reciprocal(f, rates)) < 0).all()
        # Jensen: the mean of a reciprocal is at least the reciprocal of the mean.
        assert (expected_reciprocal(f, rates) >= 1 / (f + rates) - 1e-15).all()


@pytest.mark.parametrize(("f", "rate"), [(0, 1.0), (1, -1.0), (1, float("nan")), (1, float("inf"))])
def test_what_cannot_be_is_refused(f, rate):
    with pytest.raises(GemelError):
        expected_reciprocal(f, rate)
