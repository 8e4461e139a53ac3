"""Shares of plain words, and plain words of shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.shared.gates.gates import Shared


def shares_of(value: NDArray[np.uint64], seed: int | None = None) -> tuple[Shared, Shared, Shared]:
    """What each of the three parties holds of a value."""
    rng = np.random.default_rng(seed)
    s0, s1 = rng.integers(0, 1 << 64, (2, *value.shape), dtype=np.uint64)
    shares = s0, s1, value ^ s0 ^ s1
    one, two, three = (np.stack((shares[i], shares[(i + 1) % 3])) for i in range(3))
    return one, two, three


def value_of(held: Sequence[Shared]) -> NDArray[np.uint64]:
    """The value; both holders of each share must have the same."""
    for i in range(3):
        np.testing.assert_array_equal(held[i][1], held[(i + 1) % 3][0])
    return np.asarray(held[0][0] ^ held[1][0] ^ held[2][0])


PLAIN_ONES = np.full((1, 1), np.uint64(0xFFFFFFFFFFFFFFFF))
"""Ones of circuits on plain words, whose first axis is 1."""


def plain_all_of(requests: list[tuple[Shared, Shared]]) -> list[Shared]:
    """`and` of each pair of plain words: a circuit that runs on it defines what shares are computed of."""
    return [x & y for x, y in requests]
