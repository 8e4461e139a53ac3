"""Rows found and numbered by their keys: by a table of all keys, and by sorting, as the definition says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.risk.models.counts import distinct_rows, is_dense, total_by_row
from gemel.risk.models.factors import Factor, match_rows

LEVELS = {"table": (3, 2, 4), "sorted": (3000, 2, 4000), "numbered": (2**40, 2, 2**40)}
"""Of three columns: few keys, many, and more than 64 bits hold. Codes are the first's, spread over the levels."""


@st.composite
def rows(draw, size: int = 3):
    codes = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)).map(lambda row: row[:size])
    return np.array(draw(st.lists(codes, max_size=25)), dtype=np.int64).reshape(-1, size)


def spread(codes: np.ndarray, levels: tuple[int, ...]) -> np.ndarray:
    """The same rows, equal where they were and in the same order, with codes up to the last level."""
    few = LEVELS["table"][: codes.shape[1]]
    return codes * [(n - 1) // (small - 1) for n, small in zip(levels, few, strict=False)]


def test_each_way_is_taken() -> None:
    dense = {
        name: is_dense(int(np.prod([int(n) for n in levels], dtype=object)), 50) for name, levels in LEVELS.items()
    }
    assert dense == {"table": True, "sorted": False, "numbered": False}


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@given(codes=rows())
def test_distinct_rows_are_the_sorted_set_at_their_first_places(levels: tuple[int, ...], codes: np.ndarray) -> None:
    cells = spread(codes, levels)
    listed = [tuple(row) for row in cells.tolist()]
    expected = sorted(set(listed))
    first, number = distinct_rows(cells, levels)
    assert first.tolist() == [listed.index(row) for row in expected]
    assert number.tolist() == [expected.index(row) for row in listed]
    found, sums = total_by_row(cells, np.arange(1.0, len(cells) + 1), levels)
    assert [tuple(row) for row in found.tolist()] == expected
    assert sums.tolist() == [sum(i + 1 for i, row in enumerate(listed) if row == each) for each in expected]


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@given(codes=rows(), others=rows())
def test_a_row_is_found_where_it_is_among_others(
    levels: tuple[int, ...], codes: np.ndarray, others: np.ndarray
) -> None:
    cells, among = spread(codes, levels), spread(np.unique(others, axis=0)[::-1], levels)
    listed = among.tolist()
    expected = [listed.index(row) if row in listed else -1 for row in cells.tolist()]
    assert match_rows(cells, among, levels).tolist() == expected


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@given(ours=rows(2), theirs=rows(2))
def test_a_product_joins_the_rows_that_agree(levels: tuple[int, ...], ours: np.ndarray, theirs: np.ndarray) -> None:
    """Of f(x, y) and g(x, z): each pair of rows with the same x, once."""
    few = (levels[0], levels[1])
    tables = []
    for codes in (ours, theirs):
        cells = spread(np.unique(codes, axis=0), few)
        tables.append((cells, np.arange(2.0, len(cells) + 2)))
    f, g = (Factor((0, v), few, *table) for v, table in zip((1, 2), tables, strict=True))
    product = f * g
    expected = {
        (a[0], a[1], b[1]): float(x * y)
        for a, x in zip(tables[0][0].tolist(), tables[0][1], strict=True)
        for b, y in zip(tables[1][0].tolist(), tables[1][1], strict=True)
        if a[0] == b[0]
    }
    assert len(product.values) == len(expected)
    assert {tuple(row): value for row, value in zip(product.cells.tolist(), product.values.tolist(), strict=True)} == (
        expected
    )
