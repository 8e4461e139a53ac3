"""Every kind of records and what reads it: one table, by which configurations, commands and the library go alike.

A reader gives the selected columns as text, some rows at a time, and states for each row where in the file it is. What
it cannot read it refuses by the line or row and the column, with what to do, and never with a value. A library is
imported when there is such a file.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from gemel.common.configuration import load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.missing_module import imported
from gemel.records.csv_file import csv_batches, lines_of, refuse_other_mark, undecodable
from gemel.records.csv_form import CsvOptions, csv_source
from gemel.records.excel_file import excel_batches
from gemel.records.fhir_patients import fhir_batches
from gemel.records.omop_tables import omop_batches
from gemel.records.parquet_file import parquet_batches
from gemel.records.sources import (
    DETECT,
    CsvSource,
    DatabaseSource,
    ExcelSource,
    FhirSource,
    FixedWidthSource,
    OmopSource,
    ParquetSource,
    Source,
    StatisticalSource,
)
from gemel.records.statistical_file import ENDINGS as STATISTICAL
from gemel.records.statistical_file import pyreadstat_module, statistical_batches
from gemel.records.table import SourceTable, joined, line_tables, no_records, require_columns, unreadable

# A text file without a header, in whose lines each column is at the same characters: the configuration says which.
#
# A column's place is counted in characters and not in bytes. Nothing in such a file says that a line is shifted, so a
# line that is shorter than its columns is refused, unless blanks at the ends of lines are known to have been cut off.

_ROWS_AT_ONCE = 50_000


def fixed_width_batches(source: FixedWidthSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns, or all, as text, some lines at a time; wholly empty lines are skipped."""
    path, where = source.path, str(source.path)
    names = [column.name for column in source.columns]
    remedy = "name the columns in the configuration: `columns: [{name, start, width}]`"
    chosen = require_columns(names, columns, where, remedy)
    slices = {column.name: slice(column.start - 1, column.end) for column in source.columns}
    places = [slices[name] for name in chosen]
    needed = 0 if source.short_lines else max(column.end for column in source.columns)
    encoding = source.encoding
    try:
        if encoding == DETECT:
            encoding = csv_source(path, CsvOptions(separator=",")).encoding
        refuse_other_mark(path, encoding)
        decoder = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        with path.open("rb") as file, io.TextIOWrapper(file, encoding=decoder, errors="strict") as text:
            yield from line_tables(_cells(text, path, places, needed), chosen, where, _ROWS_AT_ONCE)
    except UnicodeError:
        raise undecodable(path, encoding) from None
    except OSError as error:
        raise unreadable(path, error) from None


def _cells(text: IO[str], path: Path, places: Sequence[slice], needed: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines_of(text, path, 0), 1):
        bare = line.rstrip("\n")
        if not bare.strip():
            continue
        if len(bare) < needed:
            what = f"every line must have {needed} characters, up to the end of the last column"
            remedy = "check that line and the columns' places; `short_lines: true` where blanks at the ends are cut off"
            raise GemelError(ErrorCode.SOURCE, what, where=f"{path}, line {number}", got=str(len(bare)), remedy=remedy)
        yield number, [bare[place] for place in places]


FOUND = CsvOptions()
ROWS_AT_ONCE = 1 << 16
"""Rows of a batch at most: some 10 MB of text."""
DESCRIPTIONS = frozenset({".yaml", ".yml"})
"""Endings of a file that is no records, but says where they are, as the section `source` of a configuration does."""


@dataclass(frozen=True)
class Kind:
    """How one kind of records is named, and what reads it."""

    name: str
    """Its key in the section `source`."""
    endings: tuple[str, ...]
    """Those of a file's name by which a command knows the kind; none where a path alone is not enough."""
    model: type
    batches: Callable[[Any, Sequence[str] | None], Iterator[SourceTable]]


def _database(source: DatabaseSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    from gemel.records.database_query import database_batches

    return database_batches(source, columns)


KINDS = (
    Kind("csv", (".csv", ".tsv", ".txt"), CsvSource, csv_batches),
    Kind("parquet", (".parquet", ".pq"), ParquetSource, parquet_batches),
    Kind("excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), ExcelSource, excel_batches),
    Kind("statistical", tuple(STATISTICAL), StatisticalSource, statistical_batches),
    Kind("fixed_width", (), FixedWidthSource, fixed_width_batches),
    Kind("fhir", (".ndjson",), FhirSource, fhir_batches),
    Kind("omop", (), OmopSource, omop_batches),
    Kind("database", (), DatabaseSource, _database),
)
"""Every kind; a file whose ending none of them has is read as CSV."""

BY_ENDING = {ending: kind for kind in KINDS for ending in kind.endings}


def kind_of(source: Source) -> Kind:
    return next(kind for kind in KINDS if getattr(source, kind.name) is not None)


def file_source(path: Path, given: CsvOptions = FOUND) -> Source:
    """A file of records, of the kind that its ending says; what is not given of the form of a CSV file is found.

    A YAML file (``.yaml``) is not records but says where they are, in the words of a configuration's section `source`.

    Raises as `csv_source`; CONFIGURATION for a YAML file that is not such a section.
    """
    ending = path.suffix.lower()
    if ending in DESCRIPTIONS:
        return load_configuration(path, Source)
    kind = BY_ENDING.get(ending, KINDS[0])
    return Source(csv=csv_source(path, given)) if kind is KINDS[0] else Source(**{kind.name: kind.model(path=path)})


def read_table(path: Path, given: CsvOptions = FOUND) -> pl.DataFrame:
    """All columns of a file (`file_source`), as text."""
    return read_source(file_source(path, given), None).frame


def read_source(source: Source, columns: Sequence[str] | None) -> SourceTable:
    """Read the selected columns, each once, or all, as text; nothing else of the source is kept."""
    return joined(source_batches(source, columns))


def source_batches(source: Source, columns: Sequence[str] | None, rows: int = ROWS_AT_ONCE) -> Iterator[SourceTable]:
    """Read the selected columns, each once, or all, as text, at most so many rows at a time. Raises as the kind's
    reader; EMPTY_SOURCE for a source without records."""
    selected = None if columns is None else list(dict.fromkeys(columns))
    records = 0
    for table in kind_of(source).batches(source.chosen, selected):
        records += table.n_rows
        if table.n_rows:
            yield from table.slices(rows)
    if not records:
        raise no_records(table.where)


def check_driver(source: Source) -> None:
    """Find that what is needed to read a source is installed, before a project needs it; nothing is read. Raises
    `GemelError`: MODULE_MISSING with the package; CONFIGURATION for a database's URL that is missing or malformed."""
    match source.chosen:
        case DatabaseSource() as chosen:
            from gemel.records.database_query import check_database

            check_database(chosen)
        case ExcelSource():
            imported("fastexcel")
        case StatisticalSource() as chosen:
            pyreadstat_module(chosen.path)
        case _:
            return


def source_stamp(source: Source) -> tuple[int, ...] | None:
    """Inode, size and time of its files, which change when one is replaced or corrected; None for a database."""
    return file_stamps(source.paths) if source.paths else None


def file_stamps(paths: Sequence[Path]) -> tuple[int, ...]:
    """Inode, size and time of each file; zeros for one that is not there."""
    stamps: list[int] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            stamps += (0, 0, 0)
            continue
        stamps += (status.st_ino, status.st_size, status.st_mtime_ns)
    return tuple(stamps)
