"""Crosswise comparison agrees with its definition, and replaces the straight comparisons of the two fields."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.comparison.crosswise import BOUNDS, CrosswiseComparison, crosswise_bounds
from gemel.common.signatures.signature_sets import FieldSignatures
from tests.carole.comparison.definition import agreeing_bits, level

BITS = 128


def two_files(seed, n_a=9, n_b=8):
    """Two fields over one pool of values that resemble each other, in two files."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2**64, (6, 2), dtype=np.uint64)
    for i in range(3, 6):
        pool[i] = pool[i - 3] ^ np.array([rng.choice([0, 1, 2**20 + 5, 2**40 - 1], 1)[0], 0], dtype=np.uint64)
    files = []
    for n in (n_a, n_b):
        files.append(tuple(FieldSignatures(BITS, pool, rng.integers(-1, 6, n).astype(np.int32)) for _ in range(2)))
    return files


def exchanged(a, b, i, j, randomised_response=0.0):
    """The level of exchange of a pair by definition; None where a value is missing."""
    (fa, sa), (fb, sb) = (
        [field.signatures[field.codes[row]] if field.codes[row] >= 0 else None for field in side]
        for side, row in ((a, i), (b, j))
    )
    if any(value is None for value in (fa, sa, fb, sb)):
        return None
    cross = agreeing_bits(fa, sb), agreeing_bits(sa, fb)
    lesser = min(level(n, BITS, crosswise_bounds(BITS, randomised_response), randomised_response) for n in cross)
    return lesser if sum(cross) > agreeing_bits(fa, fb) + agreeing_bits(sa, sb) else 0


@given(seed=st.integers(0, 10**6), randomised_response=st.sampled_from([0.0, 0.01, 0.05, 0.15]))
def test_levels_are_those_of_the_definition(seed, randomised_response):
    a, b = two_files(seed)
    pairs = np.array([(i, j) for i in range(9) for j in range(8)], dtype=np.int32)
    row_a, row_b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    rng = np.random.default_rng(seed)
    first, second, between = (rng.integers(0, n, len(pairs)) for n in (5, 4, 7))
    # Digits: the first field (4 levels and missing), another one, the second field (3 and missing), the exchange.
    out = first + 5 * between + 35 * second
    missing = len(crosswise_bounds(BITS, randomised_response))
    CrosswiseComparison(a, b, randomised_response).add(row_a, row_b, len(pairs), 140, ((1, 4), (35, 3)), out)
    levels = []
    for k, (i, j) in enumerate(pairs.tolist()):
        found = exchanged(a, b, i, j, randomised_response)
        levels.append(found)
        swapped = found is not None and found > 0
        digits = (
            4 if swapped else first[k],
            between[k],
            3 if swapped else second[k],
            missing if found is None else found,
        )
        assert (out[k] % 5, out[k] // 5 % 7, out[k] // 35 % 4, out[k] // 140) == digits
    expected = [levels.count(k) for k in range(missing)]
    with ThreadPoolExecutor(2) as pool:
        counts = CrosswiseComparison(a, b, randomised_response).distribution(pool, rng, 1000)
        assert counts.tolist() == expected
        sampled = CrosswiseComparison(a, b, randomised_response).distribution(pool, rng, 50)
    assert sampled.sum() <= 50


def test_noise_widens_the_bounds():
    assert crosswise_bounds(1024) == crosswise_bounds(64) == BOUNDS
    assert crosswise_bounds(1024, 0.05) == (0.8, 0.954, 1.0)
    assert crosswise_bounds(1024, 0.25) == (0.765, 1.0)


def test_a_sample_estimates_the_shares():
    a, b = two_files(3, 700, 600)
    comparison = CrosswiseComparison(a, b)
    with ThreadPoolExecutor(2) as pool:
        exact = comparison.distribution(pool, np.random.default_rng(1), 10**6)
        sampled = comparison.distribution(pool, np.random.default_rng(1), 200_000)
    assert exact[1:].min() > 0
    assert sampled / sampled.sum() == pytest.approx(exact / exact.sum(), abs=0.005)
