"""Slide 9 of Smith and Shlomo 2014: bias and mean squared error of three estimates of Jaccard similarity.

Theory gives the errors of both minwise estimates exactly: mean (1 - J^2)/M of the 1-bit one and J(1 - J)/(M/64) of the
full one at equal storage. Over 90,000 pairs of 600 names they are averages of strongly dependent errors (a name's
signature enters 300 pairs, and names share bigrams), so means over replicates are held to a tenth of themselves, and
biases to four of their standard errors over replicates.
"""

from __future__ import annotations

import numpy as np
import pytest

from research._jaccard import jaccard as plain_jaccard
from research.similarity import BANDS, METHODS, bigrams, bloom, jaccard, membership, minwise, name_files, one_bit, study

LENGTHS = (256, 1024)
REPLICATES = 8


@pytest.fixture(scope="module")
def found():
    return study(REPLICATES, 9, LENGTHS)


def of(values, method):
    """One method's values, shape (n_lengths, n_replicates)."""
    return values[:, METHODS.index(method)]


@pytest.mark.long
def test_both_minwise_estimates_are_unbiased(found):
    for method in METHODS[:2]:
        bias = of(found.bias, method)
        standard_error = bias.std(axis=1, ddof=1) / np.sqrt(REPLICATES)
        assert (np.abs(bias.mean(axis=1)) < 4 * standard_error + 1e-4).all()


@pytest.mark.long
def test_errors_of_both_minwise_estimates_are_what_theory_says(found):
    truth = found.truth
    for i, bits in enumerate(LENGTHS):
        assert of(found.mse, "1-bit minwise")[i].mean() == pytest.approx((1 - truth**2).mean() / bits, rel=0.1)
    for i, bits in enumerate(LENGTHS):
        # Names share bigrams, so whole rows of this error move together.
        expected = (truth * (1 - truth)).mean() * 64 / bits
        assert of(found.mse, METHODS[0])[i].mean() == pytest.approx(expected, rel=0.35)


@pytest.mark.long
def test_at_equal_storage_one_bit_of_many_hashes_beats_all_bits_of_few(found):
    assert (of(found.mse, "1-bit minwise").mean(axis=1) < of(found.mse, METHODS[0]).mean(axis=1)).all()
    assert (of(found.mse, "1-bit minwise, clipped") < of(found.mse, "1-bit minwise")).all()


@pytest.mark.long
def test_bloom_filters_are_biased_upwards_the_more_hashes_the_more(found):
    ten, thirty = of(found.bias, "Bloom filter, 10 hashes"), of(found.bias, "Bloom filter, 30 hashes")
    assert (ten > 0.01).all()
    assert (thirty > 2 * ten).all()
    corrected = of(found.bias, "Bloom filter, 10 hashes, corrected")
    assert (np.abs(corrected.mean(axis=1)) < ten.mean(axis=1) / 2).all()
    assert (ten.mean(axis=1)[1:] < ten.mean(axis=1)[:-1]).all()


@pytest.mark.long
def test_in_every_band_of_similarity_the_signature_is_unbiased_and_the_filter_is_not(found):
    one, thirty = METHODS.index("1-bit minwise"), METHODS.index("Bloom filter, 30 hashes")
    unequal = slice(0, len(BANDS) - 1)
    assert (np.abs(found.band_bias[1, one, unequal]) < 0.01).all()
    assert (found.band_bias[1, thirty, unequal] > 0.02).all()
    assert found.band_mse[:, :, -1] == pytest.approx(0)


def test_the_study_s_own_pieces_are_the_definitions():
    rng = np.random.default_rng(5)
    names_a, names_b = (names[:40] for names in name_files(rng))
    sets_a, sets_b = bigrams(names_a), bigrams(names_b)
    assert bigrams(["john"]) == [frozenset({"_j", "jo", "oh", "hn", "n_"})]
    tokens = sorted(frozenset().union(*sets_a, *sets_b))
    a, b = membership(sets_a, tokens), membership(sets_b, tokens)
    truth = jaccard(a, b)
    assert truth == pytest.approx(np.array([[plain_jaccard(x, y) for y in sets_b] for x in sets_a]))
    # With hashes without end every estimate but the uncorrected filter's arrives.
    assert minwise(a, b, 4000, rng) == pytest.approx(truth, abs=0.05)
    assert one_bit(names_a, names_b, 8192, rng, clip=False) == pytest.approx(truth, abs=0.06)
    assert bloom(a, b, 100_000, 5, rng, corrected=True) == pytest.approx(truth, abs=0.05)
