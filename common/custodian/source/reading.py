"""A custodian's records, from whatever its configuration names, read and cleaned in one way for every use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from tryst.common.cleaning import Cleaned, clean
from tryst.common.custodian.configuration import CsvSource, DatabaseSource, ParquetSource, Source
from tryst.common.custodian.source.csv_file import read_csv
from tryst.common.custodian.source.csv_form import CsvOptions, csv_source
from tryst.common.custodian.source.database_query import open_engine, read_database
from tryst.common.custodian.source.table import SourceTable, as_text, check_identifiers, refuse_empty, require_columns
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.specification import Specification

FOUND = CsvOptions()
"""Nothing of a file's form is given."""
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})


def _unobserved(stage: str) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class CleanedSource:
    """A custodian's records as they are signed.

    Attributes
    ----------
    cleaned
        The compared fields, the variables, and what cleaning did in counts.
    identifiers
        The custodian's own identifiers, String of shape (n_rows,): each there, and each once.
    """

    cleaned: Cleaned
    identifiers: pl.Series = field(repr=False)


def read_cleaned(
    source: Source, spec: Specification, side: Side, stage: Callable[[str], AbstractContextManager[None]] = _unobserved
) -> CleanedSource:
    """Read the columns that a specification names from a custodian's source, and clean them.

    Parameters
    ----------
    source, spec, side
        Whose records, and for what.
    stage
        Entered around ``read`` and around ``clean``, for progress and timings.

    Raises
    ------
    TrystError
        As `read_source`, `check_identifiers` and `common.cleaning.clean`.
    """
    with stage("read"):
        identifier = spec.custodians.of(side).identifier
        table = read_source(source, [identifier, *compared_columns(spec, side)])
        identifiers = check_identifiers(table, identifier)
    with stage("clean"):
        return CleanedSource(_cleaned(table, spec, side), identifiers)


def clean_file(source: Source, spec: Specification, side: Side) -> Cleaned:
    """Read and clean a file for a trial, in which rows need no identifiers.

    Raises
    ------
    TrystError
        As `read_source` and `common.cleaning.clean`.
    """
    return _cleaned(read_source(source, compared_columns(spec, side)), spec, side)


def _cleaned(table: SourceTable, spec: Specification, side: Side) -> Cleaned:
    return clean(table.frame, spec, side, table.places)


def compared_columns(spec: Specification, side: Side) -> list[str]:
    """The columns that become fields and variables of a custodian, each once."""
    names = [name for field in spec.fields for name in field.columns_of(side)]
    return list(dict.fromkeys([*names, *(variable.column_of(side) for variable in spec.variables_of(side))]))


def file_source(path: Path, given: CsvOptions = FOUND) -> Source:
    """A CSV file, whose encoding and separator are found unless given, or by its suffix a Parquet file.

    Raises
    ------
    TrystError
        As `csv_source`.
    """
    if path.suffix.lower() in PARQUET_SUFFIXES:
        return Source(parquet=ParquetSource(path=path))
    return Source(csv=csv_source(path, given))


def read_table(path: Path) -> pl.DataFrame:
    """All columns of a CSV or Parquet file (`file_source`), as text.

    Raises
    ------
    TrystError
        As `file_source` and `read_source`.
    """
    return read_source(file_source(path), None).frame


def read_source(source: Source, columns: Sequence[str] | None) -> SourceTable:
    """Read the selected columns, each once, or all, as text; nothing else of the source is kept.

    Raises
    ------
    TrystError
        As `read_csv`, `read_parquet` and `read_database`; EMPTY_SOURCE for a source without records.
    """
    selected = None if columns is None else list(dict.fromkeys(columns))
    match source.chosen:
        case CsvSource() as chosen:
            table = read_csv(chosen, selected)
        case ParquetSource() as chosen:
            table = read_parquet(chosen, selected)
        case DatabaseSource() as chosen:
            table = read_database(chosen, selected)
    refuse_empty(table)
    return table


def check_driver(source: Source) -> None:
    """Find that what is needed to read a source is installed, before a project needs it; nothing is read.

    Raises
    ------
    TrystError
        MODULE_MISSING with the package; CONFIGURATION for a database's URL that is missing or malformed.
    """
    if source.database is not None:
        open_engine(source.database).dispose()


def read_parquet(source: ParquetSource, columns: Sequence[str] | None) -> SourceTable:
    """Read the selected columns of a Parquet file, or all, as text.

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
    """Inode, size and time, which change when a source file is replaced or corrected; None for a database."""
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
