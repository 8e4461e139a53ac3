"""Blocking keys: equal where all parts are equal, absent where one is missing, unreadable without the key."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.blocking_keys import blocking_keys, written_out
from tests.custodian.encoding.encoded_rows import series
from tests.specifications import heading

KEY = bytes(range(32))
TEXT = (
    heading("blocking")
    + """
fields:
  - {name: surname, kind: name}
  - {name: code, kind: code}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: month, kind: date, date: {order: ymd, parts: [year, month]}}
blocking:
  - {name: rule, keys: KEYS}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
COLUMNS = {
    "surname": ["smith", "smi", "smithers", "sm", None, "smith"],
    "code": ["12", "12", "12", None, "12", "12"],
    "born": ["19151107", "19150000", "00001107", "19151107", None, "19151107"],
    "month": ["19151100", "19150000", "00001100", "19151100", None, "19151100"],
}


def spec_with(keys: str) -> Specification:
    return load_specification(TEXT.replace("KEYS", keys))


def made(keys: str, columns: dict[str, list[str | None]] = COLUMNS, key: bytes = KEY) -> NDArray[np.uint64]:
    spec = spec_with(keys)
    return blocking_keys(series(columns), spec, spec.blocking[0], key)


def digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), key=KEY, digest_size=8).digest(), "little")


def test_whole_fields() -> None:
    keys = made("[{field: surname}, {field: code}]")
    whole, none = digest("5:smith2:12"), 0
    assert keys.tolist() == [whole, digest("3:smi2:12"), digest("8:smithers2:12"), none, none, whole]


def test_prefixes_take_what_there_is() -> None:
    three, two = digest("3:smi"), digest("2:sm")
    assert made("[{field: surname, prefix: 3}]").tolist() == [three, three, three, two, 0, three]


def test_prefixes_count_characters_not_bytes() -> None:
    columns = {**COLUMNS, "surname": ["éàü\U0001d4d0", "éàü", "é", "e", None, ""]}
    assert made("[{field: surname, prefix: 3}]", columns)[:3].tolist() == [digest("3:éàü")] * 2 + [digest("1:é")]


def test_dates_whole_and_in_parts() -> None:
    born = digest("8:19151107")
    assert made("[{field: born}]").tolist() == [born, 0, 0, born, 0, born]
    year = digest("4:1915")
    assert made("[{field: born, part: year}]").tolist() == [year, year, 0, year, 0, year]
    month = digest("2:11")
    assert made("[{field: born, part: month}]").tolist() == [month, 0, month, month, 0, month]
    day = digest("2:07")
    assert made("[{field: born, part: day}]").tolist() == [day, 0, day, day, 0, day]


def test_parts_that_are_not_compared_are_not_missed() -> None:
    whole = digest("8:19151100")
    assert made("[{field: month}]").tolist() == [whole, 0, 0, whole, 0, whole]


def test_another_key_makes_other_digests() -> None:
    first, second = made("[{field: born}]"), made("[{field: born}]", key=KEY[::-1])
    assert ((first == 0) == (second == 0)).all()
    assert not set(first.tolist()) & set(second.tolist()) - {0}


TEXTS = st.none() | st.text(alphabet="12:a", max_size=4)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12))
def test_rows_have_equal_keys_exactly_when_their_parts_are_equal(rows: list[tuple[str | None, str | None]]) -> None:
    nothing: list[str | None] = [None] * len(rows)
    columns = dict.fromkeys(COLUMNS, nothing)
    columns |= {"surname": [first for first, _ in rows], "code": [second for _, second in rows]}
    keys = made("[{field: surname}, {field: code}]", columns).tolist()
    for first, key in zip(rows, keys, strict=True):
        assert (key == 0) == (None in first)
        if key:
            assert [other == key for other in keys] == [row == first for row in rows]


def test_parts_with_other_boundaries_are_written_otherwise() -> None:
    frame = pl.DataFrame({"a": ["ab", "a", "1:a2", ""], "b": ["c", "bc", "", "1:a2"]})
    assert frame.select(written_out([pl.col("a"), pl.col("b")])).to_series().to_list() == [
        "2:ab1:c",
        "1:a2:bc",
        "4:1:a20:",
        "0:4:1:a2",
    ]


def test_a_digest_that_happens_to_be_zero_is_still_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zero:
        def copy(self) -> Zero:
            return self

        def update(self, data: bytes) -> None:
            pass

        def digest(self) -> bytes:
            return bytes(8)

    monkeypatch.setattr(hashlib, "blake2b", lambda **_: Zero())
    assert made("[{field: code}]").tolist() == [1, 1, 1, 0, 1, 1]
