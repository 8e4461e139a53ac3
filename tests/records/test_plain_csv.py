"""The quick reader of plain CSV files agrees with the strict one, or leaves the file to it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.records import csv_file
from gemel.records.csv_file import csv_batches
from gemel.records.sources import CsvSource
from gemel.records.table import SourceTable, joined


def strictly(path: Path, columns: list[str], monkeypatch: pytest.MonkeyPatch) -> SourceTable | str:
    with monkeypatch.context() as patch:
        patch.setattr(csv_file, "_NEVER", csv_file._NEVER + b",")
        return outcome(path, columns)


def outcome(path: Path, columns: list[str]) -> SourceTable | str:
    try:
        return joined(csv_batches(CsvSource(path=path), columns))
    except GemelError as error:
        return str(error)


def plainly(path: Path, separator: str, columns: list[str]) -> pl.DataFrame | None:
    with path.open("rb") as file:
        frames = list(csv_file.PlainReader(file, separator, columns).frames())
    return pl.concat(frames) if frames else None


def same(path: Path, columns: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick, strict = outcome(path, columns), strictly(path, columns, monkeypatch)
    if isinstance(quick, str) or isinstance(strict, str):
        assert quick == strict
        return
    assert quick.frame.equals(strict.frame)
    assert quick.frame.schema == strict.frame.schema
    assert quick.positions.tolist() == strict.positions.tolist()


CELLS = st.text(alphabet='ab1 ,"\n\r\té\u2028\x0b\x00\U0001d4d0', max_size=6)
MILD = st.text(alphabet="ab1 -é\u2028\x0b\x0c\x1c\x85\U0001d4d0", max_size=6)
BLANKS = " \u2028\x0b\x0c\x85"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(MILD, min_size=2, max_size=2) | st.lists(CELLS, min_size=1, max_size=3), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    mark=st.booleans(),
    selected=st.sampled_from([["x", "y"], ["y", "x"], ["y"]]),
    block=st.sampled_from([1, 7, 1 << 25]),
)
@example(rows=[["a", "b"], ["a"]], end="\n", last=True, mark=False, selected=["y"], block=1 << 25)
def test_quick_and_strict_agree(
    rows: list[list[str]],
    end: str,
    last: bool,
    mark: bool,
    selected: list[str],
    block: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = end.join(",".join(row) for row in [["x", " y "], *rows]) + (end if last else "")
    path = tmp_path / "file.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", block)
    same(path, selected, monkeypatch)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(MILD, min_size=2, max_size=2), min_size=1, max_size=6))
def test_plain_files_take_the_quick_way(rows: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("x,y\n" + "".join(f"{','.join(row)}\n" for row in rows), encoding="utf-8", newline="")
    frame = plainly(path, ",", ["y", "x"])
    assert frame is not None
    assert frame.rows() == [(row[1].strip(BLANKS) or None, row[0].strip(BLANKS) or None) for row in rows]


@pytest.mark.parametrize(
    "payload",
    [
        b'x,y\n"a",b\n',
        b"x,y\na\n",
        b"x,y\na,b,c\n",
        b"x,y\n\na,b\n",
        b"x,y\na,b\n\n",
        b"x,y\r\n\r\na,b\r\n",
        b"x,y\na\rb,c\n",
        b"x,y\na,\0\n",
        b"x,y\na,\xff\n",
        b"x,x\na,b\n",
        b"x,y,\n",
        b"x,y",
        b"",
        b"\n",
        b"a,b\n1,2\n",
    ],
)
def test_other_files_are_left_to_the_strict_reader(
    payload: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(payload)
    assert plainly(path, ",", ["x", "y"]) is None
    same(path, ["x", "y"], monkeypatch)


def test_separators_that_are_no_single_byte_are_left_to_the_strict_reader(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("x¦y\na¦b\n", encoding="utf-8")
    assert plainly(path, "¦", ["x", "y"]) is None
    path.write_text("x\ty\na\tb\n", encoding="utf-8")
    frame = plainly(path, "\t", ["x"])
    assert frame is not None
    assert frame.rows() == [("a",)]
