"""Levels that can be distinguished: distances in standard errors, the reach of equal values, and what is merged."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.specification.model.defaults import LEVELS
from gemel.common.specification.model.leakage import (
    REACHED,
    SEPARATION,
    confused,
    halfway,
    is_distinguishable,
    min_bits,
    reached_by_equals,
    separation,
    standard_error,
    tolerant_bounds,
)
from research._jaccard import variance

BITS = st.integers(1, 128).map(lambda words: 64 * words)
FLIPS = st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.1, 0.123, 0.25, 0.35, 0.4])


@given(similarity=st.floats(0, 0.999), bits=BITS, randomised_response=FLIPS)
def test_the_standard_error_is_that_of_the_estimator(similarity: float, bits: int, randomised_response: float) -> None:
    assert standard_error(similarity, bits, randomised_response) ** 2 == pytest.approx(
        float(variance(similarity, bits, randomised_response))
    )


@pytest.mark.parametrize(
    ("low", "high", "bits", "randomised_response"), [(0, 0.2, 1024, 0.0), (0.6, 0.95, 128, 0.1), (0, 1, 64, 0.3)]
)
def test_the_separation_is_the_distance_in_standard_errors(
    low: float, high: float, bits: int, randomised_response: float
) -> None:
    middles = low + (high - low) * (np.arange(100_000) + 0.5) / 100_000
    steps = [(high - low) / 100_000 / standard_error(float(middle), bits, randomised_response) for middle in middles]
    assert separation(low, high, bits, randomised_response) == pytest.approx(math.fsum(steps), rel=1e-3)


@pytest.mark.parametrize(
    ("bits", "randomised_response"),
    [(64, 0.01), (64, 0.1), (192, 0.05), (256, 0.25), (1024, 0.001), (1024, 0.05), (1024, 0.3)],
)
def test_equal_values_reach_the_top_level(bits: int, randomised_response: float) -> None:
    """In exact arithmetic: reached with the stated probability, and the next thousandth with less."""
    bound = reached_by_equals(bits, randomised_response)

    def probability(above: float) -> Fraction:
        r = Fraction(str(randomised_response))
        p, contrast = 2 * r * (1 - r), (1 - 2 * r) ** 2
        return sum(
            (
                math.comb(bits, d) * p**d * (1 - p) ** (bits - d)
                for d in range(bits + 1)
                if (1 - Fraction(2 * d, bits)) / contrast > Fraction(str(above))
            ),
            Fraction(0),
        )

    assert probability(bound) >= Fraction(str(REACHED))
    step = 2 / (bits * (1 - 2 * randomised_response) ** 2)
    assert probability(round(bound + step + 0.001, 3)) < Fraction(str(REACHED))


@given(bits=BITS, randomised_response=FLIPS, table=st.sampled_from(list(LEVELS.values())))
def test_tolerant_bounds_are_apart_and_some_of_those_given(
    bits: int, randomised_response: float, table: tuple[float, ...]
) -> None:
    found = tolerant_bounds(table, bits, randomised_response)
    assert found[-1] == 1
    assert len(found) >= 2
    if not is_distinguishable(bits, randomised_response):
        assert found == table
        return
    assert set(found[:-2]) <= set(table)
    assert found[-2] == (
        min(table[-2], reached_by_equals(bits, randomised_response)) if randomised_response else table[-2]
    )
    for low, high in pairwise((0.0, *found[:-1])):
        assert low < high
        assert separation(low, high, bits, randomised_response) >= SEPARATION or (low, high) == (0.0, found[-2])
    assert tolerant_bounds(found, bits, randomised_response) == found
    assert all(round(bound, 4) == bound for bound in found)


def test_defaults_at_their_length_are_fine_as_they_are() -> None:
    for table in LEVELS.values():
        assert tolerant_bounds(table, 1024) == table
    assert tolerant_bounds(LEVELS["exact"], 64) == LEVELS["exact"]


def test_fewer_bits_and_more_noise_leave_fewer_levels() -> None:
    em8 = LEVELS["em8"]
    assert [len(tolerant_bounds(em8, bits)) for bits in (1024, 256, 128, 64)] == [8, 8, 8, 8]
    assert [len(tolerant_bounds(LEVELS["em15"], bits)) for bits in (1024, 256, 128, 64)] == [15, 14, 14, 9]
    assert [
        len(tolerant_bounds(em8, 1024, randomised_response)) for randomised_response in (0.0, 0.05, 0.1, 0.25, 0.3)
    ] == [8, 7, 6, 5, 4]
    assert tolerant_bounds(em8, 1024, 0.1) == (0.2, 0.4, 0.6, 0.8, 0.924, 1.0)


@pytest.mark.parametrize(("bits", "randomised_response"), [(64, 0.15), (128, 0.15), (64, 0.1), (256, 0.25)])
def test_equal_and_unlike_values_lie_on_their_sides_of_the_middle(bits: int, randomised_response: float) -> None:
    """Exactly; `confused` is an approximation, with few bits good to a factor of three."""
    r = Fraction(str(randomised_response))
    contrast, middle = (1 - 2 * r) ** 2, Fraction(str(halfway(randomised_response)))
    for similarity in (0, 1):
        p = (1 - contrast * similarity) / 2
        wrong = sum(
            math.comb(bits, d) * p**d * (1 - p) ** (bits - d)
            for d in range(bits + 1)
            if ((1 - Fraction(2 * d, bits)) / contrast > middle) != bool(similarity)
        )
        assert 1 / 3 < float(wrong) / confused(bits, randomised_response) < 3


@pytest.mark.parametrize("randomised_response", [0.0, 0.05, 0.25, 0.35, 0.4])
def test_least_bits_are_the_least(randomised_response: float) -> None:
    bits = min_bits(randomised_response)
    assert is_distinguishable(bits, randomised_response)
    assert bits == 64 or not is_distinguishable(bits - 64, randomised_response)
