"""The compiled comparison agrees with the plain definition, for every size and every number of bits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.carole.comparison.kernels import disagreement_limits, levels_by_disagreement
from gemel.carole.comparison.levels import FieldComparison, equal_pairs
from gemel.common.signatures.signature_sets import FieldSignatures
from tests.carole.comparison import definition

EM8 = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)
EM15 = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.999, 1.0)
FLIPS = st.sampled_from([0.0, 0.001, 0.05, 0.123, 0.25, 0.4])
BOUNDS = st.sampled_from([EM8, EM15, (0.999, 1.0), (1.0,), (0.0, 0.5, 1.0)])
POOL = ThreadPoolExecutor(2)


def field(rng, bits, n_distinct, n_rows, near=None):
    """A field of random signatures; those of `near` come back with a random share of their bits randomised."""
    words = bits // 64
    signatures = rng.integers(0, 2**64, (n_distinct, words), dtype=np.uint64)
    if near is not None and near.n_distinct and n_distinct:
        flips = np.full((n_distinct, words), 2**64 - 1, dtype=np.uint64)
        for _ in range(int(rng.integers(1, 8))):
            flips &= rng.integers(0, 2**64, (n_distinct, words), dtype=np.uint64)
        flips[rng.random(n_distinct) < 0.3] = 0
        signatures = near.signatures[rng.integers(0, near.n_distinct, n_distinct)] ^ flips
    codes = rng.integers(-1, n_distinct, n_rows).astype(np.int32)
    return FieldSignatures(bits, signatures, codes)


@st.composite
def fields(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bits = 64 * draw(st.sampled_from([1, 2, 3, 5, 8, 9, 16, 31, 128]))
    sizes = st.sampled_from([0, 1, 2, 63, 64, 65, 130])
    a = field(rng, bits, draw(sizes), draw(sizes))
    b = field(rng, bits, draw(st.sampled_from([0, 1, 7, 511, 512, 513])), draw(sizes), near=a)
    return rng, a, b


@given(bits=st.integers(1, 128).map(lambda words: 64 * words), bounds=BOUNDS, randomised_response=FLIPS)
def test_levels_by_disagreement_are_the_definition(bits, bounds, randomised_response):
    expected = [
        definition.level(bits - d, bits, bounds, randomised_response) for d in range(0, bits + 1, max(1, bits // 64))
    ]
    assert levels_by_disagreement(bits, bounds, randomised_response)[:: max(1, bits // 64)].tolist() == expected


@given(bits=st.integers(1, 128).map(lambda words: 64 * words), bounds=BOUNDS, randomised_response=FLIPS)
def test_limits_are_where_the_estimate_passes_a_bound(bits, bounds, randomised_response):
    for limit, bound in zip(disagreement_limits(bits, bounds, randomised_response), bounds, strict=False):
        exact = Fraction(str(bound))
        assert limit == -1 or definition.jaccard_estimate(bits - int(limit), bits, randomised_response) > exact
        assert definition.jaccard_estimate(bits - int(limit) - 1, bits, randomised_response) <= exact


def test_the_estimate_is_corrected_for_randomised_bits():
    # Of 640 bits 416 agree: (2 * 416/640 - 1)/(1 - 2 * .1)^2 = .3/.64.
    assert definition.jaccard_estimate(416, 640, 0.1) == Fraction(30, 64)
    assert definition.jaccard_estimate(640, 640, 0.1) == Fraction(100, 64)
    assert definition.level(640, 640, EM8, 0.1) == 7
    assert definition.level(416, 640, EM8, 0.1) == 2
    assert definition.level(416, 640, EM8) == 1


def test_bounds_are_inclusive_decimals():
    # 2n/M - 1 is exactly .2 here and .4 there, which floating point would put above their bounds.
    assert definition.level(384, 640, EM8) == 0
    assert levels_by_disagreement(640, EM8)[640 - 384] == 0
    assert levels_by_disagreement(640, EM8)[640 - 385] == 1
    assert levels_by_disagreement(320, EM8)[320 - 224] == 1
    assert definition.jaccard_estimate(384, 640) == Fraction(1, 5)
    assert definition.jaccard_estimate(10, 640) == Fraction(-31, 32)
    assert definition.level(10, 640, EM8) == 0


@given(pair=fields(), bounds=BOUNDS, randomised_response=FLIPS)
def test_table_and_counts_agree_with_the_definition(pair, bounds, randomised_response):
    rng, a, b = pair
    table = FieldComparison(a, b, bounds, "jaccard", randomised_response).level_table(POOL)
    assert table.shape == (a.n_distinct, b.n_distinct)
    checked = zip(rng.integers(0, 2**31, 60), rng.integers(0, 2**31, 60), strict=True) if table.size else ()
    for i, j in checked:
        i, j = int(i) % a.n_distinct, int(j) % b.n_distinct
        n = definition.agreeing_bits(a.signatures[i], b.signatures[j])
        assert table[i, j] == definition.level(n, a.bits, bounds, randomised_response)
    present_a, present_b = a.codes[a.codes >= 0], b.codes[b.codes >= 0]
    expected = np.bincount(table[np.ix_(present_a, present_b)].ravel(), minlength=len(bounds))
    for known in (table, None):
        counts = FieldComparison(a, b, bounds, "jaccard", randomised_response, known).counts(POOL)
        assert counts.tolist() == expected.tolist()


@given(pair=fields(), bounds=BOUNDS, n_pairs=st.sampled_from([0, 1, 200]), randomised_response=FLIPS)
def test_chosen_pairs_agree_with_the_table(pair, bounds, n_pairs, randomised_response):
    rng, a, b = pair
    if len(a.codes) == 0 or len(b.codes) == 0:
        n_pairs = 0
    row_a = rng.integers(0, max(1, len(a.codes)), n_pairs).astype(np.int32)
    row_b = rng.integers(0, max(1, len(b.codes)), n_pairs).astype(np.int32)
    table = FieldComparison(a, b, bounds, "jaccard", randomised_response).level_table(POOL)
    out = np.full((2, n_pairs + 1), 1000, dtype=np.int64)
    FieldComparison(a, b, bounds, table=table).add(row_a, row_b, n_pairs, 7, out[0])
    FieldComparison(a, b, bounds, randomised_response=randomised_response).add(row_a, row_b, n_pairs, 7, out[1])
    for i in range(n_pairs):
        in_a, in_b = a.codes[row_a[i]], b.codes[row_b[i]]
        level = len(bounds) if in_a < 0 or in_b < 0 else int(table[in_a, in_b])
        assert out[0, i] == out[1, i] == 1000 + 7 * level
    assert (out[:, n_pairs] == 1000).all()


def test_a_memory_map_can_be_compared():
    rng = np.random.default_rng(1)
    a = field(rng, 128, 5, 9)
    for array in (a.signatures, a.codes):
        array.flags.writeable = False
    table = FieldComparison(a, a, EM8).level_table(POOL)
    assert (table.diagonal() == 7).all()
    out = np.zeros(1, dtype=np.int64)
    FieldComparison(a, a, EM8, table=table).add(np.zeros(1, np.int32), np.zeros(1, np.int32), 1, 1, out)


@settings(max_examples=20)
@given(pair=fields())
def test_equal_pairs_are_counted_exactly(pair):
    _, a, b = pair
    values_a = [a.signatures[c].tobytes() for c in a.codes if c >= 0]
    values_b = [b.signatures[c].tobytes() for c in b.codes if c >= 0]
    # Signatures need not be distinct here: two codes may then stand for one value, once on each side.
    if len(np.unique(a.signatures, axis=0)) == a.n_distinct and len(np.unique(b.signatures, axis=0)) == b.n_distinct:
        assert equal_pairs(a, b) == sum(x == y for x in values_a for y in values_b)


def test_a_sample_of_randomised_signatures_is_near_the_exact_distribution():
    """As below; of unlike signatures at the top level, which randomised bits cause, there are three in a hundred."""
    rng = np.random.default_rng(7)
    a, b = field(rng, 256, 300, 2000), field(rng, 256, 350, 1500)
    noisy = a.signatures[rng.integers(0, 300, 350)]
    for _ in range(2):
        flips = np.packbits(rng.random((350, 256)) < 0.1, axis=1).view(np.uint64)
        noisy = noisy ^ flips
    b = FieldSignatures(256, noisy, b.codes)
    compared = FieldComparison(a, b, (0.4, 0.854, 1.0), randomised_response=0.1)
    exact = compared.distribution(POOL, rng, 10**9, 0)
    sampled = compared.distribution(POOL, rng, 0, 400_000)
    assert equal_pairs(a, b) == 0
    assert exact[-1] / exact.sum() > 0.002
    assert sampled / sampled.sum() == pytest.approx(exact / exact.sum(), abs=0.001)


def test_sampled_distribution_is_near_the_exact_one_and_exact_on_equality():
    """40,000 pairs drawn: a share of .1 has a standard error of .0015; the tolerance is five of them."""
    rng = np.random.default_rng(7)
    a = field(rng, 256, 300, 2000)
    b = field(rng, 256, 350, 1500, near=a)
    _, first = np.unique(b.signatures, axis=0, return_index=True)
    b = FieldSignatures(256, b.signatures[first], (b.codes % len(first)).astype(np.int32))
    exact, sampled = (
        FieldComparison(a, b, EM8).distribution(POOL, rng, *limits) for limits in ((10**9, 0), (0, 40_000))
    )
    assert exact.sum() == int((a.codes >= 0).sum()) * int((b.codes >= 0).sum())
    assert sampled.sum() == pytest.approx(40_000)
    sampled, exact = sampled / sampled.sum(), exact / exact.sum()
    assert np.abs(sampled - exact).max() < 0.0075
    assert sampled[-1] == pytest.approx(exact[-1], rel=1e-12)
    assert exact[-1] > 0


def test_a_sample_does_not_depend_on_the_threads():
    rng = np.random.default_rng(7)
    a, b = field(rng, 64, 50, 200), field(rng, 64, 50, 200)
    with ThreadPoolExecutor(1) as one:
        draws = [
            FieldComparison(a, b, EM8).distribution(pool, np.random.default_rng(3), 0, 2**19 + 5)
            for pool in (one, POOL)
        ]
    assert (draws[0] == draws[1]).all()


def test_a_field_missing_everywhere_has_no_distribution():
    rng = np.random.default_rng(7)
    a = FieldSignatures(64, np.empty((0, 1), np.uint64), np.full(4, -1, np.int32))
    drawn = FieldComparison(a, field(rng, 64, 3, 5), EM8).distribution(POOL, rng, 0, 10)
    assert drawn.tolist() == [0] * 8
