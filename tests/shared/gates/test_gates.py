"""The kernels of the gates against numpy; random orders against what is uniform."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gemel.shared.gates.gates import add_products, draw_order, gate_differences, pick_gates, scatter_gates
from tests.shared.gates.plain import shares_of, value_of

RNG = np.random.default_rng(31)


def words(*shape: int) -> np.ndarray:
    return RNG.integers(0, 1 << 64, shape, dtype=np.uint64)


def shuffled(parts: np.ndarray, bucket_bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = parts.shape[1]
    gates, begins = np.empty((n, 6), dtype=np.uint64), np.empty((1 << bucket_bits) + 1, dtype=np.int64)
    scatter_gates(parts, words(n), 64 - bucket_bits, gates, begins)
    order = np.empty(n, dtype=np.int32)
    draw_order(words(n), begins, order)
    return gates, begins, order


def test_products() -> None:
    x, y = words(9), words(9)
    parts = []
    for x_held, y_held in zip(shares_of(x), shares_of(y), strict=True):
        parts.append(np.zeros(9, dtype=np.uint64))
        add_products(*x_held, *y_held, np.zeros(9, dtype=np.uint64), parts[-1])
    np.testing.assert_array_equal(parts[0] ^ parts[1] ^ parts[2], x & y)
    out, mask = words(9), words(9)
    expected = out ^ mask ^ parts[-1]
    add_products(*x_held, *y_held, mask, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("bucket_bits", [0, 1, 4])
def test_shuffled_gates_are_the_same_gates(bucket_bits: int) -> None:
    parts = words(6, 200)
    gates, begins, order = shuffled(parts, bucket_bits)
    assert sorted(order.tolist()) == list(range(200))
    assert begins[0] == 0
    assert begins[-1] == 200
    assert sorted(map(tuple, gates[order].tolist())) == sorted(map(tuple, parts.T.tolist()))


@pytest.mark.parametrize("bucket_bits", [0, 2])
def test_every_order_is_as_likely(bucket_bits: int) -> None:
    """24 orders of 4 gates, 4800 times: chi-squared with 23 degrees of freedom exceeds 73 once in a million."""
    parts = np.arange(24, dtype=np.uint64).reshape(6, 4)
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(4800):
        gates, _, order = shuffled(parts, bucket_bits)
        found[tuple(gates[order, 0].tolist())] += 1
    assert len(found) == 24
    assert sum((count - 200) ** 2 / 200 for count in found.values()) < 73


def test_picked_gates_are_rotated_and_exchange_bits() -> None:
    gates, order, drawn, swapped = words(20, 6), RNG.permutation(20).astype(np.int32), words(20), words(10)
    drawn[3] &= ~np.uint64(63)
    out = np.empty((6, 12), dtype=np.uint64)
    pick_gates(gates, order, drawn, swapped, 2, out)
    for column in range(6):
        for place in range(2, 14, 2):
            mask = int(swapped[place // 2])
            one, other = (
                int(f"{int(gates[order[k], column]):064b}"[by:] + f"{int(gates[order[k], column]):064b}"[:by], 2)
                for k, by in ((k, int(drawn[k]) % 64) for k in (place, place + 1))
            )
            change = (one ^ other) & mask
            assert out[column, place - 2] == one ^ change
            assert out[column, place - 1] == other ^ change


def test_differences_are_shares_of_the_errors() -> None:
    x, y, a, b, error = words(5, 30)
    error[::2] = 0
    z, c = x & y ^ error, a & b
    held = [shares_of(each) for each in (x, y, z, c)]
    found = []
    for own in range(3):
        (x0, x1), (y0, y1), (z0, z1), (c0, c1) = (each[own] for each in held)
        constant = (int(own == 0), int(own == 2))
        out = np.empty((2, 30), dtype=np.uint64)
        gate_differences(x ^ a, y ^ b, x0, x1, y0, y1, z0, z1, c0, c1, constant, *out)
        found.append(out)
    for own in range(3):
        # What a party expects of the next is the next's second share where all is right.
        np.testing.assert_array_equal(found[own][0] ^ found[(own + 1) % 3][1], error)
    np.testing.assert_array_equal(value_of([np.stack((f[0] ^ f[1], f[1])) for f in found]), error)
