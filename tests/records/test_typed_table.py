"""Tables of any kind, typed and in batches."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

import polars as pl
import pyreadstat
import pytest
import sqlalchemy
from typer.testing import CliRunner

from gemel.common.errors import ErrorCode, GemelError
from gemel.records import csv_file, database_query, parquet_file
from gemel.records.registry import BY_ENDING, source_batches
from gemel.records.sources import CsvSource, DatabaseSource, ParquetSource, Source
from gemel.records.table import SourceTable, joined
from gemel.records.typed_table import Labelled, labelled, read_records
from gemel.risk.attribution.reader import read_release
from gemel.risk.commands.disclosure import app
from tests.carole.refusals import refusal

TABLE = pl.DataFrame(
    {"sex": [1, 2, None, 1, 2, 1], "town": ["é", "b", "b", "c", "é", "b"], "w": [1.5, 2.5, 3.0, 4.0, 2.0, 2.0]}
)
LABELS = {"sex": {1: "male", 2: "female"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("records")
    TABLE.write_csv(path / "r.csv")
    TABLE.write_parquet(path / "r.parquet")
    for ending in ("sav", "zsav"):
        packed = {"row_compress": True} if ending == "zsav" else {}
        pyreadstat.write_sav(TABLE, path / f"r.{ending}", variable_value_labels=LABELS, **packed)
    pyreadstat.write_dta(TABLE, path / "r.dta", variable_value_labels=LABELS)
    pyreadstat.write_xport(TABLE, path / "r.xpt", file_format_version=8)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav", "zsav", "dta", "xpt"])
def test_every_kind_is_the_same_table(folder, ending):
    found = read_records(folder / f"r.{ending}", ["town", "sex"])
    assert found.columns == ["town", "sex"]
    assert found["sex"].cast(pl.String).to_list() == ["1", "2", None, "1", "2", "1"]
    assert found["town"].to_list() == TABLE["town"].to_list()
    weights = read_records(folder / f"r.{ending}", ["w"])["w"].cast(pl.Float64)
    assert weights.to_list() == TABLE["w"].to_list()
    assert read_records(folder / f"r.{ending}").columns == TABLE.columns


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_codes_or_labels(folder, ending):
    path = folder / f"r.{ending}"
    assert read_records(path, ["sex", "town"], "labels")["sex"].to_list() == [
        "male", "female", None, "male", "female", "male",
    ]  # fmt: skip
    assert labelled(path, ["town", "sex"], "codes") == Labelled(("sex",), "codes")
    assert labelled(path, ["town"], "codes") is None
    assert labelled(folder / "r.csv", ["sex"], "labels") is None


def test_two_codes_with_one_label_are_refused_and_a_code_without_one_stays(tmp_path):
    table = pl.DataFrame({"a": [1, 2, 3]})
    pyreadstat.write_sav(table, tmp_path / "same.sav", variable_value_labels={"a": {1: "x", 2: "x"}})
    pyreadstat.write_sav(table, tmp_path / "some.sav", variable_value_labels={"a": {1: "x", 2: "y"}})
    with pytest.raises(GemelError, match="same label"):
        read_records(tmp_path / "same.sav", ["a"], "labels")
    assert read_records(tmp_path / "some.sav", ["a"], "labels")["a"].to_list() == ["x", "y", "3"]


@pytest.mark.parametrize("ending", list(BY_ENDING))
def test_what_cannot_be_read_names_the_file_and_a_remedy(tmp_path, ending):
    path = tmp_path / f"broken{ending}"
    with pytest.raises(GemelError, match="no such file"):
        read_records(path, ["a"])
    path.write_bytes(b"broken\n1,2,3\n")
    with pytest.raises(GemelError) as caught:
        read_records(path, ["a"])
    assert caught.value.code in (ErrorCode.SOURCE, ErrorCode.FIELD_MISSING)
    assert caught.value.where.startswith(str(path))
    assert caught.value.remedy


def test_a_column_that_is_not_there(folder):
    for ending in ("csv", "parquet", "sav"):
        with pytest.raises(GemelError, match=r"there is no column 'colour'"):
            read_records(folder / f"r.{ending}", ["sex", "colour"])


def test_without_the_extra_the_error_names_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(GemelError, match=r"pip install '\.\[records\]'") as caught:
        read_records(folder / "r.sav", ["sex"])
    assert caught.value.code == ErrorCode.MODULE_MISSING
    assert read_records(folder / "r.csv", ["sex"]).height == 6


def run(*arguments: object):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (("attribution", "microdata"), ("--keys", "town", "--sensitive", "sex")),
        pytest.param(("identify",), ("--keys", "sex,town", "--fraction", "0.1"), marks=pytest.mark.long),
        pytest.param(("models",), ("--variables", "sex,town"), marks=pytest.mark.long),
    ],
)
def test_the_commands_read_every_kind_alike(folder, tmp_path, command, options):
    found = []
    for ending in ("csv", "dta"):
        done = run(*command, folder / f"r.{ending}", *options, "--json", tmp_path / "out.json")
        assert done.exit_code == 0, done.output
        found.append(json.loads((tmp_path / "out.json").read_text()))
    if command == ("identify",):
        assert found[0]["file"].pop("labelled") is None
        assert found[1]["file"].pop("labelled") == {"columns": ["sex"], "values": "codes"}
    assert found[0] == found[1]


def test_the_output_states_which_values_were_taken(folder, tmp_path):
    command = ("identify", folder / "r.sav", "--keys", "sex,town", "--fraction", "0.1")
    assert "sex: codes are used (--values labels" in run(*command).output
    page = tmp_path / "r.html"
    assert "sex: labels are used (--values codes" in run(*command, "--values", "labels", "--out", page).output
    assert "the labels are used: sex" in page.read_text()
    assert "--values" in str(run(*command, "--values", "names").exception)


def test_a_table_of_counts_in_parquet_is_the_release_of_its_csv(tmp_path):
    counts = pl.DataFrame({"sex": ["f", "f", "m", "m"], "ill": ["y", "n", "y", "n"], "count": [3, 4, 0, 2]})
    counts.write_csv(tmp_path / "t.csv")
    counts.write_parquet(tmp_path / "t.parquet")
    assert repr(read_release(tmp_path / "t.parquet")) == repr(read_release(tmp_path / "t.csv"))


COLUMNS = ["b", "a"]
LINES = "".join(f"{number},x{number % 3}\n" for number in range(20))


def batches(source: Source, rows: int) -> list[SourceTable]:
    found = list(source_batches(source, COLUMNS, rows))
    assert all(0 < part.n_rows <= rows for part in found)
    return found


def same(source: Source, rows: int, whole: SourceTable) -> None:
    parts = joined(batches(source, rows))
    assert parts.frame.equals(whole.frame)
    assert parts.positions.tolist() == whole.positions.tolist()
    assert (parts.unit, parts.where) == (whole.unit, whole.where)


@pytest.fixture(params=[1, 5, 1000])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rows of a batch; each reader itself reads as few at a time."""
    some: int = request.param
    monkeypatch.setattr(csv_file, "_ROWS_AT_ONCE", some)
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 3 * some)
    monkeypatch.setattr(database_query, "_ROWS_AT_ONCE", some)
    monkeypatch.setattr(parquet_file, "_ROWS_AT_ONCE", some)
    return some


