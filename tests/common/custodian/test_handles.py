"""Handles: one per record, whatever its rows, and nothing of identifiers or of the order of rows in them."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from common.custodian.handles import handles_of


@given(data=st.data())
def test_rows_have_one_handle_where_they_are_one_record(data: st.DataObject) -> None:
    identifiers = data.draw(st.lists(st.sampled_from(["a", "b", "c", "dd", "é"]), min_size=1, max_size=12))
    rows = data.draw(st.lists(st.integers(0, len(identifiers) - 1), max_size=20))
    handles = handles_of(pl.Series(identifiers), np.array(rows, dtype=np.uint32))
    assert handles.dtype == np.uint32
    assert set(handles.tolist()) == set(range(len({identifiers[row] for row in rows})))
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            assert (handles[i] == handles[j]) == (identifiers[row] == identifiers[other])


def test_they_are_new_every_time() -> None:
    identifiers = pl.Series(np.arange(1000))
    rows = np.arange(1000, dtype=np.uint32)
    first, second = (handles_of(identifiers, rows) for _ in range(2))
    # Fixed points of a random permutation are Poisson(1).
    assert np.count_nonzero(first == second) < 20
    assert np.count_nonzero(first == rows) < 20
