"""Databases as sources: queries, and cells of every type."""

from __future__ import annotations

import datetime
import decimal
import sqlite3
import uuid
import zoneinfo
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow
import pytest
import sqlalchemy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.records import adbc_databases
from gemel.records.database_cells import cell_text, column_text, decimal_text, uuid_text, zoned_text
from gemel.records.registry import check_driver, read_source, source_batches
from gemel.records.sources import DatabaseSource, Source
from gemel.records.table import SourceTable
from tests.carole.store.conftest import Postgres, postgres

__all__ = ["postgres"]
PLANTED = "Wolfeschlegelstein"


def source(url: str, query: str) -> Source:
    return Source(database=DatabaseSource(url=url, query=query))


def both(path: Path) -> tuple[str, str]:
    return f"sqlite:///{path}", f"sqlite+adbc:///{path}"


def same(urls: tuple[str, str], query: str, columns: list[str] | None = None) -> SourceTable:
    expected, found = (read_source(source(url, query), columns) for url in urls)
    assert found.frame.equals(expected.frame)
    assert found.positions.tolist() == expected.positions.tolist()
    assert (found.unit, found.where) == (expected.unit, expected.where)
    return found


def refused(url: str, query: str, columns: list[str] | None = None) -> GemelError:
    with pytest.raises(GemelError) as caught:
        read_source(source(url, query), columns)
    assert PLANTED not in str(caught.value)
    return caught.value


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "some people #.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, name TEXT, born DATE, weight REAL, photo BLOB)")
        connection.execute(
            "INSERT INTO people VALUES (1, ' Ann ', '1970-01-02', 61.0, NULL), (2, '', NULL, 7.25, NULL)"
        )
    connection.close()
    return path


values = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=4)


