"""Streamed candidate pairs are those of the definition, each once, whatever the size of the parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.blocking.candidates import AllPairs, CandidatePairs
from gemel.common.errors import GemelError
from tests.carole.blocking.definition import candidate_pairs, streamed


@st.composite
def keys(draw):
    n_a, n_b, n_rules = draw(st.integers(0, 12)), draw(st.integers(0, 12)), draw(st.integers(1, 4))
    values = st.sampled_from([0, 0, 1, 2, 3, 2**63, 2**64 - 1])
    return tuple(
        [np.array(draw(st.lists(values, min_size=n, max_size=n)), np.uint64) for _ in range(n_rules)]
        for n in (n_a, n_b)
    )


@given(keys=keys(), size=st.sampled_from([1, 2, 7, 1000]))
def test_candidates_are_those_of_the_definition(keys, size):
    source = CandidatePairs(*keys)
    expected = candidate_pairs(*keys)
    assert streamed(source, size) == expected
    per_rule = [sum(mask >> rule & 1 for mask in expected.values()) for rule in range(len(keys[0]))]
    assert list(source.pairs_per_rule) == per_rule
    assert source.n_pairs == sum(per_rule)
    unreachable = tuple(int((np.stack(side) == 0).all(axis=0).sum()) for side in keys)
    assert source.rows_without_key == unreachable


@given(n_a=st.integers(0, 9), n_b=st.integers(0, 9), size=st.sampled_from([1, 3, 100]))
def test_all_pairs_are_the_product(n_a, n_b, size):
    source = AllPairs(n_a, n_b)
    assert streamed(source, size) == {(i, j): 0 for i in range(n_a) for j in range(n_b)}
    assert source.n_pairs == n_a * n_b


def test_thirty_two_rules_fit_the_mask():
    one = np.array([1], np.uint64)
    source = CandidatePairs([one] * 32, [one] * 32)
    assert streamed(source, 10) == {(0, 0): 2**32 - 1}
    with pytest.raises(GemelError, match="1 to 32 blocking rules"):
        CandidatePairs([one] * 33, [one] * 33)


def test_large_blocks_are_reported_by_size_only():
    keys_a = [np.array([5, 5, 5, 6, 0, 0], np.uint64), np.array([7, 7, 0, 0, 0, 8], np.uint64)]
    keys_b = [np.array([5, 5, 6, 0], np.uint64), np.array([7, 7, 7, 7], np.uint64)]
    source = CandidatePairs(keys_a, keys_b)
    assert source.blocks_above(5) == [(1, 2, 4), (0, 3, 2)]
    assert [block.pairs for block in source.blocks_above(5)] == [8, 6]


def test_arrays_of_different_length_are_refused():
    with pytest.raises(GemelError, match="one key per row"):
        CandidatePairs([np.ones(2, np.uint64), np.ones(3, np.uint64)], [np.ones(1, np.uint64)] * 2)
