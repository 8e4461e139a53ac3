"""Classes of link probabilities: many pairs and several comparison vectors in each, totals kept, order kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.engine.run.result import BOUNDS, FEWEST, MIN_VECTORS, classed

PAIRS = st.lists(st.tuples(st.one_of(st.floats(0, 1), st.sampled_from(BOUNDS)), st.integers(0, 9)), max_size=200)


@given(PAIRS)
def test_each_number_is_of_many_pairs_of_several_vectors(pairs: list[tuple[float, int]]) -> None:
    probability, vector = np.array([p for p, _ in pairs]), np.array([v for _, v in pairs], dtype=np.int64)
    shown = classed(probability, vector)
    numbers = np.unique(shown)
    if len(numbers) > 1:
        assert all(int((shown == number).sum()) >= FEWEST for number in numbers)
        assert all(len(np.unique(vector[shown == number])) >= MIN_VECTORS for number in numbers)
    assert ((shown >= 0) & (shown <= 1)).all()
    if len(pairs) >= FEWEST and len(np.unique(vector)) >= MIN_VECTORS:
        assert abs(shown.sum() - probability.sum()) <= 5e-4 * len(pairs) + 1e-9
        order = np.argsort(probability, kind="stable")
        assert (np.diff(shown[order]) >= 0).all()


def test_pairs_of_one_class_have_one_number() -> None:
    probability = np.repeat([0.1, 0.6, 0.7, 0.95, 0.999], 30)
    vector = np.arange(len(probability)) % 7
    shown = classed(probability, vector)
    assert np.unique(shown).tolist() == [0.1, 0.65, 0.95, 0.999]
    # A class of one vector tells which: it is joined with the next.
    vector[:30] = 0
    assert np.unique(classed(probability, vector)).tolist() == [0.467, 0.95, 0.999]


def test_few_pairs_are_shown_in_round_numbers() -> None:
    assert classed(np.array([0.9734]), np.array([3])).tolist() == [1.0]
    assert classed(np.empty(0), np.empty(0, dtype=np.int64)).tolist() == []
