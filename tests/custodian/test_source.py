"""Sources: what is a table is read as text, what is not is refused with its place and without its values."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.source.cleaned_file import clean_file, read_cleaned
from gemel.records.registry import file_source, read_source, read_table, source_stamp
from gemel.records.sources import CsvSource, DatabaseSource, ParquetSource, Source
from gemel.records.table import SourceTable, as_text, check_identifiers
from tests.carole.refusals import refusal
from tests.specifications import heading

PLANTED = "Wolfeschlegelstein"
SPECIFICATION = (
    heading("people", alice="key", bob="key")
    + """
fields: [{name: surname, kind: name, columns: {alice: name, bob: name}}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


def read(path: Path, columns: list[str], **options: str) -> SourceTable:
    return read_source(Source(csv=CsvSource(path=path, **options)), columns)


def refused(code: ErrorCode, path: Path, columns: Sequence[str] = ("id",), *words: str) -> GemelError:
    with refusal(code) as caught:
        read(path, list(columns))
    assert PLANTED not in str(caught.value)
    for each in (str(path), *words):
        assert each in str(caught.value)
    return caught.value


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "records.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_header_and_cells_lose_their_blanks(tmp_path: Path) -> None:
    path = written(tmp_path, "rec_id, given name , age\r\nr1,  Ann ,\r\n\r\nr2,\u00a0,07\r\n")
    table = read(path, ["age", "rec_id", "given name"])
    assert table.frame.to_dict(as_series=False) == {
        "age": [None, "07"],
        "rec_id": ["r1", "r2"],
        "given name": ["Ann", None],
    }
    assert table.positions.tolist() == [2, 4]
    assert table.unit == "line"


def test_only_the_wanted_columns_are_kept(tmp_path: Path) -> None:
    table = read(written(tmp_path, f",id,secret\n1,a,{PLANTED}\n"), ["id"])
    assert table.frame.columns == ["id"]
    assert PLANTED not in repr(table)
    assert read(written(tmp_path, "id,name,name\n1,a,b\n"), ["id"]).n_rows == 1


def test_quoted_lines_keep_the_line_numbers_of_the_file(tmp_path: Path) -> None:
    table = read(written(tmp_path, 'id,note\n1,"two\nlines"\n2,"a ""quoted"" word"\n'), ["id", "note"])
    assert table.frame.get_column("note").to_list() == ["two\nlines", 'a "quoted" word']
    assert table.positions.tolist() == [2, 4]


def test_separator_encoding_and_byte_order_mark(tmp_path: Path) -> None:
    path = written(tmp_path, "id;name\n1;Zoë\n".encode("cp1252"))
    assert read(path, ["name"], separator=";", encoding="cp1252").frame.item() == "Zoë"
    path = written(tmp_path, b"\xef\xbb\xbfid,name\n1,Ann\n")
    assert read(path, ["id"]).frame.item() == "1"
    path = written(tmp_path, "id,name\n1,Zoë\n".encode("utf-16"))
    assert read(path, ["name"], encoding="utf-16").frame.item() == "Zoë"


@pytest.mark.parametrize(
    ("content", "columns", "code", "words"),
    [
        *((text, ["id", "name"], ErrorCode.EMPTY_SOURCE, ()) for text in ("", "\n", "id,name\n", "id,name\n\n\n")),
        (f"1,{PLANTED},x\n2,b,y\n", ["id"], ErrorCode.FIELD_MISSING, ("first line holds the names",)),
        (
            "id,sur_name,x\n1,a,b\n",
            ["id", "surname", "postcode"],
            ErrorCode.FIELD_MISSING,
            ("'surname'", "did you mean 'sur_name'?", "'postcode'"),
        ),
        ("id,name,name\n1,a,b\n", ["id", "name"], ErrorCode.SOURCE, ("occurs 2 times",)),
        (f'id,name\n1,a\n2,"{PLANTED}"x\n3,b\n', ["id"], ErrorCode.SOURCE, ("quotation",)),
        (f'id,name\n1,a\n2,"{PLANTED}\n3,b\n', ["id"], ErrorCode.SOURCE, ("quotation",)),
        ("id,name\n1,a\n".encode("utf-16"), ["id"], ErrorCode.TEXT_ENCODING, ("`encoding: utf-16`",)),
        ("id,name\n1,a\n".encode("utf-16-le"), ["id"], ErrorCode.TEXT_ENCODING, ()),
        (f"id,name\n1,{PLANTED}\n2,Zo".encode() + b"\xeb\n", ["id"], ErrorCode.TEXT_ENCODING, ("line 3, byte 33",)),
    ],
)
def test_what_is_no_table_is_refused(
    tmp_path: Path, content: str | bytes, columns: list[str], code: ErrorCode, words: tuple[str, ...]
) -> None:
    refused(code, written(tmp_path, content), columns, *words)


@pytest.mark.parametrize(("line", "found"), [(f"2,{PLANTED}", "2"), (f"2,{PLANTED},a,b", "4"), (PLANTED, "1")])
def test_a_ragged_line_is_refused_with_its_number(tmp_path: Path, line: str, found: str) -> None:
    error = refused(ErrorCode.SOURCE, written(tmp_path, f'id,name,age\n1,"a\nb",c\n{line}\n3,d,e\n'))
    assert "line 4" in error.where
    assert error.got == found


def test_wrong_encoding_behind_many_blocks_and_in_a_split_character(tmp_path: Path) -> None:
    # Two-byte characters at odd offsets, so that one of them straddles the end of a block of 1 MiB.
    good = b"id,name\n" + "1,éééééééé\n".encode() * 120_000
    for end in (b"2,\xc3\n", b"2,\xc3"):
        error = refused(ErrorCode.TEXT_ENCODING, written(tmp_path, good + end))
        assert error.where.endswith(f"line 120002, byte {len(good) + 2}")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        refused(ErrorCode.SOURCE, path)


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8))
def test_what_a_csv_writer_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "a", "b"])
        for number, row in enumerate(rows):
            writer.writerow([number, *row])
    table = read(path, ["id", "a", "b"])
    # Blanks at the ends are dropped; a blank is defined by Unicode's White_Space, not by Python's str.strip.
    blanks = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
    expected = [tuple(cell.strip(blanks) or None for cell in row) for row in rows]
    assert list(table.frame.select("a", "b").rows()) == expected


