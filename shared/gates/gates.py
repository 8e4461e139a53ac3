"""Kernels of the gates: `and` of replicated shares, and of what their check computes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Shared = NDArray[np.uint64]
"""Words of two shares each: [0] is share s_i of party i, [1] its share s_(i+1)."""
Pairs = NDArray[np.int64]
"""A row of one file for each pair."""


@njit(nogil=True, cache=True)
def add_products(x0: Words, x1: Words, y0: Words, y1: Words, mask: Words, out: Words) -> None:
    """One party's part of x and y, masked: out = x0 y0 ^ x0 y1 ^ x1 y0 ^ mask ^ out; all of shape (n,)."""
    for k in range(len(out)):
        out[k] ^= (x0[k] & (y0[k] ^ y1[k])) ^ (x1[k] & y0[k]) ^ mask[k]


@njit(nogil=True, cache=True)
def scatter_gates(parts: Words, drawn: Words, shift: int, gates: Words, begins: NDArray[np.int64]) -> None:
    """Random gates, each in a bucket that is drawn for it, of which any number may be in one.

    `parts`, shape (6, n): shares of a, b and c; `drawn`, shape (n,): its first 64 - `shift` bits are the bucket;
    written are `gates`, shape (n, 6), bucket by bucket, and `begins`: where each of the 2 ** (64 - shift) buckets
    begins, and n.
    """
    n_buckets = len(begins) - 1
    ends = np.zeros(n_buckets + 1, dtype=np.int64)
    by = np.uint64(shift)
    # A shift by 64 is none to the processor.
    if n_buckets > 1:
        for k in range(len(drawn)):
            ends[np.int64(drawn[k] >> by) + 1] += 1
    begins[0] = 0
    for bucket in range(n_buckets):
        ends[bucket + 1] += ends[bucket]
        begins[bucket + 1] = ends[bucket + 1]
    begins[n_buckets] = len(drawn)
    for k in range(len(drawn)):
        drawn_bucket = np.int64(drawn[k] >> by) if n_buckets > 1 else np.int64(0)
        place = ends[drawn_bucket]
        ends[drawn_bucket] += 1
        for column in range(6):
            gates[place, column] = parts[column, k]


@njit(nogil=True, cache=True)
def draw_order(drawn: Words, begins: NDArray[np.int64], order: NDArray[np.int32]) -> None:
    """A uniformly random order of the places of each bucket (Fisher and Yates), written to `order`; n below 2^31.

    Each place is drawn as floor(word * places / 2^64): uneven by less than places / 2^64.
    """
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for bucket in range(len(begins) - 1):
        begin = begins[bucket]
        for k in range(begin, begins[bucket + 1]):
            order[k] = k
        for k in range(begins[bucket + 1] - 1, begin, -1):
            places = np.uint64(k - begin + 1)
            place = ((drawn[k] >> half) * places + (((drawn[k] & low) * places) >> half)) >> half
            other = begin + np.int64(place)
            order[k], order[other] = order[other], order[k]


@njit(nogil=True, cache=True)
def pick_gates(gates: Words, order: NDArray[np.int32], drawn: Words, swapped: Words, begin: int, out: Words) -> None:
    """Random gates in the order drawn, so that no bit of one has a place that could be foreseen.

    The words of places 2k and 2k + 1 are rotated, each by the last six bits of its word of `drawn`, and exchange the
    bits that a word of `swapped`, shape (n // 2,), names. `gates`, shape (n, 6): shares of a, b and c; `out`, shape (6,
    m), m even: the words of places `begin`, which is even, to `begin + m`.
    """
    last = np.uint64(63)
    for k in range(0, out.shape[1], 2):
        place = begin + k
        one, other = np.uint64(order[place]), np.uint64(order[place + 1])
        by_one, by_other = drawn[place] & last, drawn[place + 1] & last
        back_one, back_other = (np.uint64(64) - by_one) & last, (np.uint64(64) - by_other) & last
        mask = swapped[place >> 1]
        for column in range(6):
            first, second = gates[one, column], gates[other, column]
            first = (first << by_one) | (first >> back_one)
            second = (second << by_other) | (second >> back_other)
            change = (first ^ second) & mask
            out[column, k] = first ^ change
            out[column, k + 1] = second ^ change


@njit(nogil=True, cache=True)
def gate_differences(
    rho: Words, sigma: Words, x0: Words, x1: Words, y0: Words, y1: Words, z0: Words, z1: Words,
    c0: Words, c1: Words, constant: tuple[int, int], for_next: Words, for_previous: Words,
) -> None:  # fmt: skip
    """Shares of z ^ c ^ rho y ^ sigma x ^ rho sigma, which is 0 if z = x y, c = a b, rho = x ^ a, sigma = y ^ b.

    All of shape (n,). `constant`: 1 for the share that is the first of the three, to which what all know is added;
    `for_next`, `for_previous`: what this party expects as the share that it lacks, which the next has; and its second,
    which the previous expects.
    """
    first = np.uint64(0) - np.uint64(constant[0])
    second = np.uint64(0) - np.uint64(constant[1])
    for k in range(len(rho)):
        both = rho[k] & sigma[k]
        v0 = z0[k] ^ c0[k] ^ (rho[k] & y0[k]) ^ (sigma[k] & x0[k]) ^ (both & first)
        v1 = z1[k] ^ c1[k] ^ (rho[k] & y1[k]) ^ (sigma[k] & x1[k]) ^ (both & second)
        for_next[k] = v0 ^ v1
        for_previous[k] = v1