@settings(max_examples=25)
@given(rows=st.lists(st.tuples(values, values), min_size=1, max_size=9), few=st.integers(1, 4))
def test_values_of_any_type_in_one_column(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[object, object]], few: int
) -> None:
    path = tmp_path_factory.mktemp("adbc") / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE x (a, b NUMERIC)")
    connection.executemany("INSERT INTO x VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adbc_databases, "_ROWS_AT_ONCE", few)
        same(both(path), "SELECT b, a, b AS again FROM x ORDER BY rowid DESC", ["again", "a", "b"])


def test_a_query_of_any_form(people: Path) -> None:
    for query in (
        "SELECT *, '100%s :x ?' AS odd FROM people ORDER BY id DESC",
        "SELECT id AS ' id ', count(*) FROM people; ",
        "WITH some AS (SELECT id FROM people) SELECT id FROM some -- a comment);",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT random() > 0 OR 1 AS id, id AS 'time:10' FROM people",
    ):
        same(both(people), query)
    assert same(both(people), "SELECT * FROM people", ["born", "weight"]).frame.rows() == [
        ("1970-01-02", "61"),
        (None, "7.25"),
    ]


def test_an_expression_is_evaluated_once_a_row(people: Path) -> None:
    query = "SELECT abs(random()) % 2 AS coin FROM people, json_each('[1,2,3,4,5,6,7,8,9,10]')"
    frame = read_source(source(both(people)[1], query), None).frame
    assert set(frame["coin"]) <= {"0", "1"}


def test_a_query_can_write_nothing_and_makes_no_file(people: Path, tmp_path: Path) -> None:
    writing = (
        "DELETE FROM people",
        f"SELECT nope('{PLANTED}')",
        "SELECT",
        "SELECT 1; DELETE FROM people",
        f"ATTACH '{tmp_path}/x' AS x",
    )
    for query in writing:
        for url in both(people):
            assert refused(url, query, ["id"]).code in (ErrorCode.SOURCE, ErrorCode.FIELD_MISSING)
    assert read_source(source(both(people)[1], "SELECT count(*) AS n FROM people"), ["n"]).frame.item() == "2"
    error = refused(f"sqlite+adbc:///{tmp_path / PLANTED}", "SELECT 1 AS id")
    assert (error.code, error.where) == (ErrorCode.SOURCE, "the database query")
    assert not (tmp_path / PLANTED).exists()


def test_refusals_are_those_of_the_other_way(people: Path) -> None:
    for query, columns in (
        ("SELECT id, id AS twice, name AS id FROM people", ["id"]),
        ("SELECT id FROM people", ["ids"]),
        ("SELECT id FROM people WHERE id > 2", ["id"]),
        (f"SELECT x'ff{PLANTED.encode().hex()}' AS photo", ["photo"]),
    ):
        expected, found = (refused(url, query, columns) for url in both(people))
        assert str(found) == str(expected)
    assert "not UTF-8" in str(refused(both(people)[1], "SELECT CAST(x'ff41' AS TEXT) AS name"))
    # A column of bytes that is not selected, or has none, is no obstacle.
    same(both(people), "SELECT id, x'ff' AS photo FROM people", ["id"])
    same(both(people), "SELECT photo FROM people")


@pytest.mark.parametrize(
    "url",
    [f"mysql+adbc://{PLANTED}/x", "sqlite+adbc://", f"sqlite+adbc:///x?key={PLANTED}", f"sqlite+adbc://x:{PLANTED}:y"],
)
def test_a_bad_url_is_not_shown(url: str) -> None:
    for act in (check_driver, lambda given: read_source(given, None)):
        with pytest.raises(GemelError) as caught:
            act(source(url, "SELECT 1 AS id"))
        assert (caught.value.code, caught.value.where) == (ErrorCode.CONFIGURATION, "source.database")
        assert PLANTED not in str(caught.value)


@pytest.mark.parametrize(
    "url", [f"postgresql+adbc://me:{PLANTED}@host/x", f"postgresql+adbc:///x?host=h&password={PLANTED}"]
)
def test_a_password_belongs_in_a_file(url: str) -> None:
    with pytest.raises(ValueError, match="belongs in a file of mode 0600"):
        DatabaseSource(url=url, query="SELECT 1")


def test_a_reader_that_stops_leaves_the_file_free(people: Path) -> None:
    url = both(people)[1]
    check_driver(source(url, "SELECT 1"))
    batches = source_batches(source(url, "SELECT id FROM people"), None, 1)
    next(batches)
    batches.close()
    with sqlite3.connect(people) as connection:
        connection.execute("DROP TABLE people")
    connection.close()


SAME = """
SELECT g AS id, g::int2 AS small, g::int8 << 60 AS large, g * 1.1::float4 AS single, 1e10::float4 AS whole,
  g / 7.0::float8 AS double, 'nan'::float8 AS none, CASE g WHEN 2 THEN 1.50 ELSE 5.00 END AS amount,
  1e-7::numeric AS tiny, 'NaN'::numeric AS odd, g > 1 AS flag, '  Zoë %s ' AS name, 'x'::char(9) AS padded,
  'y'::"char" AS one, 'z'::name AS named, CASE g WHEN 2 THEN date '0099-01-02' END AS born,
  timestamp '0999-01-02' + g * interval '12 hours' AS moment, timestamptz '1937-07-01 12:00+00' AS zoned,
  time '03:04:05.5' AS clock, gen_random_uuid() IS NULL AS never, 'a0ee-bc99-9c0b4ef8bb6d6bb9-bd380a11'::uuid AS own,
  'f'::mood AS mood, 7::positive AS domain, NULL AS nothing, NULL::bytea AS empty
FROM generate_series(1, 3) AS g ORDER BY g -- and a comment
"""
OTHER = "1::money", "1::oid", "'\\x00'::bytea", "'{}'::json", "ARRAY[1]", "interval '1 day'", "inet '10.0.0.1'"
OUTSIDE = (
    "date 'infinity'",
    "timestamp 'infinity'",
    "timestamp '12000-01-01'",
    "timestamptz '-infinity'",
    "time '24:00'",
)


def test_a_query_that_writes_by_a_function_is_refused(postgres: Postgres) -> None:
    """What a number is drawn from keeps it when the transaction is rolled back: only that it may not write helps."""
    stated = postgres.database()
    engine = sqlalchemy.create_engine(stated)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SEQUENCE numbered")
    for url in (stated, stated.replace("+psycopg", "+adbc")):
        assert refused(url, "SELECT nextval('numbered') AS id").code is ErrorCode.SOURCE
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT nextval('numbered')").scalar() == 1
    engine.dispose()


def test_postgresql(postgres: Postgres) -> None:
    stated = postgres.database()
    urls = stated, stated.replace("+psycopg", "+adbc")
    engine = sqlalchemy.create_engine(stated)
    with engine.begin() as connection:
        for what in ("TYPE mood AS ENUM ('f')", "DOMAIN positive AS int", "TABLE people (id int)"):
            connection.exec_driver_sql(f"CREATE {what}")
    engine.dispose()
    for zone in ("Europe/Amsterdam", "UTC"):
        same(tuple(f"{url}&options=-c%20timezone%3D{zone}" for url in urls), SAME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adbc_databases, "_BYTES_AT_ONCE", 1000)
        same(urls, "SELECT g AS id FROM generate_series(1, 300) AS g ORDER BY g", ["id"])
    for value in (*OTHER, *OUTSIDE):
        error = refused(urls[1], f"SELECT {value} AS x UNION ALL SELECT NULL")
        assert error.code is ErrorCode.SOURCE
        assert ("no text form" in str(error)) == (value in OTHER), value
    for query in (
        "INSERT INTO people VALUES (1) RETURNING id",
        f"SELECT ('{PLANTED}' || g)::int AS id FROM generate_series(1, 3) AS g",  # noqa: S608
        f"SELECT '{PLANTED}'::int AS id",
        "SELECT 1; SELECT 2",
    ):
        assert [refused(url, query).code for url in urls] == [ErrorCode.SOURCE] * 2
    nowhere = f"postgresql+adbc://someone:{PLANTED}@127.0.0.1:1/{PLANTED}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PEOPLE_URL", nowhere)
        with pytest.raises(GemelError, match="got OperationalError IO") as caught:
            read_source(Source(database=DatabaseSource(url_variable="PEOPLE_URL", query="SELECT 1 AS id")), None)
    assert PLANTED not in str(caught.value)