def test_identifiers_must_be_there_and_distinct(tmp_path: Path) -> None:
    path = written(tmp_path, f"id,x\n{PLANTED},1\na,2\n{PLANTED},3\n,4\na,5\nb,6\n")
    with refusal(ErrorCode.DUPLICATE_IDENTIFIER) as caught:
        check_identifiers(read(path, ["id"]), "id")
    assert caught.value.got == "1 rows without one (line 5) and 2 identifiers on 4 rows (lines 2, 3, 4, 6)"
    assert PLANTED not in str(caught.value)
    good = written(tmp_path, "id\nb\na\n")
    assert check_identifiers(read(good, ["id"]), "id").to_list() == ["b", "a"]


def test_parquet_types_become_the_text_a_person_would_write(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    pl.DataFrame(
        {
            "text": [" a ", "", None],
            "whole": [1, 2, None],
            "gaps": [2600.0, float("nan"), None],
            "real": [1.5, 2.0, None],
            "date": [datetime.date(1970, 1, 2), None, None],
            "midnight": [datetime.datetime(1970, 1, 2), None, None],
            "moment": [datetime.datetime(1970, 1, 2, 3, 4, 5), None, None],
            "flag": [True, False, None],
            "kind": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "nothing": [None, None, None],
        }
    ).write_parquet(path)
    columns = ["text", "whole", "gaps", "real", "date", "midnight", "moment", "flag", "kind", "nothing"]
    table = read_source(Source(parquet=ParquetSource(path=path)), columns)
    assert table.frame.row(0) == (
        "a", "1", "2600", "1.5", "1970-01-02", "1970-01-02", "1970-01-02T03:04:05", "true", "x", None,
    )  # fmt: skip
    assert table.frame.row(1) == (None, "2", None, "2.0", None, None, None, "false", "y", None)
    assert set(table.frame.row(2)) == {None}


def test_a_type_without_text_is_refused() -> None:
    with pytest.raises(GemelError, match="no text form, got List"):
        as_text(pl.Series("x", [[1], [2]]), "here")


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda whole, keep=keep: whole[: int(keep * len(whole))] for keep in (0, 0.5, 0.9)),
        *(lambda whole, keep=keep: whole[:keep] for keep in (3, 50, -1)),
        lambda whole: whole[:8] + bytes(392) + whole[400:],
    ],
    ids=["nothing", "half", "most", "three bytes", "50 bytes", "all but one", "zeros at its beginning"],
)
def test_a_damaged_parquet_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "damaged.parquet"
    pl.DataFrame({"id": [f"{PLANTED}{i}" for i in range(5000)]}).write_parquet(path)
    path.write_bytes(damage(path.read_bytes()))
    with refusal(ErrorCode.SOURCE) as caught:
        read_source(Source(parquet=ParquetSource(path=path)), ["id"])
    assert PLANTED not in str(caught.value)
    assert "Parquet" in str(caught.value)


