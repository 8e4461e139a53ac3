"""A custodian's records, from whatever its configuration names, read and cleaned in one way for every use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tryst.common.cleaning import Cleaned, clean
from tryst.common.custodian.configuration import CsvSource, DatabaseSource, ParquetSource, Source
from tryst.common.custodian.source.csv_file import csv_batches
from tryst.common.custodian.source.csv_form import CsvOptions, csv_source
from tryst.common.custodian.source.database_query import database_batches, open_engine
from tryst.common.custodian.source.parquet_file import parquet_batches
from tryst.common.custodian.source.table import SourceTable, check_identifiers, joined, no_records
from tryst.common.parties import Side
from tryst.common.specification import Specification

FOUND = CsvOptions()
"""Nothing of a file's form is given."""
ROWS_AT_ONCE = 1 << 16
"""Rows of a batch at most: some 10 MB of text."""
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
        As `source_batches`.
    """
    return joined(source_batches(source, columns))


def source_batches(source: Source, columns: Sequence[str] | None, rows: int = ROWS_AT_ONCE) -> Iterator[SourceTable]:
    """Read the selected columns, each once, or all, as text, at most so many rows at a time.

    Raises
    ------
    TrystError
        As `csv_batches`, `parquet_batches` and `database_batches`; EMPTY_SOURCE for a source without records.
    """
    selected = None if columns is None else list(dict.fromkeys(columns))
    match source.chosen:
        case CsvSource() as chosen:
            tables = csv_batches(chosen, selected)
        case ParquetSource() as chosen:
            tables = parquet_batches(chosen, selected)
        case DatabaseSource() as chosen:
            tables = database_batches(chosen, selected)
    records = 0
    for table in tables:
        records += table.n_rows
        if table.n_rows:
            yield from table.slices(rows)
    if not records:
        raise no_records(table.where)


def check_driver(source: Source) -> None:
    """Find that what is needed to read a source is installed, before a project needs it; nothing is read.

    Raises
    ------
    TrystError
        MODULE_MISSING with the package; CONFIGURATION for a database's URL that is missing or malformed.
    """
    if source.database is not None:
        open_engine(source.database).dispose()


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
