"""Equal rows are numbered as sorting the rows would number them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.carole.engine.run.contribution import row_numbers

WIDE = st.sampled_from([-(2**62), -5, -1, 0, 1, 7, 2**31, 2**62])
"""Two columns of these do not fit into one number."""


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.int64]:
    n, width = draw(st.integers(0, 12)), draw(st.integers(1, 5))
    values = draw(st.sampled_from([st.integers(-1, 2), WIDE]))
    return np.array(draw(st.lists(values, min_size=n * width, max_size=n * width)), dtype=np.int64).reshape(n, width)


@given(tables())
def test_numbers_are_those_of_sorted_rows(table: NDArray[np.int64]) -> None:
    expected = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    assert row_numbers(list(table.T)).tolist() == expected.tolist()


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=9))
def test_yes_and_no_are_numbered_too(rows: list[tuple[bool, bool]]) -> None:
    table = np.array(rows)
    expected = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    assert row_numbers(list(table.T)).tolist() == expected.tolist()
