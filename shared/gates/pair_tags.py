"""Tags that show whether rows were changed while they were passed on and permuted.

A row's tag is :math:`\\sum_j \alpha_j w_j` over GF(2^64), of its words w and a shared key alpha that no party knows. It
is shared, and goes where its row goes. Afterwards a random combination of all rows, with public factors rho, must
satisfy

.. math:: \\sum_j \alpha_j \\sum_i \rho_i w_{ij} = \\sum_i \rho_i t_i .

Exclusive or is the addition of the field, so that shares of bits are shares of elements, and a product is made as an
*and* (Araki et al. 2016): one word a product goes to the previous party.

**What it detects.** Two of the parties hold all shares and follow the protocol, so a third can only add: to the words
of row i some e_ij, to its tag f_i (also where the tag is made), and, later, some d to the difference that is opened (a
wrong opening is detected by itself, as both holders vouch). It lacks one share of everything, so none of these depends
on alpha; and rho is drawn when all parties have received all rows, so e_ij does not depend on rho. If any e_ij is not
zero then E_j = sum_i rho_i e_ij is not zero but with a chance of 2^-64; and if it is not, the difference opened, which
is sum_j alpha_j E_j + sum_i rho_i f_i + d, is uniform, as alpha_j is: zero with a chance of 2^-64. Together 2^-63. What
is opened is a function of alpha, rho and the errors; of the rows it shows nothing.

A message that is wrong while its sender goes on with the right one adds nothing; the two holders of each share compare
theirs, so that this ends the run too, and the link is named.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.shared.gates.gates import Shared
from gemel.shared.gates.party import Party
from gemel.shared.gates.streams import Stream

MODULUS = (1 << 64) | 0b11011
"""x^64 + x^4 + x^3 + x + 1, irreducible over GF(2)."""
_BYTES = 8
_VALUES = 256


def product(x: int, y: int) -> int:
    """Product of two elements, 0 to 2^64 - 1, by the definition; `inner` and `combination` are for many words."""
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
    """Of each row, shape (n, w), the sum of products of its words with `factors`, shape (w,): shape (n,). O(n * w)."""
    result = np.zeros(len(rows), dtype=np.uint64)
    _add_inner(rows, _tables(factors), result)
    return result


def combination(rows: NDArray[np.uint64], factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of rows, shape (n, w), each multiplied by its factor, shape (n,): shape (w,). O(n * w), and 2048 * w
    products.
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


BLOCK_ROWS = 1 << 17
"""Rows worked on, and in one message, at a time."""
_SEED_WORDS = 4


def tagged(party: Party, rows: Shared, key: Shared) -> Shared:
    """Rows, (2, n, w), with their tags as a last word; `key`: shares of alpha, (2, w), drawn for these rows alone."""
    _, n, width = rows.shape
    result = np.empty((2, n, width + 1), dtype=np.uint64)
    result[:, :, :width] = rows
    for begin in range(0, n, BLOCK_ROWS):
        block = slice(begin, begin + BLOCK_ROWS)
        result[:, block, width] = inner_products(party, rows[:, block], key)
    return result


def check_tags(party: Party, rows: Shared, key: Shared) -> None:
    """Refuse rows, (2, n, w + 1), that are not those which were tagged by this key; their order may be another.

    All messages that made them were received; the key is not to be used again.
    """
    _, n, words = rows.shape
    # The coin is drawn when all have received everything: who could foresee rho could add errors that cancel.
    factors = Stream(party.coin(_SEED_WORDS).tobytes())
    sums = np.zeros((2, 1, words), dtype=np.uint64)
    for begin in range(0, n, BLOCK_ROWS):
        block = rows[:, begin : begin + BLOCK_ROWS]
        rho = factors.words(block.shape[1])
        for share in range(2):
            sums[share, 0] ^= combination(block[share], rho)
    difference = inner_products(party, np.ascontiguousarray(sums[:, :, :-1]), key) ^ sums[:, :, -1]
    opened = party.opened(difference, "check")
    party.check(party.stage)
    if opened.any():
        what = "rows that were permuted are not those that were tagged before: a party has changed some of them"
        got = f"a deviation of {party.own.next.title} or {party.own.previous.title}"
        remedy = "find out with the others whose program or machine was changed, then begin the run again"
        raise GemelError(ErrorCode.DEVIATION, what, where=party.stage, got=got, remedy=remedy)


def inner_products(party: Party, rows: Shared, factors: Shared) -> Shared:
    """Of each row, (2, n, w), the sum of products of its words with shared factors, (2, w), over GF(2^64): shape (2,
    n).

    One message of n words to the previous party. A party may add what it likes to its own word; see above.
    """
    own = inner(rows[0], factors[0] ^ factors[1]) ^ inner(rows[1], factors[0]) ^ party.zero(rows.shape[1])
    following = party.exchanged(party.own.previous, own, party.own.next)
    party.agree(party.own.previous, own)
    party.agree(party.own.next, following)
    return np.stack([own, following])