UTC = datetime.UTC


def lists(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    return st.lists(st.none() | values, max_size=12)


whole = st.integers(-60, 60).flatmap(
    lambda power: st.sampled_from([float(2 ** abs(power)), -float(2 ** abs(power)) - 1])
)
KINDS = {
    pl.String: st.text(max_size=8),
    pl.Boolean: st.booleans(),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float64: st.floats() | whole,
    pl.Date: st.dates(),
    pl.Datetime: st.datetimes() | st.dates().map(lambda day: datetime.datetime.combine(day, datetime.time())),
    pl.Time: st.times(),
}


@given(st.sampled_from(sorted(KINDS, key=str)).flatmap(lambda kind: st.tuples(st.just(kind), lists(KINDS[kind]))))
@example((pl.Float64, [2.0**53, -(2.0**53), 2.0**53 - 1, -0.0, 1e16, 1e-5, float("nan"), float("-inf"), None]))
@example((pl.Datetime, [datetime.datetime(999, 1, 2), datetime.datetime(999, 1, 2, 0, 0, 0, 1), datetime.datetime.max]))
def test_a_column_has_the_text_of_its_cells(typed: tuple[type[pl.DataType], list[object]]) -> None:
    kind, values = typed
    column = pl.Series(values, dtype=kind)
    assert column_text(column, "x").to_list() == [cell_text(value, "x") for value in values]


@given(lists(st.floats(width=32)))
def test_numbers_of_half_the_precision_are_written_with_their_own_digits(values: list[float | None]) -> None:
    # As a driver reads them from PostgreSQL's text, which has the fewest digits that tell the number.
    expected = [None if value is None else cell_text(float(str(np.float32(value))), "x") for value in values]
    assert column_text(pl.Series(values, dtype=pl.Float32), "x").to_list() == expected


@given(lists(st.decimals(allow_nan=False, allow_infinity=False, places=9) | st.decimals(-(10**6), 10**6, places=2)))
@example([decimal.Decimal("5.00"), decimal.Decimal("0.0000001"), decimal.Decimal("-0.000000"), None])
@example([decimal.Decimal("0.000001"), decimal.Decimal("0.0000010"), decimal.Decimal("10.000000001")])
def test_decimals_in_digits(values: list[decimal.Decimal | None]) -> None:
    digits = [None if value is None else f"{value:f}" for value in values]
    expected = [None if value is None else cell_text(value, "x") for value in values]
    assert decimal_text(pl.Series(digits, dtype=pl.String), "x").to_list() == expected


def test_a_decimal_of_many_digits() -> None:
    many = "9" * 5000
    assert cell_text(decimal.Decimal(f"{many}.0"), "x") == decimal_text(pl.Series([f"{many}.0"]), "x").item() == many


def test_decimals_that_are_no_numbers() -> None:
    found = decimal_text(pl.Series(["nan", "inf", "-inf"]), "x").to_list()
    assert found == [cell_text(decimal.Decimal(text), "x") for text in ("nan", "inf", "-inf")]


@given(lists(st.uuids()))
def test_identifiers_as_bytes(values: list[uuid.UUID | None]) -> None:
    column = pl.Series([None if value is None else value.bytes for value in values], dtype=pl.Binary)
    assert uuid_text(column).to_list() == [cell_text(value, "x") for value in values]


@given(
    lists(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2300, 1, 1), timezones=st.just(UTC))),
    st.sampled_from(["UTC", "Europe/Amsterdam", "America/St_Johns"]),
)
def test_moments_are_written_as_a_clock_showed_them(values: list[datetime.datetime | None], name: str) -> None:
    zone = zoneinfo.ZoneInfo(name)
    expected = [None if value is None else cell_text(value.astimezone(zone), "x") for value in values]
    assert zoned_text(pl.Series(values, dtype=pl.Datetime("us", "UTC")), "x", zone).to_list() == expected


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (pyarrow.date32(), 2_932_897),
        (pyarrow.date32(), -719_163),
        (pyarrow.timestamp("us"), 253_402_300_800_000_000),
        (pyarrow.timestamp("us"), -62_135_596_800_000_001),
    ],
)
def test_what_python_cannot_hold_is_refused_by_its_row(kind: pyarrow.DataType, count: int) -> None:
    stored = pyarrow.int32() if kind == pyarrow.date32() else pyarrow.int64()
    column = pl.Series(pyarrow.array([None, count], stored).view(kind))
    with pytest.raises(GemelError) as caught:
        column_text(column, "born", 40)
    assert (caught.value.code, caught.value.where) == (ErrorCode.SOURCE, "the database query, row 42")


def test_a_moment_that_a_clock_elsewhere_shows_after_the_year_9999() -> None:
    last = pl.Series([datetime.datetime.max.replace(tzinfo=UTC)])
    assert zoned_text(last, "x", zoneinfo.ZoneInfo("UTC")).item() == "9999-12-31T23:59:59"
    with pytest.raises(GemelError, match="row 3: column 'x' has a date outside"):
        zoned_text(last, "x", zoneinfo.ZoneInfo("Asia/Tokyo"), 2)


def test_bytes_have_no_text_in_either_way() -> None:
    for read in (lambda: cell_text(b"x", "x"), lambda: column_text(pl.Series([b"x"]), "x")):
        with pytest.raises(GemelError, match="column 'x' is of a type that has no text form"):
            read()
