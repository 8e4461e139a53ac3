"""GF(2^64): the axioms of a field hold by the plain definition, and the fast forms agree with it."""

from __future__ import annotations

from functools import reduce
from operator import xor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemel.shared.gates.pair_tags import MODULUS, combination, inner, product

ELEMENTS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])


def power(x: int, exponent: int) -> int:
    result = 1
    while exponent:
        if exponent & 1:
            result = product(result, x)
        x, exponent = product(x, x), exponent >> 1
    return result


def remainder(dividend: int, divisor: int) -> int:
    while dividend.bit_length() >= divisor.bit_length():
        dividend ^= divisor << (dividend.bit_length() - divisor.bit_length())
    return dividend


def divisor(x: int, y: int) -> int:
    while y:
        x, y = y, remainder(x, y)
    return x


def carry_less(x: int, y: int) -> int:
    return reduce(xor, (x << bit for bit in range(64) if y >> bit & 1), 0)


def test_the_modulus_is_irreducible() -> None:
    """Rabin's test: x^(2^64) = x, and x^(2^32) - x has no common divisor with the modulus (64 has one prime factor)."""
    squared = 2
    for count in range(1, 65):
        squared = product(squared, squared)
        if count == 32:
            assert divisor(MODULUS, squared ^ 2) == 1
    assert squared == 2


@given(ELEMENTS, ELEMENTS, ELEMENTS)
def test_it_is_a_field(x: int, y: int, z: int) -> None:
    assert product(x, y) == product(y, x) < 2**64
    assert product(x, product(y, z)) == product(product(x, y), z)
    assert product(x, y ^ z) == product(x, y) ^ product(x, z)
    assert product(x, 1) == x
    if x:
        assert product(x, power(x, 2**64 - 2)) == 1


@given(ELEMENTS, ELEMENTS)
def test_a_product_is_the_remainder_of_the_polynomials_product(x: int, y: int) -> None:
    assert product(x, y) == remainder(carry_less(x, y), MODULUS)


@given(st.integers(0, 5), st.integers(1, 4), st.data())
def test_fast_forms_agree_with_the_definition(n: int, width: int, data: st.DataObject) -> None:
    rows = [[data.draw(ELEMENTS) for _ in range(width)] for _ in range(n)]
    columns = [data.draw(ELEMENTS) for _ in range(width)]
    factors = [data.draw(ELEMENTS) for _ in range(n)]
    words = np.array(rows, dtype=np.uint64).reshape(n, width)
    by_row = [reduce(xor, map(product, row, columns), 0) for row in rows]
    assert inner(words, np.array(columns, dtype=np.uint64)).tolist() == by_row
    by_word = [
        reduce(xor, (product(f, row[word]) for f, row in zip(factors, rows, strict=True)), 0) for word in range(width)
    ]
    assert combination(words, np.array(factors, dtype=np.uint64)).tolist() == by_word


def test_sums_over_many_rows_agree_with_one_another() -> None:
    """A combination of inner products is the inner product of the combination."""
    draw = np.random.default_rng(20261127)
    rows, columns, factors = (draw.integers(0, 2**64, shape, dtype=np.uint64) for shape in ((5000, 3), 3, 5000))
    tags = inner(rows, columns)
    assert combination(tags[:, None], factors).tolist() == inner(combination(rows, factors)[None], columns).tolist()
