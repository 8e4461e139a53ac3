"""CSV files: the form that is found, and those that are plain."""

from __future__ import annotations

import codecs
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.records import csv_file
from gemel.records.csv_file import csv_batches
from gemel.records.csv_form import CsvOptions, csv_source, form_line, likely_separator
from gemel.records.registry import FOUND, file_source, read_source
from gemel.records.sources import CsvSource, Source
from gemel.records.table import SourceTable, joined
from tests.carole.refusals import refusal

CELLS = [["id", "Straße", "prénom, nom"], ["1", "Müllerweg 3, links", "Zoë"], ["2", "An der Würm", "José"]]


def text(separator: str) -> str:
    quoted = [[f'"{cell}"' if separator in cell or "," in cell else cell for cell in row] for row in CELLS]
    return "".join(separator.join(row) + "\r\n" for row in quoted)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "records.csv"
    path.write_bytes(content)
    return path


def cells(source: Source) -> list[list[str]]:
    frame = read_source(source, None).frame
    return [frame.columns, *(list(row) for row in frame.rows())]


ENCODED = {
    "utf-8": lambda t: t.encode(),
    "utf-8 with a mark": lambda t: codecs.BOM_UTF8 + t.encode(),
    "cp1252": lambda t: t.encode("cp1252"),
    "utf-16": lambda t: t.encode("utf-16"),
    "utf-16, big end first": lambda t: codecs.BOM_UTF16_BE + t.encode("utf-16-be"),
    "utf-16-le": lambda t: t.encode("utf-16-le"),
    "utf-16-be": lambda t: t.encode("utf-16-be"),
    "utf-32": lambda t: t.encode("utf-32"),
}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("form", ENCODED)
def test_what_other_programs_write_is_read_as_it_was_meant(tmp_path: Path, form: str, separator: str) -> None:
    source = file_source(written(tmp_path, ENCODED[form](text(separator))))
    assert cells(source) == CELLS
    assert source.csv is not None
    assert (source.csv.encoding, source.csv.separator) == (form.split()[0].rstrip(","), separator)
    # What is stated makes the same source of a service.
    declared = CsvSource(path=source.csv.path, encoding=source.csv.encoding, separator=source.csv.separator)
    assert cells(Source(csv=declared)) == CELLS


def test_it_is_stated_where_it_is_not_plain(tmp_path: Path) -> None:
    plain = file_source(written(tmp_path, text(",").encode()))
    assert form_line(plain) == ""
    assert form_line(Source.model_validate({"parquet": {"path": tmp_path}})) == ""
    line = form_line(file_source(written(tmp_path, text("\t").encode("cp1252"))))
    assert 'records.csv is read as cp1252, separated by "\\t"; --encoding and --separator override' in line
    assert 'below csv: encoding: "cp1252", separator: "\\t"' in line
    assert "encoding:" not in form_line(file_source(written(tmp_path, text(";").encode())))


def test_a_byte_that_windows_leaves_undefined(tmp_path: Path) -> None:
    assert csv_source(written(tmp_path, b"id,name\n1,a\x81b\n"), FOUND).encoding == "latin-1"
    # Cut in the middle of a letter.
    assert csv_source(written(tmp_path, "id,name\n1,é".encode()[:-1]), FOUND).encoding == "cp1252"


def test_a_broken_line_does_not_hide_the_separator(tmp_path: Path) -> None:
    lines = ["id;name;place"] + [f"{n};a,b;c" for n in range(9)] + ["9;a"]
    path = written(tmp_path, "\n".join(lines).encode())
    assert csv_source(path, FOUND).separator == ";"
    with pytest.raises(GemelError, match=r"line 11: every line must have 3 cells"):
        read_source(file_source(path), None)


def test_one_column_has_no_separator(tmp_path: Path) -> None:
    source = file_source(written(tmp_path, b"name\nann\nbob\n"))
    assert cells(source) == [["name"], ["ann"], ["bob"]]
    assert source.csv == CsvSource(path=tmp_path / "records.csv")


