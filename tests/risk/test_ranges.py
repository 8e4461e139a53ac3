"""Every probability lies in [0, 1] and is finite, however extreme the counts and probabilities that it is made of.

A probability that is 1.0 to the last bit, or a rate that no float holds, has ended runs and breached limits before.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gemel.risk.attribution.sap import exhausted, expected_zeros, sap
from gemel.risk.identification.calibration.records import expected_reciprocal_with_company, greatest_means
from gemel.risk.identification.file_level import dis
from gemel.risk.identification.individual_risk import Units, expected_reciprocal_of_sampled
from gemel.risk.identification.loglinear.criterion import averaged_h1, averaged_h2, h1, h2, second_moment
from gemel.risk.identification.matching.bayesian_matching import expected_reciprocal
from gemel.risk.identification.population_spectrum import Pitman
from gemel.risk.models.queries import divergence_terms

COUNTS = st.one_of(st.integers(1, 5), st.integers(1, 10**7))
RATES = st.one_of(st.just(0.0), st.floats(-300, 18).map(lambda power: float(10.0**power)))
FRACTIONS = st.one_of(st.just(1.0), st.floats(-12, 0).map(lambda power: float(10.0**power)), st.floats(1e-9, 1.0))
PROBABILITIES = st.one_of(st.sampled_from([0.0, 5e-324, 1e-17, 1 - 2**-53, 1.0]), st.floats(0, 1))


def in_range(*values):
    for value in values:
        found = np.asarray(value)
        assert np.isfinite(found).all(), found
        assert ((found >= 0.0) & (found <= 1.0)).all(), found


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=12), larger=st.integers(0, 3))
def test_subtraction_of_small_tables(counts, larger):
    curve = sap(counts, np.asarray(counts) + larger * (np.arange(len(counts)) % 2))
    in_range(curve)
    assert (np.diff(curve) >= 0).all()


@given(counts=st.lists(st.integers(0, 900), min_size=2, max_size=9), known=st.integers(0, 4000))
def test_subtraction_of_large_tables(counts, known):
    curve = sap(counts, maximum=known)
    in_range(curve)
    assert (np.diff(curve) >= 0).all()


@given(n=st.integers(1, 3000), share=st.floats(0, 1))
def test_cells_that_are_exhausted(n, share):
    size = int(n * share) % 200
    in_range(exhausted(n, min(size, n)))
    zeros = expected_zeros([size % 50, n % 300])
    assert np.isfinite(zeros).all()
    assert ((zeros >= 0) & (zeros <= 2)).all()


@given(f=COUNTS, fraction=FRACTIONS, rate=RATES.filter(lambda rate: rate <= 1e15))
def test_chance_of_a_match_of_a_sampled_record(f, fraction, rate):
    in_range(expected_reciprocal_of_sampled([min(f, 10**5)], [fraction]))
    in_range(expected_reciprocal([min(f, 10**5)], [rate]))


@given(L=RATES, spread=RATES.filter(lambda rate: rate <= 1e6))
def test_chances_of_sample_uniques(L, spread):
    values = np.array([L])
    in_range(h1(values), h2(values), second_moment(values))
    spreads = np.array([spread])
    in_range(averaged_h1(values, spreads), averaged_h2(values, spreads))


@given(f=COUNTS, mu=RATES, shape=RATES, outside=RATES)
def test_chance_of_a_match_with_company(f, mu, shape, outside):
    mu, shape = max(min(mu, 1e9), 1e-12), max(min(shape, 1e9), 1e-6)
    found = expected_reciprocal_with_company(
        np.array([f, 1]), np.full(2, mu), np.full(2, shape), np.full(2, min(outside, 1e12))
    )
    in_range(found)


@given(m1=RATES, m2=RATES, c=RATES)
def test_greatest_chances(m1, m2, c):
    m1, m2 = max(min(m1, 1e9), 1e-12), min(m2, 1e18)
    in_range(*greatest_means(np.array([m1]), np.array([m2]), min(c, 1e12)))


@given(n1=COUNTS, n2=st.integers(0, 10**7), n3=st.integers(0, 10**7), fraction=FRACTIONS)
def test_chance_that_a_unique_match_is_right(n1, n2, n3, fraction):
    found = dis(n1, n2, n3, fraction)
    in_range(found.low, found.value, found.high)
    assert found.low <= found.value <= found.high


@given(
    alpha=st.one_of(st.floats(-50, 0.999), st.just(1 - 1e-9)),
    theta=st.floats(0.1, 1e7),
    records=st.integers(1, 10**7),
    times=st.floats(0, 9).map(lambda power: 10**power),
    f=COUNTS,
)
def test_population_spectrum(alpha, theta, records, times, f):
    formula = Pitman(alpha, theta - alpha, records)
    in_range(formula.alone(records * times), formula.reciprocal([1, min(f, records)], records * times))


@given(arrays(np.float64, st.integers(1, 40), elements=PROBABILITIES))
def test_any_member_of_a_household(risk):
    units = Units.of(np.arange(len(risk)) // 3)
    in_range(units.any_member(risk))


@given(arrays(np.float64, st.integers(2, 20), elements=PROBABILITIES), st.integers(0, 10**6))
def test_divergence_of_distributions(shares, seed):
    p = shares / shares.sum() if shares.sum() > 0 else np.full(len(shares), 1 / len(shares))
    q = np.random.default_rng(seed).dirichlet(np.full(len(shares), 0.01))
    terms = divergence_terms(p, q)
    assert np.isfinite(terms).all()
    assert -1e-12 <= terms.sum() <= 1 + 1e-12


def test_a_table_that_is_known_whole_is_never_above_1():
    """The sum over a table of 1,200 people once ended at 1.00000000002, which breached a limit of 1."""
    counts = np.random.default_rng(3).integers(0, 60, 40)
    assert sap(counts + 1)[-1] == pytest.approx(1.0, abs=1e-15)
    assert sap(counts + 1).max() <= 1.0
