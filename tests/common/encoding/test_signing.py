"""Signatures leave in the order of their bytes, each once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tryst.common.encoding.signing import canonical


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 256, 2**63, 2**64 - 1]), min_size=3, max_size=3), max_size=40),
)
def test_canonical_order_is_that_of_the_bytes(rows: list[list[int]]) -> None:
    signed = np.array(rows, dtype=np.uint64).reshape(len(rows), 3)
    ordered, ranks = canonical(signed)
    assert [row.astype("<u8").tobytes() for row in ordered] == sorted({row.astype("<u8").tobytes() for row in signed})
    np.testing.assert_array_equal(ordered[ranks], signed)
