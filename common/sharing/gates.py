"""Kernels of the gates: `and` of replicated shares, and of what their check computes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Shared = NDArray[np.uint64]
"""Words of two shares each: [0] is share s_i of party i, [1] its share s_(i+1)."""


@njit(nogil=True, cache=True)
def add_products(x0: Words, x1: Words, y0: Words, y1: Words, mask: Words, out: Words) -> None:
    """One party's part of x and y, masked: out = x0 y0 ^ x0 y1 ^ x1 y0 ^ mask ^ out; all of shape (n,)."""
    for k in range(len(out)):
        out[k] ^= (x0[k] & (y0[k] ^ y1[k])) ^ (x1[k] & y0[k]) ^ mask[k]


@njit(nogil=True, cache=True)
def draw_order(drawn: Words, order: NDArray[np.int32]) -> None:
    """A uniformly random order of 0, 1, ... by the words `drawn` (Fisher and Yates), both of shape (n,), n below 2^31.

    Each place is drawn as floor(word * places / 2^64): uneven by less than n / 2^64.
    """
    for k in range(len(order)):
        order[k] = k
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for k in range(len(order) - 1, 0, -1):
        places = np.uint64(k + 1)
        place = ((drawn[k] >> half) * places + (((drawn[k] & low) * places) >> half)) >> half
        order[k], order[place] = order[place], order[k]


@njit(nogil=True, cache=True)
def pick_gates(gates: Words, order: NDArray[np.int32], drawn: Words, swapped: Words, begin: int, out: Words) -> None:
    """Random gates in the order drawn, so that no bit of one has a place that could be foreseen.

    The words of places 2k and 2k + 1 are rotated, each by its own number of bits, and exchange the bits that a random
    word names.

    Parameters
    ----------
    gates : ndarray of uint64, shape (n, 6)
        Shares of a, b and c of each.
    order, drawn : ndarray, shape (n,)
        As of `draw_order`; the last six bits of `drawn` are the rotations.
    swapped : ndarray of uint64, shape (n // 2,)
        Which bits are exchanged.
    begin : int
        The first place, even.
    out : ndarray of uint64, shape (6, m), m even
        The words of places `begin` to `begin + m`.
    """
    last = np.uint64(63)
    for k in range(0, out.shape[1], 2):
        place = begin + k
        one, other = order[place], order[place + 1]
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
def lay_gates(a: Words, b: Words, c: Words, gates: Words) -> None:
    """The shares of a, b and c, each of shape (2, n), side by side: gates of shape (n, 6)."""
    for k in range(len(gates)):
        gates[k, 0], gates[k, 1] = a[0, k], a[1, k]
        gates[k, 2], gates[k, 3] = b[0, k], b[1, k]
        gates[k, 4], gates[k, 5] = c[0, k], c[1, k]


@njit(nogil=True, cache=True)
def gate_differences(
    rho: Words, sigma: Words, x0: Words, x1: Words, y0: Words, y1: Words, z0: Words, z1: Words,
    c0: Words, c1: Words, constant: tuple[int, int], for_next: Words, for_previous: Words,
) -> None:  # fmt: skip
    """Shares of z ^ c ^ rho y ^ sigma x ^ rho sigma, which is 0 if z = x y, c = a b, rho = x ^ a, sigma = y ^ b.

    Parameters
    ----------
    constant : pair of int
        1 for the share that is the first of the three, to which what all know is added; 0 for others.
    for_next, for_previous : ndarray, shape (n,)
        What this party expects as the share that it lacks, which the next has; and its second, which the previous
        expects. All arrays are of shape (n,).
    """
    first = np.uint64(0) - np.uint64(constant[0])
    second = np.uint64(0) - np.uint64(constant[1])
    for k in range(len(rho)):
        both = rho[k] & sigma[k]
        v0 = z0[k] ^ c0[k] ^ (rho[k] & y0[k]) ^ (sigma[k] & x0[k]) ^ (both & first)
        v1 = z1[k] ^ c1[k] ^ (rho[k] & y1[k]) ^ (sigma[k] & x1[k]) ^ (both & second)
        for_next[k] = v0 ^ v1
        for_previous[k] = v1
