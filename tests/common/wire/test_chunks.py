"""Chunks cover a body once and in order; gaps are named exactly."""

from __future__ import annotations

import hashlib
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gemel.common.wire.chunks import CHUNK_BYTES, chunk_count, chunk_size, chunk_slices, missing_ranges, root_digest


@given(st.integers(0, 40 * CHUNK_BYTES))
def test_slices_cover_the_body_once(total: int) -> None:
    slices = list(chunk_slices(total))
    assert len(slices) == chunk_count(total)
    assert [part.stop - part.start for part in slices] == [chunk_size(index, total) for index in range(len(slices))]
    assert sum(part.stop - part.start for part in slices) == total
    assert all(left.stop == right.start for left, right in pairwise(slices))


@given(st.integers(0, 60), st.data())
def test_gaps_are_exactly_what_is_not_present(count: int, data: st.DataObject) -> None:
    present = sorted(data.draw(st.sets(st.integers(0, count - 1)))) if count else []
    named = [index for first, last in missing_ranges(present, count) for index in range(first, last + 1)]
    assert named == sorted(set(range(count)) - set(present))


@given(st.integers(1, 60), st.integers(1, 5))
def test_a_bounded_list_names_the_first_gaps(count: int, maximum: int) -> None:
    present = list(range(0, count, 2))
    everything = missing_ranges(present, count)
    assert missing_ranges(present, count, maximum) == everything[:maximum]


def test_root_depends_on_the_order() -> None:
    first, second = hashlib.sha256(b"1").digest(), hashlib.sha256(b"2").digest()
    assert root_digest([first, second]) != root_digest([second, first])
    assert root_digest([first, second]) == hashlib.sha256(first + second).digest()
