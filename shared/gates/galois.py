r"""Arithmetic in GF(2^64): words are polynomials over GF(2) modulo x^64 + x^4 + x^3 + x + 1, bit k the factor of x^k.

Addition is exclusive or. Multiplication by a constant is linear in the bits of a word, so the product of a word and a
constant is the exclusive or of eight table entries, one for each byte; and in a sum with many factors, words of equal
byte of their factor are added first, and each such sum is multiplied once.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

MODULUS = (1 << 64) | 0b11011
"""x^64 + x^4 + x^3 + x + 1, irreducible over GF(2)."""

_BYTES = 8
_VALUES = 256


def product(x: int, y: int) -> int:
    """Product of two elements, by the definition: shifted and reduced bit by bit.

    The plain definition of all here; `inner` and `combination` are for many words.

    Parameters
    ----------
    x, y
        0 to 2^64 - 1.
    """
    result = 0
    while y:
        if y & 1:
            result ^= x
        x <<= 1
        if x >> 64:
            x ^= MODULUS
        y >>= 1
    return result


def inner(rows: NDArray[np.uint64], factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Of each row the sum of products of its words with `factors`.

    Parameters
    ----------
    rows
        uint64, shape (n, w).
    factors
        uint64, shape (w,).

    Returns
    -------
    ndarray of uint64, shape (n,)

    Notes
    -----
    O(n * w): eight table entries of 2 KiB tables for each word.
    """
    result = np.zeros(len(rows), dtype=np.uint64)
    _add_inner(rows, _tables(factors), result)
    return result


def combination(rows: NDArray[np.uint64], factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of rows, each multiplied by its factor.

    Parameters
    ----------
    rows
        uint64, shape (n, w).
    factors
        uint64, shape (n,).

    Returns
    -------
    ndarray of uint64, shape (w,)

    Notes
    -----
    O(n * w), and 2048 * w products at the end.
    """
    width = rows.shape[1]
    sums = np.zeros((_BYTES * _VALUES, width), dtype=np.uint64)
    _add_by_byte(rows, factors, sums)
    # The factor of byte b with value v is v x^(8b); all values of a byte have a table in that order.
    multiples = np.array([value << 8 * byte for byte in range(_BYTES) for value in range(_VALUES)], dtype=np.uint64)
    total = np.zeros(width, dtype=np.uint64)
    for word in range(width):
        total[word] = _sum_of_products(sums[:, word].copy(), multiples)
    return total


def _tables(factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Products of each factor with each value of each byte: uint64, shape (w, 8, 256)."""
    tables = np.zeros((len(factors), _BYTES, _VALUES), dtype=np.uint64)
    for word, factor in enumerate(factors.tolist()):
        multiple = factor
        for bit in range(64):
            byte, place = divmod(bit, 8)
            # Values with this bit as their highest are those below it, with this multiple added.
            begin = 1 << place
            tables[word, byte, begin : 2 * begin] = tables[word, byte, :begin] ^ np.uint64(multiple)
            multiple = product(multiple, 2)
    return tables


@numba.njit(cache=True, nogil=True)
def _add_inner(rows, tables, result):  # type: ignore[no-untyped-def]
    n, width = rows.shape
    for row in range(n):
        total = np.uint64(0)
        for word in range(width):
            value = rows[row, word]
            for byte in range(8):
                total ^= tables[word, byte, value & np.uint64(255)]
                value >>= np.uint64(8)
        result[row] ^= total


@numba.njit(cache=True, nogil=True)
def _add_by_byte(rows, factors, sums):  # type: ignore[no-untyped-def]
    n, width = rows.shape
    for row in range(n):
        factor = factors[row]
        for byte in range(8):
            place = byte * 256 + np.int64(factor & np.uint64(255))
            factor >>= np.uint64(8)
            for word in range(width):
                sums[place, word] ^= rows[row, word]


@numba.njit(cache=True, nogil=True)
def _sum_of_products(x, y):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    for place in range(len(x)):
        multiple, factor = x[place], y[place]
        while factor:
            if factor & np.uint64(1):
                total ^= multiple
            carry = multiple >> np.uint64(63)
            multiple = (multiple << np.uint64(1)) ^ (carry * np.uint64(0b11011))
            factor >>= np.uint64(1)
    return total