@pytest.mark.parametrize("rest", ["", '20,"q\nr"\n\n21,é\n', "20,last", '\n"20",x'])
def test_a_file_that_is_plain_up_to_somewhere(rest: str, rows: int, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("\ufeffa,b\n" + LINES + rest, encoding="utf-8")
    source = Source(csv=CsvSource(path=path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "_NEVER", csv_file._NEVER + b",")
        whole = joined(source_batches(source, COLUMNS))
    same(source, rows, whole)


@pytest.mark.parametrize(("rest", "line"), [("1\n", 22), ('"x\n', 22), ("1,\udcff\n", 22), ("\n\n1,2,3\n", 24)])
def test_an_error_after_many_plain_lines_names_its_line(rest: str, line: int, rows: int, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(("a,b\n" + LINES + rest).encode(errors="surrogateescape"))
    with pytest.raises(GemelError, match=f"line {line}"):
        batches(Source(csv=CsvSource(path=path)), rows)


def test_how_a_parquet_column_is_written_depends_on_all_of_it(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    days = [datetime.datetime(2000, 1, day + 1) for day in range(20)]
    frame = pl.DataFrame({"a": [*map(float, range(19)), 0.5], " b ": [*days[:19], None]})
    for last in (0.5, None, float("nan")):
        frame.with_columns(pl.col("a").replace(0.5, last)).write_parquet(path, row_group_size=7)
        source = Source(parquet=ParquetSource(path=path))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parquet_file, "_ROWS_AT_ONCE", 1000)
            whole = joined(source_batches(source, COLUMNS))
        assert whole.frame["a"][0] == ("0.0" if last == 0.5 else "0")
        same(source, rows, whole)
    frame.with_columns(pl.lit(datetime.datetime(2000, 1, 1, 12)).alias(" b ")).write_parquet(path)
    assert joined(batches(source, rows)).frame["b"][0] == "2000-01-01T12:00:00"


def test_a_query_and_sources_without_records(rows: int, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'people.sqlite'}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE people (a INTEGER, b TEXT)")
        for number in range(20):
            connection.exec_driver_sql("INSERT INTO people VALUES (?, ?)", (number, f" x{number} "))
    engine.dispose()
    parts = joined(batches(Source(database=DatabaseSource(url=url, query="SELECT a, b FROM people ORDER BY a")), rows))
    assert parts.frame.rows() == [(f"x{number}", str(number)) for number in range(20)]
    assert parts.positions.tolist() == list(range(1, 21))
    empty = tmp_path / "empty.parquet"
    pl.DataFrame(schema={"a": pl.Float64, "b": pl.String}).write_parquet(empty)
    nothing = Source(database=DatabaseSource(url=url, query="SELECT a, b FROM people WHERE a < 0"))
    for source in (Source(parquet=ParquetSource(path=empty)), nothing):
        with refusal(ErrorCode.EMPTY_SOURCE):
            batches(source, rows)
