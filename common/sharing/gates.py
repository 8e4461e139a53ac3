"""Kernels of the two gates: `and` of replicated shares, and the words that a check compares."""

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
