"""Reading a custodian's records, from whatever its configuration names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tryst.common.custodian.configuration import CsvSource, DatabaseSource, ParquetSource, Source
from tryst.common.custodian.source.csv_file import read_csv
from tryst.common.custodian.source.database_query import read_database
from tryst.common.custodian.source.table import SourceTable, as_text, check_identifiers, refuse_empty, require_columns
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.specification import Specification

PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})


def read_source(source: Source, columns: Sequence[str]) -> SourceTable:
    """Read the wanted columns, each once, as text; nothing else of the source is kept.

    Raises
    ------
    TrystError
        As `read_csv`, `read_parquet` and `read_database`; EMPTY_SOURCE for a source without records.
    """
    wanted = list(dict.fromkeys(columns))
    match source.chosen:
        case CsvSource() as chosen:
            table = read_csv(chosen, wanted)
        case ParquetSource() as chosen:
            table = read_parquet(chosen, wanted)
        case DatabaseSource() as chosen:
            table = read_database(chosen, wanted)
    refuse_empty(table)
    return table


def read_records(source: Source, spec: Specification, side: Side) -> tuple[SourceTable, pl.Series]:
    """What a specification asks of this custodian: the columns it names, and the identifiers of the rows.

    Returns
    -------
    table, identifiers
        The identifiers are checked to be there and distinct.

    Raises
    ------
    TrystError
        As `read_source` and `check_identifiers`.
    """
    identifier = spec.custodians.of(side).identifier
    columns = [name for field in spec.fields for name in field.columns_of(side)]
    columns += [variable.column_of(side) for variable in spec.variables_of(side)]
    table = read_source(source, [identifier, *columns])
    return table, check_identifiers(table, identifier)


def read_table(path: Path) -> pl.DataFrame:
    """All columns of a CSV file (UTF-8, commas) or, by its suffix, of a Parquet file, as text.

    Raises
    ------
    TrystError
        As `read_csv` and `read_parquet`; EMPTY_SOURCE for a file without records.
    """
    if path.suffix.lower() in PARQUET_SUFFIXES:
        table = read_parquet(ParquetSource(path=path), None)
    else:
        table = read_csv(CsvSource(path=path), None)
    refuse_empty(table)
    return table.frame


def read_compared(path: Path, spec: Specification, side: Side) -> SourceTable:
    """The columns that a specification asks for, of a CSV file or, by its suffix, of a Parquet file.

    Raises
    ------
    TrystError
        As `read_source`.
    """
    columns = [name for field in spec.fields for name in field.columns_of(side)]
    columns += [variable.column_of(side) for variable in spec.variables_of(side)]
    kind = "parquet" if path.suffix.lower() in PARQUET_SUFFIXES else "csv"
    return read_source(Source.model_validate({kind: {"path": path}}), columns)


def read_parquet(source: ParquetSource, columns: Sequence[str] | None) -> SourceTable:
    """Read the wanted columns of a Parquet file, or all, as text.

    Raises
    ------
    TrystError
        SOURCE for a file that cannot be read, is no Parquet or is cut short; FIELD_MISSING for a missing column.
    """
    path = source.path
    try:
        size = path.stat().st_size
        names = list(pl.read_parquet_schema(path))
        columns = [name.strip() for name in names] if columns is None else columns
        require_columns([name.strip() for name in names], columns, str(path))
        stored = {name.strip(): name for name in names}
        frame = pl.read_parquet(path, columns=[stored[name] for name in columns])
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
    text = pl.DataFrame([as_text(frame.get_column(stored[name]), str(path)).alias(name) for name in columns])
    return SourceTable(text, np.arange(1, text.height + 1, dtype=np.int64), "row", str(path))


def source_stamp(source: Source) -> tuple[int, int, int] | None:
    """What changes when a source file is replaced or mended: inode, size and time. None for a database."""
    chosen = source.chosen
    if isinstance(chosen, DatabaseSource):
        return None
    try:
        status = chosen.path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _unreadable(path: Path, reason: str) -> TrystError:
    return TrystError(
        ErrorCode.SOURCE,
        f"cannot be read: {reason}",
        where=str(path),
        remedy="check the path in the configuration and the file's permissions",
    )
