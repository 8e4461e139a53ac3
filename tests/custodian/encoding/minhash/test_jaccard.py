"""The estimator: mean and variance over many keys, with and without randomised response.

Every statistical test here fails by chance, over all seeds, in fewer than one run in 100,000: each of its
at most 12 comparisons is a normal deviate required to stay within 5.5 (4e-8). The seed is fixed and printed
on failure.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import FieldKeys
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.tokens import tokenise
from research._jaccard import agreeing_bits, estimate, jaccard, variance
from tests.custodian.tokens.definition import tokens

SEED = 20140617
BITS = 256
KEYS = 1500
LIMIT = 5.5
PAIRS = [("john", "jon"), ("smith", "smythe"), ("margaret", "margret"), ("ann", "bob"), ("elliot", "elliott")]


@pytest.fixture(scope="module")
def signed() -> NDArray[np.uint64]:
    """Signatures of every pair's values under many keys, shape (keys, pairs, 2, words)."""
    print(f"seed {SEED}")
    generator = np.random.default_rng(SEED)
    sets = tokenise([value for pair in PAIRS for value in pair], "bigrams")
    out = np.empty((KEYS, 2 * len(PAIRS), BITS // 64), dtype=np.uint64)
    for i in range(KEYS):
        out[i] = signatures(sets, FieldKeys(generator.bytes(32), generator.bytes(32)), BITS)
    return out.reshape(KEYS, len(PAIRS), 2, BITS // 64)


def check(estimates: NDArray[np.float64], truth: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    """Mean and variance over keys (rows) are as expected, column by column."""
    n = len(estimates)
    mean = (estimates.mean(axis=0) - truth) / np.sqrt(expected / n)
    # The estimate is a shifted binomial, whose kurtosis is within 2/M of the normal's: Var(s^2) ~ 2 sigma^4/(n - 1).
    spread = (estimates.var(axis=0, ddof=1) / expected - 1) * np.sqrt((n - 1) / 2)
    print("mean", mean.round(2), "variance", spread.round(2))
    assert np.abs(mean).max() < LIMIT
    assert np.abs(spread).max() < LIMIT


def truths() -> NDArray[np.float64]:
    return np.array([jaccard(*(tokens(value, "bigrams") for value in pair)) for pair in PAIRS])


def test_estimate_is_unbiased_with_the_stated_variance(signed: NDArray[np.uint64]) -> None:
    truth = truths()
    assert truth.min() == 0
    assert truth.max() > 0.7
    agreeing = agreeing_bits(signed[:, :, 0], signed[:, :, 1])
    check(estimate(agreeing, BITS, clip=False), truth, variance(truth, BITS))
    np.testing.assert_allclose(variance(truth, BITS), (1 - truth**2) / BITS)


def test_corrected_estimate_is_unbiased_under_randomised_response(signed: NDArray[np.uint64]) -> None:
    randomised_response = 0.1
    generator = np.random.default_rng(SEED + 1)
    flips = generator.random((*signed.shape[:3], BITS)) < randomised_response
    noisy = signed ^ np.packbits(flips, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    agreeing = agreeing_bits(noisy[:, :, 0], noisy[:, :, 1])
    truth = truths()
    check(estimate(agreeing, BITS, randomised_response, clip=False), truth, variance(truth, BITS, randomised_response))


def test_bits_are_balanced_and_agree_with_unrelated_ones_half_of_the_time(signed: NDArray[np.uint64]) -> None:
    ones = np.bitwise_count(signed[:, 3]).sum(dtype=np.int64)
    n = signed[:, 3].size * 64
    assert abs(ones - n / 2) / np.sqrt(n / 4) < LIMIT


def test_estimates_are_clipped_by_default() -> None:
    assert estimate([0, 128, 192, 256], 256).tolist() == [0, 0, 0.5, 1]
    assert estimate([0, 128], 256, clip=False).tolist() == [-1, 0]
    assert estimate(256, 256, randomised_response=0.1) == 1


def test_equal_and_opposite_signatures() -> None:
    word = np.array([[0x0F, 2**64 - 1]], dtype=np.uint64)
    assert agreeing_bits(word, word).tolist() == [128]
    assert agreeing_bits(word, ~word).tolist() == [0]


@pytest.mark.parametrize("randomised_response", [-0.1, 0.5, 0.7, float("nan")])
def test_a_probability_that_leaves_no_information_is_refused(randomised_response: float) -> None:
    with pytest.raises(GemelError, match=r"randomised.response"):
        estimate(1, 64, randomised_response)