@pytest.mark.parametrize(
    ("content", "given", "code", "message"),
    [
        (
            text(";").encode(),
            CsvOptions(separator=","),
            ErrorCode.SOURCE,
            "no columns by the separator ','.*3 columns by ';'",
        ),
        (text(",").encode(), CsvOptions("cp1252"), ErrorCode.TEXT_ENCODING, "given as cp1252, and is UTF-8"),
        (text(",").encode("cp1252"), CsvOptions("utf-8"), ErrorCode.TEXT_ENCODING, "not in utf-8.*--encoding"),
        (text(",").encode(), CsvOptions("utf-16"), ErrorCode.TEXT_ENCODING, "not in utf-16"),
        (text(",").encode("utf-16"), CsvOptions("cp1252"), ErrorCode.TEXT_ENCODING, "byte order mark of utf-16"),
        (codecs.BOM_UTF8 + b"a,b\n1,2\n", CsvOptions("cp1252"), ErrorCode.TEXT_ENCODING, "and is UTF-8"),
    ],
)
def test_what_is_given_wrongly_is_refused(
    tmp_path: Path, content: bytes, given: CsvOptions, code: ErrorCode, message: str
) -> None:
    with refusal(code, message) as caught:
        read_source(file_source(written(tmp_path, content), given), None)
    assert "Zo" not in str(caught.value)


def test_what_is_given_overrides(tmp_path: Path) -> None:
    # 0xE6 is ć in the windows code page of central Europe, æ in the western one.
    path = written(tmp_path, "id|name,title\n1|Perić,dr\n2|Babić,x\n".encode("cp1250"))
    assert cells(file_source(path, CsvOptions("cp1250", "|")))[1] == ["1", "Perić,dr"]
    assert cells(file_source(path, CsvOptions("cp1250", ",")))[1] == ["1|Perić", "dr"]
    assert "Peri\u00e6,dr" in cells(file_source(path, CsvOptions(separator="|")))[1]


def test_options_of_two_files() -> None:
    once = CsvOptions.of_files(["cp1252"], ["tab"])
    assert once == (CsvOptions("cp1252", "\t"), CsvOptions("cp1252", "\t"))
    assert CsvOptions.of_files([], [";", "pipe"]) == (CsvOptions(None, ";"), CsvOptions(None, "|"))
    for encodings, separators, where in (([], ["||"], "--separator"), (["utf-9"], [], "--encoding")):
        with refusal(ErrorCode.PARAMETER, where):
            CsvOptions.of_files(encodings, separators)
    with pytest.raises(GemelError, match="twice: for Alice's file, then for Bob's"):
        CsvOptions.of_files(["utf-8"] * 3, [])


def test_a_service_that_declares_the_wrong_separator_is_shown_the_right_one(tmp_path: Path) -> None:
    path = written(tmp_path, text(";").encode())
    with pytest.raises(
        GemelError, match="seems to be separated by ';' and not by ',': declare its separator"
    ) as caught:
        read_source(Source(csv=CsvSource(path=path)), ["id"])
    assert "Straße" not in str(caught.value)
    path = written(tmp_path, codecs.BOM_UTF8 + b"a,b\n1,2\n")
    with pytest.raises(GemelError, match="begins with the byte order mark of utf-8"):
        read_source(Source(csv=CsvSource(path=path, encoding="cp1252")), ["a"])
    assert likely_separator("name") is None


@given(
    st.lists(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters='\0\r\n"'), min_size=1), min_size=3, max_size=3
        ),
        min_size=1,
    ),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_any_text_in_unicode_is_found_to_be_that(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], encoding: str
) -> None:
    lines = ["one;two;three", *(";".join(f'"{cell}"' for cell in row) for row in rows)]
    path = written(tmp_path_factory.mktemp("form"), "\n".join(lines).encode(encoding))
    found = csv_source(path, FOUND)
    assert (found.encoding, found.separator) == (encoding, ";")


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


CELL_TEXTS = st.text(alphabet='ab1 ,"\n\r\té\u2028\x0b\x00\U0001d4d0', max_size=6)
MILD = st.text(alphabet="ab1 -é\u2028\x0b\x0c\x1c\x85\U0001d4d0", max_size=6)
BLANKS = " \u2028\x0b\x0c\x85"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(MILD, min_size=2, max_size=2) | st.lists(CELL_TEXTS, min_size=1, max_size=3), max_size=6),
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
