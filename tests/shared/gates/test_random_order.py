"""The order drawn from a key: a permutation, by the definition, each as probable as any other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gemel.shared.gates import permutation as module
from gemel.shared.gates.permutation import random_order
from gemel.shared.gates.streams import Stream


def defined(words: list[int], n: int) -> list[int]:
    """Fisher and Yates, as the docstring says."""
    order = list(range(n))
    for place in range(n - 1, 0, -1):
        word = words.pop(0)
        while word >= 2**64 // (place + 1) * (place + 1):
            word = words.pop(0)
        other = word % (place + 1)
        order[place], order[other] = order[other], order[place]
    return order


@given(st.binary(min_size=32, max_size=32), st.integers(0, 200))
def test_it_agrees_with_the_definition(key: bytes, n: int) -> None:
    order = random_order(key, n)
    assert order.tolist() == defined(Stream(key).words(2 * n + 2).tolist(), n)
    assert sorted(order.tolist()) == list(range(n))


class Words:
    """Words of the test's choice in the place of a key's stream."""

    def __init__(self, words: list[int]) -> None:
        self._words = words

    def words(self, n: int) -> np.ndarray:
        drawn, self._words = self._words[:n], self._words[n:]
        return np.array(drawn, dtype=np.uint64)


def test_words_that_would_prefer_some_places_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^64 is 1 modulo 3 and 5, so that the highest word is left out there, and the one below it used."""
    words = [2**64 - 1, 2**64 - 2, 2**64 - 1, 2**64 - 1, 2**64 - 2, 2**64 - 1, 7, 8]
    monkeypatch.setattr(module, "Stream", lambda key: Words(list(words)))
    assert random_order(bytes(32), 5).tolist() == defined(list(words), 5)


def test_a_long_order_goes_on_over_several_draws() -> None:
    n = 2 * module._WORDS_AT_ONCE + 3
    order = random_order(b"k" * 32, n)
    assert (np.bincount(order, minlength=n) == 1).all()
    assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 5 / n**0.5


def test_all_orders_are_equally_frequent() -> None:
    counts = Counter(tuple(random_order(i.to_bytes(32, "big"), 4).tolist()) for i in range(4800))
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-4
