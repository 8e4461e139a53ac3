"""Counts of packed vectors against a dictionary, packing there and back, numbers of equal rows, and memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.comparison.counting import PatternCounter, summed
from gemel.carole.engine.run.contribution import Packing, row_numbers
from gemel.carole.engine.run.resources import MemoryBudget
from gemel.common.errors import ErrorCode
from tests.carole.refusals import refusal

ONE = np.ones(1, dtype=np.int64)
KEYS = st.lists(st.tuples(st.integers(0, 9) | st.integers(0, 2**63 - 1), st.integers(0, 2) | st.just(2**32 - 1)))


def arrays(keys):
    return np.array([k for k, _ in keys], np.int64), np.array([m for _, m in keys], np.uint32)


@given(parts=st.lists(KEYS, min_size=1, max_size=4))
def test_counts_are_those_of_a_dictionary(parts):
    counters = [PatternCounter(1000) for _ in parts]
    for counter, keys in zip(counters, parts, strict=True):
        code, mask = arrays(keys)
        assert counter.add(code, mask, ONE, len(keys))
        assert len(counter.items()[0]) == len(set(keys))
    code, mask, count = summed([counter.items() for counter in counters])
    expected = Counter(key for keys in parts for key in keys)
    keys = list(zip(code.tolist(), mask.tolist(), strict=True))
    assert keys == sorted(expected)
    assert dict(zip(keys, count.tolist(), strict=True)) == expected


def test_a_counter_grows_and_stops_at_its_limit():
    n = 20_000
    code, mask = np.arange(n), np.zeros(n, np.uint32)
    counter = PatternCounter(n)
    assert counter.add(code, mask, ONE, n)
    assert counter.add(code, mask, ONE, n)
    assert (counter.items()[2] == 2).all()
    assert not PatternCounter(n - 1).add(code, mask, ONE, n)
    assert not PatternCounter(10).add(code, mask, ONE, 11)
    assert PatternCounter(10).add(code, mask, ONE, 10)


def test_selected_keys_are_found_where_they_are():
    selected = PatternCounter(10)
    assert selected.add(np.array([5, 5, 7]), np.array([0, 1, 0], np.uint32), np.array([1, 2, 3]), 3)
    code = np.array([7, 5, 6, 5, 5, 7], np.int64)
    mask = np.array([0, 1, 0, 0, 2, 0], np.uint32)
    position, value = np.empty(6, np.int32), np.empty(6, np.int32)
    n = selected.find(code, mask, 5, position, value)
    assert position[:n].tolist() == [0, 1, 3]
    assert value[:n].tolist() == [2, 1, 0]


@given(gamma=st.integers(1, 9).flatmap(lambda q: st.tuples(*[st.tuples(st.integers(1, 15))] * q)), draw=st.data())
def test_packing_can_be_undone(gamma, draw):
    n_levels = [levels for (levels,) in gamma]
    packing = Packing([f"f{q}" for q in range(len(n_levels))], n_levels)
    vectors = draw.draw(st.lists(st.tuples(*[st.integers(-1, levels - 1) for levels in n_levels]), max_size=5))
    codes = [
        sum(stride * (levels if k < 0 else k) for stride, levels, k in zip(packing.strides, n_levels, v, strict=True))
        for v in vectors
    ]
    assert packing.unpack(np.array(codes, np.int64)).tolist() == [list(v) for v in vectors]


def test_more_vectors_than_a_code_can_hold_are_refused():
    assert Packing(["f"] * 15, [15] * 15).strides[-1] == 2**56
    why = r"fewer than 2\*\*63 possible comparison vectors, got 2\*\*64 .*: f0 15, f1 15"
    with refusal(ErrorCode.PARAMETER, why):
        Packing([f"f{q}" for q in range(16)], [15] * 16)


def test_a_memory_budget_is_kept():
    budget = MemoryBudget(100 * 2**20)
    budget.take(60 * 2**20, "the first thing", "do without")
    assert not budget.try_take(30 * 2**20, share=0.5)
    assert budget.try_take(20 * 2**20, share=0.5)
    with refusal(ErrorCode.MEMORY, r"the next thing needs 30 MiB .* 20 MiB are left .*grant 110 MiB or more"):
        budget.take(30 * 2**20, "the next thing", "do without")
    budget.give_back(60 * 2**20)
    assert budget.free == 80 * 2**20
    assert budget.peak == 80 * 2**20


WIDE = st.sampled_from([-(2**62), -5, -1, 0, 1, 7, 2**31, 2**62])
"""Two columns of these do not fit into one number."""


@st.composite
def tables(draw):
    n, width = draw(st.integers(0, 12)), draw(st.integers(1, 5))
    values = draw(st.sampled_from([st.integers(-1, 2), WIDE, st.booleans()]))
    rows = draw(st.lists(values, min_size=n * width, max_size=n * width))
    return np.array(rows).astype(bool if rows and isinstance(rows[0], bool) else np.int64).reshape(n, width)


@given(tables())
def test_numbers_of_equal_rows_are_those_of_sorted_rows(table):
    expected = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    assert row_numbers(list(table.T)).tolist() == expected.tolist()
