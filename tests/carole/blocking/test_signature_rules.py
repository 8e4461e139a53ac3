"""Rules over signatures: their pairs are those of the plain definitions, each once, with every rule they satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.blocking.block_size_cap import value_keys, without_large_blocks
from gemel.carole.blocking.rules import KeyedRule, UnionPairs, ValueRule, band_keys
from gemel.carole.blocking.value_relation import canopy_pairs, similar_pairs
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification.model.blocking import Bands
from tests.carole.blocking.definition import banded_pairs, candidate_pairs, canopy_rows, similar_rows, streamed
from tests.carole.engine.progress import quiet
from tests.carole.refusals import refusal

MANY = 10**6


def two_fields(seed, bits=128, n_a=14, n_b=11, n_values=6):
    """A field on both sides, of values that resemble each other more or less."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2**64, (n_values, bits // 64), dtype=np.uint64)
    for i in range(1, n_values):
        flips = np.zeros(bits, dtype=bool)
        flips[rng.choice(bits, rng.integers(1, bits // 3), replace=False)] = True
        if rng.random() < 0.7:
            pool[i] = pool[rng.integers(i)] ^ np.packbits(flips, bitorder="little").view(np.uint64)
    sides = []
    for n in (n_a, n_b):
        values = rng.integers(-1, n_values, n)
        used, codes = np.unique(values[values >= 0], return_inverse=True)
        column = np.full(n, -1, dtype=np.int32)
        column[values >= 0] = codes
        sides.append(FieldSignatures(bits, pool[used], column))
    return sides


@given(seed=st.integers(0, 10**6), size=st.sampled_from([1, 7, 1000]), data=st.data())
def test_the_union_is_that_of_the_definitions(seed, size, data):
    a, b = two_fields(seed)
    keys_a, keys_b = (
        np.random.default_rng(seed + k).integers(0, 4, n).astype(np.uint64) for k, n in ((1, 14), (2, 11))
    )
    bands, bits = data.draw(st.sampled_from([(1, 1), (4, 5), (2, 63), (12, 10)]))
    minimum = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
    tight, loose = data.draw(st.sampled_from([(0.9, 0.5), (0.5, 0.5), (1.0, 0.0)]))
    randomised_response = data.draw(st.sampled_from([0.0, 0.05, 0.123, 0.4]))
    order = np.random.default_rng(seed).permutation(a.n_distinct + b.n_distinct)
    plain = [
        set(candidate_pairs([keys_a], [keys_b])),
        banded_pairs(a, b, bands, bits),
        similar_rows(a, b, minimum, randomised_response),
        canopy_rows(a, b, tight, loose, order.tolist(), randomised_response),
    ]
    source = UnionPairs(
        [
            KeyedRule([keys_a], [keys_b]),
            KeyedRule(band_keys(a, bands, bits), band_keys(b, bands, bits)),
            ValueRule(similar_pairs(a, b, minimum, MANY, quiet, randomised_response), a.codes, b.codes),
            ValueRule(canopy_pairs(a, b, tight, loose, seed, MANY, quiet, randomised_response), a.codes, b.codes),
        ]
    )
    expected = {
        pair: sum(1 << rule for rule, pairs in enumerate(plain) if pair in pairs) for pair in set().union(*plain)
    }
    assert streamed(source, size) == expected
    everybody = np.array([(i, j) for i in range(14) for j in range(11)], dtype=np.int32)
    mask = np.empty(len(everybody), dtype=np.uint32)
    source.mark(np.ascontiguousarray(everybody[:, 0]), np.ascontiguousarray(everybody[:, 1]), len(everybody), mask)
    assert {tuple(pair): bits for pair, bits in zip(everybody.tolist(), mask.tolist(), strict=True) if bits} == expected
    assert source.rows_without_key == tuple(
        int(((keys == 0) & (part.codes < 0)).sum()) for keys, part in ((keys_a, a), (keys_b, b))
    )


def test_a_tree_of_many_signatures_finds_what_comparing_each_pair_finds():
    rng = np.random.default_rng(4)
    base = rng.integers(0, 2**64, (60, 4), dtype=np.uint64)
    noise = rng.integers(0, 2**64, (900, 4), dtype=np.uint64)
    for _ in range(2):
        noise &= rng.integers(0, 2**64, (900, 4), dtype=np.uint64)
    values = np.unique(base[rng.integers(0, 60, 900)] ^ noise, axis=0)
    a = FieldSignatures(256, values[::2], np.arange(len(values[::2]), dtype=np.int32))
    b = FieldSignatures(256, values[1::2], np.arange(len(values[1::2]), dtype=np.int32))
    found = similar_pairs(a, b, 0.6, MANY, quiet)
    different = np.bitwise_count(a.signatures[:, None] ^ b.signatures).sum(axis=2)
    expected = np.argwhere(different <= 51)
    assert 0 < len(expected) < different.size / 10
    rows = np.repeat(np.arange(a.n_distinct), np.diff(found.first))
    assert np.array_equal(np.stack([rows, found.partner], axis=1), expected)
    for too_many in (
        lambda: similar_pairs(a, b, 0.0, 100, quiet),
        lambda: similar_pairs(a, b, 0.3, 100, quiet),
        lambda: canopy_pairs(a, b, 0.9, 0.3, 1, 100, quiet),
    ):
        with refusal(ErrorCode.MEMORY, "require more similarity"):
            too_many()


@pytest.mark.parametrize("randomised_response", [0.0, 0.1])
def test_pairs_share_a_band_as_often_as_by_the_formula(randomised_response):
    rng = np.random.default_rng(9)
    n, jaccard, bands, bits = 20_000, 0.8, 6, 10
    one = rng.integers(0, 2**64, (n, 1), dtype=np.uint64)
    flips = np.packbits(rng.random((n, 64)) < (1 - jaccard) / 2, axis=1).view(np.uint64)
    rows = np.arange(n, dtype=np.int32)
    noise = [np.packbits(rng.random((n, 64)) < randomised_response, axis=1).view(np.uint64) for _ in range(2)]
    sides = one ^ noise[0], one ^ flips ^ noise[1]
    keys = [band_keys(FieldSignatures(64, side, rows), bands, bits) for side in sides]
    shared = np.logical_or.reduce([x == y for x, y in zip(*keys, strict=True)]).mean()
    expected = Bands(field="f", bands=bands, bits=bits).chance(jaccard, randomised_response)
    assert shared == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / n))


def test_bands_that_do_not_fit_are_refused():
    a, _ = two_fields(1)
    for bands, bits in ((3, 43), (1, 64), (0, 4), (2, 0)):
        with refusal(ErrorCode.PARAMETER, "fit into the signature"):
            band_keys(a, bands, bits)


def test_large_blocks_are_split_or_dropped():
    keys_a = np.array([1] * 6 + [2, 2, 0], dtype=np.uint64)
    keys_b = np.array([1] * 5 + [2, 2, 0], dtype=np.uint64)
    same_a, same_b, skew = without_large_blocks(keys_a, keys_b, 30)
    assert same_a is keys_a
    assert same_b is keys_b
    assert (skew.split, skew.dropped) == (0, 0)
    dropped_a, _, skew = without_large_blocks(keys_a, keys_b, 29)
    assert dropped_a.tolist() == [0] * 6 + [2, 2, 0]
    assert (skew.dropped, skew.largest_dropped, skew.pairs_dropped) == (1, (6, 5), 30)
    further = FieldSignatures(64, np.array([[7], [8]], np.uint64), np.array([0, 0, 0, 1, 1, -1, 0, 1, 0], np.int32))
    other = FieldSignatures(64, np.array([[8], [7]], np.uint64), np.array([1, 0, 0, -1, 1, 0, 0, 0], np.int32))
    split_a, split_b, skew = without_large_blocks(keys_a, keys_b, 20, (value_keys(further), value_keys(other)))
    assert (skew.split, skew.largest_split, skew.dropped) == (1, (6, 5), 0)
    pairs = candidate_pairs([split_a], [split_b])
    inside = {(i, j) for i, j in candidate_pairs([keys_a], [keys_b]) if i >= 6}
    alike = {
        (i, j) for i in range(5) for j in (0, 1, 2, 4)
        if further.signatures[further.codes[i]] == other.signatures[other.codes[j]]
    }  # fmt: skip
    assert set(pairs) == inside | alike
    _, _, skew = without_large_blocks(keys_a, keys_b, 4, (value_keys(further), value_keys(other)))
    assert (skew.split, skew.dropped, skew.largest_dropped) == (1, 1, (3, 2))
