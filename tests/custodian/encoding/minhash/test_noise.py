"""Randomised response: the bulk form against the definition, the rate of inverted bits, and what two noises have in
common.

Keys and seeds are fixed. A normal deviate is required to stay within 5.5, which chance exceeds in one of 25 million.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import FieldKeys
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.suite import Suite
from gemel.custodian.encoding.minhash import response_threshold, signatures, with_randomised_response
from gemel.custodian.tokens import tokenise
from research._jaccard import agreeing_bits, estimate, jaccard, variance
from tests.custodian.encoding.minhash.definition import flips, words
from tests.custodian.tokens.definition import tokens

LIMIT = 5.5
OURS = NoiseKey(bytes(range(32))).derive("people", "surname")
THEIRS = NoiseKey(bytes(range(1, 33))).derive("people", "surname")


def random_signatures(n: int, n_words: int, seed: int = 1) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, (n, n_words), dtype=np.uint64)


def deviate(found: int, n: int, p: float) -> float:
    """How many standard deviations a binomial count lies from what is expected."""
    return abs(found - n * p) / np.sqrt(n * p * (1 - p))


@given(
    seed=st.integers(0, 2**32),
    n_words=st.sampled_from([1, 2, 3, 4, 7]),
    n=st.integers(0, 5),
    secret=st.binary(min_size=64, max_size=64),
    randomised_response=st.sampled_from([0.0, 0.001, 0.05, 0.25, 0.4, 0.49999]),
    suite=st.sampled_from(Suite),
)
def test_fast_agrees_with_the_definition(
    seed: int, n_words: int, n: int, secret: bytes, randomised_response: float, suite: Suite
) -> None:
    keys = FieldKeys(secret[:32], secret[32:], suite)
    signed = random_signatures(n, n_words, seed)
    made = with_randomised_response(signed, keys, randomised_response)
    expected = [
        [word ^ change for word, change in zip(row, words(flips(row, keys, randomised_response)), strict=True)]
        for row in signed.tolist()
    ]
    assert made.dtype == np.uint64
    assert made.tolist() == expected
    assert signed.tolist() == random_signatures(n, n_words, seed).tolist()  # what was given is left alone


def test_frozen_noise() -> None:
    """A version with other noise would send a second noisy look at every signature; made by the definition."""
    noise = [words(flips(row, OURS, 0.1)) for row in random_signatures(50, 3).tolist()]
    digest = hashlib.sha256(np.array(noise, dtype="<u8").tobytes()).hexdigest()
    assert digest == "52de70d7db655a5938b84f001ba708be27de7b8f6ecff5c9500904b58fe6b82b"


@pytest.mark.parametrize("randomised_response", [0.001, 0.05, 0.1, 0.25, 0.4])
def test_bits_are_inverted_at_the_requested_rate(randomised_response: float) -> None:
    n, n_words = 4000, 16
    signed = random_signatures(n, n_words)
    noise = with_randomised_response(signed, OURS, randomised_response) ^ signed
    rate = response_threshold(randomised_response) / 65536
    assert rate == pytest.approx(randomised_response, abs=1 / 131072)
    assert deviate(int(np.bitwise_count(noise).sum()), noise.size * 64, rate) < LIMIT
    bits = np.unpackbits(noise.view(np.uint8), axis=1)
    assert max(deviate(int(count), n, rate) for count in bits.sum(axis=0)) < LIMIT
    # Neighbouring bits, and the same bit of neighbouring signatures, are inverted independently.
    for together in (bits[:, 1:] & bits[:, :-1], bits[1:] & bits[:-1]):
        assert deviate(int(together.sum()), together.size, rate**2) < LIMIT


def test_a_signature_has_its_noise_whatever_else_is_sent() -> None:
    signed = random_signatures(1500, 16)
    made = with_randomised_response(signed, OURS, 0.1)
    order = np.random.default_rng(2).permutation(len(signed))[:700]
    np.testing.assert_array_equal(with_randomised_response(signed[order], OURS, 0.1), made[order])
    for row in (0, 511, 512, 1499):
        np.testing.assert_array_equal(with_randomised_response(signed[row : row + 1], OURS, 0.1)[0], made[row])


def test_another_custodian_domain_or_project_has_independent_noise() -> None:
    signed, randomised_response = random_signatures(3000, 16), 0.1
    ours = with_randomised_response(signed, OURS, randomised_response) ^ signed
    own = NoiseKey(bytes(range(32)))
    for keys in (THEIRS, own.derive("people", "given"), own.derive("others", "surname")):
        theirs = with_randomised_response(signed, keys, randomised_response) ^ signed
        rate = response_threshold(randomised_response) / 65536
        assert deviate(int(np.bitwise_count(ours & theirs).sum()), signed.size * 64, rate**2) < LIMIT


def test_signatures_that_differ_in_one_bit_have_independent_noise() -> None:
    signed, randomised_response = random_signatures(3000, 2), 0.25
    near = signed ^ np.array([0, 1 << 63], dtype=np.uint64)
    both = (with_randomised_response(signed, OURS, randomised_response) ^ signed) & (
        with_randomised_response(near, OURS, randomised_response) ^ near
    )
    assert deviate(int(np.bitwise_count(both).sum()), both.size * 64, randomised_response**2) < LIMIT


@pytest.mark.parametrize("randomised_response", [0.05, 0.25])
def test_similarities_of_two_custodians_are_estimated_without_bias(randomised_response: float) -> None:
    bits, n = 256, 1500
    pairs = [("john", "jon"), ("margaret", "margret"), ("ann", "bob"), ("elliot", "elliot")]
    generator = np.random.default_rng(20140617)
    sets = tokenise([value for pair in pairs for value in pair], "bigrams")
    agreeing = np.empty((n, len(pairs)), dtype=np.int64)
    for i in range(n):
        signed = signatures(sets, FieldKeys(generator.bytes(32), generator.bytes(32)), bits)
        sides = [
            with_randomised_response(signed[side::2], keys, randomised_response)
            for side, keys in enumerate((OURS, THEIRS))
        ]
        agreeing[i] = agreeing_bits(*sides)
    truth = np.array([jaccard(*(tokens(value, "bigrams") for value in pair)) for pair in pairs])
    expected = variance(truth, bits, randomised_response)
    found = estimate(agreeing, bits, randomised_response, clip=False)
    assert np.abs((found.mean(axis=0) - truth) / np.sqrt(expected / n)).max() < LIMIT
    assert np.abs((found.var(axis=0, ddof=1) / expected - 1) * np.sqrt((n - 1) / 2)).max() < LIMIT


@pytest.mark.parametrize("randomised_response", [-0.1, 0.5, float("nan")])
def test_a_probability_that_leaves_no_information_is_refused(randomised_response: float) -> None:
    with pytest.raises(GemelError, match=r"randomised.response"):
        with_randomised_response(random_signatures(1, 1), OURS, randomised_response)
