"""The tables person and location of the OMOP common data model, as one table: each person with its address.

Every column of both tables can be selected, by its name in the model, in lower case. `birth_date` is made of
`year_of_birth`, `month_of_birth` and `day_of_birth` where all three are there, else of `birth_datetime`; `sex` is
male or female where `gender_concept_id` says so (8507, 8532).

The selected columns of location are held in memory, persons are read some at a time. A data model in a database is
better read by a query (`database`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.csv_file import csv_batches
from gemel.records.csv_form import as_found
from gemel.records.parquet_file import parquet_batches
from gemel.records.sources import CsvSource, OmopSource, ParquetSource
from gemel.records.table import SourceTable, joined, require_columns

_KEY = "location_id"
_BIRTH = ("year_of_birth", "month_of_birth", "day_of_birth")
_PARQUET = (".parquet", ".pq")
_SEXES = {"8507": "male", "8532": "female"}
_MADE = {"birth_date": (*_BIRTH, "birth_datetime"), "sex": ("gender_concept_id",)}
"""Columns that are made, and the columns of person of which."""


def omop_batches(source: OmopSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns of both tables, or all, as text, some persons at a time."""
    persons = _names(source.person, source)
    places = [] if source.location is None else _names(source.location, source)
    own = {name.lower(): name for name in persons}
    there = {name.lower(): name for name in places if name.lower() not in own}
    made = [name for name, needed in _MADE.items() if name not in own and any(part in own for part in needed)]
    available = [*own, *there, *made]
    remedy = "person and location have the columns of the OMOP common data model"
    chosen = require_columns(available, columns, str(source.person), remedy)
    addressed = [name for name in chosen if name in there]
    parts = [part for name in chosen if name in made for part in _MADE[name] if part in own]
    used = list(dict.fromkeys([*(name for name in chosen if name in own), *parts, *([_KEY] if addressed else [])]))
    location = _location(source, addressed) if addressed else None
    for table in _batches(source.person, source, [own[name] for name in used]):
        frame = table.frame.rename({own[name]: name for name in used})
        if location is not None:
            frame = _with_places(frame, location, table, source)
        frame = frame.with_columns(_made(frame, name) for name in chosen if name in made)
        yield SourceTable(frame.select(chosen), table.positions, table.unit, table.where)


def _location(source: OmopSource, names: Sequence[str]) -> pl.DataFrame:
    """The places by their key; refuses a key that is there twice."""
    assert source.location is not None  # noqa: S101 - columns of it were found
    stored = {name.lower(): name for name in _names(source.location, source)}
    require_columns(list(stored), [_KEY], str(source.location))
    table = joined(_batches(source.location, source, [stored[name] for name in (_KEY, *names)]))
    frame = table.frame.rename({stored[name]: name for name in (_KEY, *names)})
    twice = (frame[_KEY].is_duplicated() | frame[_KEY].is_null()).to_numpy()
    if twice.any():
        got = "rows without one, or with that of another"
        raise _refused(f"every place needs a {_KEY} of its own", table, twice, got)
    return frame


def _with_places(frame: pl.DataFrame, location: pl.DataFrame, table: SourceTable, source: OmopSource) -> pl.DataFrame:
    known = frame[_KEY].is_null() | frame[_KEY].is_in(location[_KEY].implode())
    if not known.all():
        what = f"a person's {_KEY} must be one of {source.location}"
        raise _refused(what, table, (~known).to_numpy(), "persons whose place is not there")
    return frame.join(location, on=_KEY, how="left", maintain_order="left")


def _refused(what: str, table: SourceTable, rows: NDArray[np.bool_], got: str) -> GemelError:
    where = f"{table.where}, {table.unit} {table.positions[rows][0]}"
    remedy = "export both tables again, at the same time"
    return GemelError(ErrorCode.SOURCE, what, where=where, got=f"{int(rows.sum())} {got}", remedy=remedy)


def _made(frame: pl.DataFrame, name: str) -> pl.Series:
    if name == "sex":
        return frame["gender_concept_id"].replace_strict(_SEXES, default=None, return_dtype=pl.String).alias(name)
    day = pl.Series(name, [None] * frame.height, dtype=pl.String)
    if all(part in frame.columns for part in _BIRTH):
        year, month, date = (frame[part].str.zfill(width) for part, width in zip(_BIRTH, (4, 2, 2), strict=True))
        day = (year + "-" + month + "-" + date).alias(name)
    return day.fill_null(frame["birth_datetime"].str.head(10)) if "birth_datetime" in frame.columns else day


def _names(path: Path, source: OmopSource) -> list[str]:
    """Names of a table's columns, as its file has them."""
    return next(iter(_batches(path, source, None))).frame.columns


def _batches(path: Path, source: OmopSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    if path.suffix.lower() in _PARQUET:
        return parquet_batches(ParquetSource(path=path), columns)
    return csv_batches(as_found(CsvSource(path=path, encoding=source.encoding, separator=source.separator)), columns)
