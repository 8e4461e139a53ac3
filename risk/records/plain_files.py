"""Records in CSV, every column as text, and in Parquet, every column of its own type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from tryst.common.errors import ErrorCode, TrystError

Found = TypeVar("Found")


def csv_columns(path: Path) -> list[str]:
    """Names in the header of a CSV file."""
    return _readable(path, lambda: pl.read_csv(path, infer_schema=False, n_rows=0).columns)


def read_csv(path: Path, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of a CSV file in UTF-8, as text; an empty cell is null."""
    return _readable(path, lambda: pl.read_csv(path, columns=list(names), infer_schema=False).select(names))


def parquet_columns(path: Path) -> list[str]:
    """Names in the schema of a Parquet file."""
    return _readable(path, lambda: list(pl.read_parquet_schema(path)))


def read_parquet(path: Path, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of a Parquet file."""
    return _readable(path, lambda: pl.read_parquet(path, columns=list(names)))


def _readable(path: Path, read: Callable[[], Found]) -> Found:
    try:
        return read()
    except pl.exceptions.NoDataError as error:
        raise TrystError(ErrorCode.EMPTY_SOURCE, "the file is empty", where=str(path)) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TrystError(
            ErrorCode.SOURCE,
            "could not be read as a table",
            where=str(path),
            remedy="CSV in UTF-8, or by its ending Parquet, Stata, SPSS or SAS (docs/identification.md)",
        ) from error
