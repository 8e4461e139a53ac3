"""Orders of rows: all equally likely, never from a seed."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from gemel.custodian.encoding.columns import random_order


def test_all_orders_are_equally_likely() -> None:
    # Chi-square of 24 orders, 23 degrees of freedom: above 95 with probability 1e-10. The source has no seed.
    draws = 4800
    counts = Counter(tuple(random_order(4).tolist()) for _ in range(draws))
    expected = draws / 24
    assert len(counts) == 24
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 95


def test_equal_draws_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [np.array(draw, dtype=np.uint64).tobytes() for draw in ([5, 7, 5], [9, 1, 4])]
    monkeypatch.setattr(os, "urandom", lambda size: answers.pop(0))
    assert random_order(3).tolist() == [1, 2, 0]
    assert answers == []