def test_a_missing_column_of_a_parquet(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    pl.DataFrame({"id": ["a"], "surname": ["b"]}).write_parquet(path)
    with pytest.raises(GemelError, match="did you mean 'surname'"):
        read_source(Source(parquet=ParquetSource(path=path)), ["id", "surename"])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "people.sqlite"
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE people (id INTEGER, name TEXT, born DATE, weight REAL)")
        connection.exec_driver_sql("INSERT INTO people VALUES (1, ' Ann ', '1970-01-02', 61.0), (2, '', NULL, 7.25)")
    engine.dispose()
    return path


def test_a_query_is_read_as_text(database: Path, tmp_path: Path) -> None:
    url_file = tmp_path / "url"
    url_file.write_text(f"sqlite:///{database}\n")
    url_file.chmod(0o600)
    query = "SELECT *, '100%s :x' AS odd FROM people ORDER BY id"
    source = Source(database=DatabaseSource(url_file=url_file, query=query))
    table = read_source(source, ["id", "name", "born", "weight", "odd"])
    assert table.frame.rows() == [("1", "Ann", "1970-01-02", "61", "100%s :x"), ("2", None, None, "7.25", "100%s :x")]
    assert np.array_equal(table.positions, [1, 2])
    assert source_stamp(source) is None


def test_a_url_file_open_to_others_is_refused(database: Path, tmp_path: Path) -> None:
    url_file = tmp_path / "url"
    url_file.write_text(f"sqlite:///{database}")
    url_file.chmod(0o644)
    with pytest.raises(GemelError, match="open to other users"):
        read_source(Source(database=DatabaseSource(url_file=url_file, query="SELECT 1 AS id")), ["id"])


def test_a_query_can_write_nothing_and_its_error_shows_no_value(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEOPLE_URL", f"sqlite:///{database}")
    for query in ("DELETE FROM people", f"SELECT nope('{PLANTED}')", "SELECT"):
        source = Source(database=DatabaseSource(url_variable="PEOPLE_URL", query=query))
        with pytest.raises(GemelError) as caught:
            read_source(source, ["id"])
        assert caught.value.code in (ErrorCode.SOURCE, ErrorCode.FIELD_MISSING)
        assert PLANTED not in str(caught.value)
    left = DatabaseSource(url_variable="PEOPLE_URL", query="SELECT count(*) AS n FROM people")
    assert read_source(Source(database=left), ["n"]).frame.item() == "2"
    monkeypatch.delenv("PEOPLE_URL")
    with pytest.raises(GemelError, match="PEOPLE_URL is not set"):
        read_source(Source(database=left), ["n"])


def test_a_bad_url_is_not_shown() -> None:
    for url in (f"nonsense {PLANTED}", f"nosuch://{PLANTED}/x"):
        with refusal(ErrorCode.CONFIGURATION) as caught:
            read_source(Source(database=DatabaseSource(url=url, query="SELECT 1 AS id")), ["id"])
        assert PLANTED not in str(caught.value)


def test_the_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    source = Source(csv=CsvSource(path=path))
    stamps = [source_stamp(source)]
    path.write_text("a\n")
    stamps.append(source_stamp(source))
    path.write_text("ab\n")
    stamps.append(source_stamp(source))
    assert len(set(stamps)) == 3


def test_a_whole_table_by_the_files_suffix(tmp_path: Path) -> None:
    path = written(tmp_path, ",id,name\n1,a,Ann\n")
    assert read_table(path).to_dict(as_series=False) == {"id": ["a"], "name": ["Ann"]}
    other = tmp_path / "x.PQ"
    pl.DataFrame({"id": [1], "name": ["Ann"]}).write_parquet(other)
    assert read_table(other).to_dict(as_series=False) == {"id": ["1"], "name": ["Ann"]}
    with pytest.raises(GemelError, match="occurs 2 times"):
        read_table(written(tmp_path, "id,id\n1,2\n"))


def test_a_source_is_cleaned_in_one_way_for_contribution_and_for_a_trial(tmp_path: Path) -> None:
    spec = load_specification(SPECIFICATION)
    path = tmp_path / "people.csv"
    path.write_text("key,name,town\n1, SMITH ,x\n2,Smyth,y\n")
    found = read_cleaned(Source(csv=CsvSource(path=path)), spec, Side.ALICE)
    assert found.identifiers.to_list() == ["1", "2"]
    assert {name: column.to_list() for name, column in found.cleaned.columns.items()} == {"surname": ["smith", "smyth"]}
    trial = clean_file(file_source(path), spec, Side.ALICE)
    assert trial.profile == found.cleaned.profile
    assert trial.columns["surname"].equals(found.cleaned.columns["surname"])
    path.write_text("key,name\n1,Smith\n1,Smyth\n")
    with refusal(ErrorCode.DUPLICATE_IDENTIFIER):
        read_cleaned(Source(csv=CsvSource(path=path)), spec, Side.ALICE)
    assert clean_file(file_source(path), spec, Side.ALICE).profile.rows == 2, "a trial needs no identifiers"
