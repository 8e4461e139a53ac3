"""A source read in batches has the rows, the positions and the errors of the same source read as a whole."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy

from gemel.common.errors import ErrorCode, GemelError
from gemel.records import csv_file, database_query, parquet_file
from gemel.records.registry import source_batches
from gemel.records.sources import CsvSource, DatabaseSource, ParquetSource, Source
from gemel.records.table import SourceTable, joined
from tests.carole.refusals import refusal

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
