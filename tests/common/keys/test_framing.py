"""Framing: one list, one encoding, and every other spelling refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.keys.framing import FramingError, Part, frame, unframe

PARTS = st.lists(st.binary(max_size=40), max_size=6)


@given(PARTS)
def test_what_is_framed_comes_back(parts: list[bytes]) -> None:
    expected = [Part(str(index), 0, 40) for index in range(len(parts))]
    assert unframe(frame(*parts), expected) == parts


@given(PARTS, PARTS)
def test_different_lists_have_different_frames(one: list[bytes], other: list[bytes]) -> None:
    assert (frame(*one) == frame(*other)) == (one == other)


def test_the_layout_is_a_four_byte_big_endian_length_before_each_part() -> None:
    assert frame(b"ab", b"", b"c").hex() == "00000002" + "6162" + "00000000" + "00000001" + "63"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "'first' is missing"),
        (frame(b"abcd") + b"\0\0\0", "'second' is missing"),
        (frame(b"abcd") + b"\0\0\0\x02x", "'second' is cut off"),
        (frame(b"abc", b"x"), "'first' must have 4 bytes, its prefix gives 3"),
        (frame(b"abcd", b"x" * 9), "'second' must have 1 to 8 bytes, its prefix gives 9"),
        (frame(b"abcd", b"x") + b"y", "1 bytes follow"),
    ],
)
def test_anything_else_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FramingError, match=message):
        unframe(data, [Part.fixed("first", 4), Part("second", 1, 8)])
