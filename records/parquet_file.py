"""A Parquet file, read some rows at a time, its columns as the text that a person would write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.sources import ParquetSource
from gemel.records.table import SourceTable, frame_parts, require_columns, text_tables, unreadable

_ROWS_AT_ONCE = 1 << 18
"""As many as one group of rows often has, of which a part is not read much quicker than the whole."""


def parquet_batches(source: ParquetSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns of a Parquet file, or all, as text, some rows at a time. Columns of numbers and times
    are read twice: how they are written depends on all of their values."""
    path = source.path
    with _refusing(path):
        schema = pl.read_parquet_schema(path)
        undecided = [n for n, kind in schema.items() if kind.is_float() or isinstance(kind, pl.Decimal | pl.Datetime)]
        yield from text_tables(list(schema), undecided, partial(_frames, path), columns, str(path))


def read_parquet(path: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """Some columns of a Parquet file, or all, of their own types."""
    with _refusing(path):
        chosen = require_columns(list(pl.read_parquet_schema(path)), names, str(path))
        return pl.scan_parquet(path, glob=False).select(chosen).collect()


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Errors of the reader as errors with a remedy."""
    try:
        size = path.stat().st_size
        yield
    except OSError as error:
        raise unreadable(path, error, "check the path in the configuration and the file's permissions") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # The reader's own message may quote what it read.
        what = "not a whole Parquet file: it was cut short, damaged, or is of another format"
        remedy = "copy the file again from where it was made, and compare its size"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), got=f"{size} bytes", remedy=remedy) from None


def _frames(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    # The path is no pattern of paths, and read as it is.
    file = pl.scan_parquet(path, glob=False).select(columns)
    return frame_parts(lambda begin, rows: file.slice(begin, rows).collect(), _ROWS_AT_ONCE)
