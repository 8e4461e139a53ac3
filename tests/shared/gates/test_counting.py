"""Circuits on plain words against counts of bits, and on shares against plain words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.comparison.kernels import disagreement_limits, levels_by_disagreement
from gemel.shared.gates.bit_slices import difference_slices, rows_of, slices_of
from gemel.shared.gates.counting import adder_plan, all_ones, at_most, counted, less_than, lockstep
from gemel.shared.session.local_session import local_parties, together
from tests.shared.gates.plain import PLAIN_ONES, plain_all_of, shares_of, value_of

BOUNDS = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)


def with_counts(counts: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of `bits` bits, of which so many are ones, at places that a random order and a shift of it give."""
    shifted = (rng.permutation(bits)[None, :] + rng.integers(0, bits, (len(counts), 1))) % bits
    ones = shifted < counts[:, None]
    return np.packbits(ones, axis=1, bitorder="little").view(np.uint64)


def bits_of(slices: np.ndarray, n: int) -> np.ndarray:
    """Plain slices (1, k, words) as bits, shape (n, k)."""
    return np.unpackbits(slices[0].view(np.uint8), axis=1, bitorder="little")[:, :n].T


def number_of(slices: np.ndarray, n: int) -> np.ndarray:
    return bits_of(slices, n) @ (1 << np.arange(slices.shape[1]))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("n", [1, 63, 64, 130])
def test_slices_are_the_transposed_rows(width: int, n: int) -> None:
    rows = np.random.default_rng(n).integers(0, 1 << 64, (1, n, width), dtype=np.uint64)
    slices = slices_of(rows)
    np.testing.assert_array_equal(bits_of(slices, n), np.unpackbits(rows[0].view(np.uint8), axis=1, bitorder="little"))
    np.testing.assert_array_equal(rows_of(slices, n), rows)


def test_slices_of_differences() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 1 << 64, (2, 2, 20, 5), dtype=np.uint64)
    pair_a, pair_b = rng.integers(0, 20, (2, 100))
    got = difference_slices(a, b, pair_a, pair_b, slice(1, 3), slice(2, 4))
    np.testing.assert_array_equal(got, slices_of(a[:, pair_a, 1:3] ^ b[:, pair_b, 2:4]))


@pytest.mark.parametrize("bits", [64, 128, 192, 256, 1024, 8192])
def test_every_count_and_level(bits: int) -> None:
    rng = np.random.default_rng(bits)
    counts = np.arange(0, bits + 1, max(1, bits // 1024))
    slices = slices_of(with_counts(counts, bits, rng)[None])
    limits = tuple(disagreement_limits(bits, BOUNDS).tolist())

    def levels():  # type: ignore[no-untyped-def]
        count = yield from counted(slices)
        at = yield from at_most(count, limits, PLAIN_ONES)
        return count, at

    ((count, at),) = lockstep([levels()], plain_all_of)
    np.testing.assert_array_equal(number_of(count, len(counts)), counts)
    np.testing.assert_array_equal(bits_of(at, len(counts)).sum(axis=1), levels_by_disagreement(bits, BOUNDS)[counts])


def test_counting_costs_no_more_gates_than_bits() -> None:
    for bits in (64, 128, 256, 512, 1024, 8192):
        assert adder_plan((bits,)).gates == bits - 1
    assert adder_plan((192,)).gates <= 192


@pytest.mark.parametrize("k", [1, 3, 5])
def test_every_limit_of_every_sum(k: int) -> None:
    sums = np.arange(1 << k)
    count = slices_of(sums.astype(np.uint64)[None, :, None])[:, :k]
    limits = (-5, *range(-1, 2 << k))
    (at,) = lockstep([at_most(count, limits, PLAIN_ONES)], plain_all_of)
    np.testing.assert_array_equal(bits_of(at, len(sums)), sums[:, None] <= np.array(limits))


@given(st.lists(st.tuples(st.integers(0, 31), st.integers(0, 31)), min_size=1, max_size=70))
def test_sums_compared(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(side, dtype=np.uint64) for side in zip(*pairs, strict=True))
    slices = [slices_of(side[None, :, None])[:, :5] for side in (one, other)]
    (less,) = lockstep([less_than(*slices, PLAIN_ONES)], plain_all_of)
    np.testing.assert_array_equal(bits_of(less[:, None], len(one))[:, 0], one < other)
    (total,) = lockstep([counted(np.stack(slices, axis=2).reshape(1, 10, -1), (2,) * 5)], plain_all_of)
    np.testing.assert_array_equal(number_of(total, len(one)), one + other)


def test_all_ones() -> None:
    rows = np.array([[~np.uint64(0)], [~np.uint64(1)], [~np.uint64(0)], [np.uint64(0)]])
    (found,) = lockstep([all_ones(slices_of(rows[None]))], plain_all_of)
    np.testing.assert_array_equal(bits_of(found[:, None], 4)[:, 0], [1, 0, 1, 0])


def test_circuits_on_shares_give_shares_of_what_they_give_on_words() -> None:
    rng = np.random.default_rng(8)
    rows = rng.integers(0, 1 << 64, (3, 100, 4), dtype=np.uint64)
    limits = (140, 130, 128, 120, 0, -1)
    held = [shares_of(field) for field in rows]

    def levels(slices, ones):  # type: ignore[no-untyped-def]
        count = yield from counted(slices)
        return (yield from at_most(count, limits, ones))

    def run(party):  # type: ignore[no-untyped-def]
        ones = party.public(np.array([~np.uint64(0)]))
        found = lockstep([levels(slices_of(field[party.own]), ones) for field in held], party.all_of)
        party.check("levels")
        return found

    results = together(local_parties(), run)
    plain = lockstep([levels(slices_of(field[None]), PLAIN_ONES) for field in rows], plain_all_of)
    for place, expected in enumerate(plain):
        got = value_of([result[place] for result in results])
        np.testing.assert_array_equal(bits_of(got[None], 100), bits_of(expected, 100))
