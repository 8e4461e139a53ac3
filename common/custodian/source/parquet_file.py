"""A Parquet file, read some rows at a time, its columns as the text that a person would write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tryst.common.custodian.configuration import ParquetSource
from tryst.common.custodian.source.table import SourceTable, as_text, can_shorten, require_columns
from tryst.common.errors import ErrorCode, TrystError

_ROWS_AT_ONCE = 1 << 18
"""As many as one group of rows often has, of which a part is not read much quicker than the whole."""


def parquet_batches(source: ParquetSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns of a Parquet file, or all, as text, some rows at a time.

    Columns of numbers and times are read twice: how they are written depends on all of their values.

    Yields
    ------
    SourceTable
        At least one, which may be without rows.

    Raises
    ------
    TrystError
        SOURCE for a file that cannot be read, is no Parquet or is cut short; FIELD_MISSING for a missing column.
    """
    path = source.path
    try:
        size = path.stat().st_size
        schema = pl.read_parquet_schema(path)
        columns = [name.strip() for name in schema] if columns is None else columns
        require_columns([name.strip() for name in schema], columns, str(path))
        stored = {name.strip(): name for name in schema}
        used = [stored[name] for name in columns]
        undecided = [name for name in used if _is_undecided(schema[name])]
        shorten = dict.fromkeys(used, True)
        for frame in _frames(path, undecided) if undecided else ():
            shorten |= {name: shorten[name] and can_shorten(frame[name]) for name in undecided}
        before = 0
        for frame in _frames(path, used):
            text = pl.DataFrame(
                [as_text(frame[stored[name]], str(path), shorten[stored[name]]).alias(name) for name in columns]
            )
            yield SourceTable(text, np.arange(before + 1, before + text.height + 1, dtype=np.int64), "row", str(path))
            before += text.height
    except OSError as error:
        raise _unreadable(path, (error.strerror or "input error").lower()) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # The reader's own message may quote what it read.
        raise TrystError(
            ErrorCode.SOURCE,
            "not a whole Parquet file: it was cut short, damaged, or is of another format",
            where=str(path),
            got=f"{size} bytes",
            remedy="copy the file again from where it was made, and compare its size",
        ) from None


def _is_undecided(kind: pl.DataType) -> bool:
    return kind.is_float() or isinstance(kind, pl.Decimal | pl.Datetime)


def _frames(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Some rows after the other; one frame without rows for a file without any."""
    # The path is no pattern of paths, and read as it is.
    file = pl.scan_parquet(path, glob=False).select(columns)
    begin, height = 0, _ROWS_AT_ONCE
    while height == _ROWS_AT_ONCE:
        frame = file.slice(begin, _ROWS_AT_ONCE).collect()
        height = frame.height
        if height or not begin:
            yield frame
        begin += height


def _unreadable(path: Path, reason: str) -> TrystError:
    return TrystError(
        ErrorCode.SOURCE,
        f"cannot be read: {reason}",
        where=str(path),
        remedy="check the path in the configuration and the file's permissions",
    )
