"""Every kind of records and what reads it: one table, by which configurations, commands and the library go alike.

A reader gives the selected columns as text, some rows at a time, and states for each row where in the file it is. What
it cannot read it refuses by the line or row and the column, with what to do, and never with a value. A kind's reader is
imported when there is such a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.configuration import load_configuration
from gemel.common.records.csv_form import CsvOptions, csv_source
from gemel.common.records.sources import (
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
from gemel.common.records.table import SourceTable, joined, no_records

FOUND = CsvOptions()
"""Nothing of a file's form is given."""
ROWS_AT_ONCE = 1 << 16
"""Rows of a batch at most: some 10 MB of text."""
DESCRIPTIONS = frozenset({".yaml", ".yml"})
"""Endings of a file that is no records, but says where they are, as the section `source` of a configuration does."""


Tables = Iterator[SourceTable]
Columns = Sequence[str] | None


@dataclass(frozen=True)
class Kind:
    """How one kind of records is named, and what reads it.

    Attributes
    ----------
    name
        Its key in the section `source`.
    endings
        Of a file's name, by which a command knows the kind; none where a path alone is not enough.
    model
        What a source of this kind states.
    batches
        Reads the selected columns of a source, or all.
    """

    name: str
    endings: tuple[str, ...]
    model: type
    batches: Callable[[Any, Columns], Tables]


def _csv(source: CsvSource, columns: Columns) -> Tables:
    from gemel.common.records.csv_file import csv_batches

    return csv_batches(source, columns)


def _parquet(source: ParquetSource, columns: Columns) -> Tables:
    from gemel.common.records.parquet_file import parquet_batches

    return parquet_batches(source, columns)


def _excel(source: ExcelSource, columns: Columns) -> Tables:
    from gemel.common.records.excel_file import excel_batches

    return excel_batches(source, columns)


def _statistical(source: StatisticalSource, columns: Columns) -> Tables:
    from gemel.common.records.statistical_file import statistical_batches

    return statistical_batches(source, columns)


def _fixed_width(source: FixedWidthSource, columns: Columns) -> Tables:
    from gemel.common.records.fixed_width import fixed_width_batches

    return fixed_width_batches(source, columns)


def _fhir(source: FhirSource, columns: Columns) -> Tables:
    from gemel.common.records.fhir_patients import fhir_batches

    return fhir_batches(source, columns)


def _omop(source: OmopSource, columns: Columns) -> Tables:
    from gemel.common.records.omop_tables import omop_batches

    return omop_batches(source, columns)


def _database(source: DatabaseSource, columns: Columns) -> Tables:
    from gemel.common.records.database_query import database_batches

    return database_batches(source, columns)


KINDS = (
    Kind("csv", (".csv", ".tsv", ".txt"), CsvSource, _csv),
    Kind("parquet", (".parquet", ".pq"), ParquetSource, _parquet),
    Kind("excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), ExcelSource, _excel),
    Kind("statistical", (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"), StatisticalSource, _statistical),
    Kind("fixed_width", (), FixedWidthSource, _fixed_width),
    Kind("fhir", (".ndjson",), FhirSource, _fhir),
    Kind("omop", (), OmopSource, _omop),
    Kind("database", (), DatabaseSource, _database),
)
"""Every kind; a file whose ending none of them has is read as CSV."""

BY_ENDING = {ending: kind for kind in KINDS for ending in kind.endings}
"""Kinds by the endings of files."""


def kind_of(source: Source) -> Kind:
    """The kind of a source."""
    return next(kind for kind in KINDS if getattr(source, kind.name) is not None)


def file_source(path: Path, given: CsvOptions = FOUND) -> Source:
    """A file of records, of the kind that its ending says; what is not given of the form of a CSV file is found.

    A YAML file (``.yaml``) is not records but says where they are, in the words of a configuration's section `source`.

    Raises
    ------
    GemelError
        As `csv_source`; CONFIGURATION for a YAML file that is not such a section.
    """
    ending = path.suffix.lower()
    if ending in DESCRIPTIONS:
        return load_configuration(path, Source)
    kind = BY_ENDING.get(ending, KINDS[0])
    return Source(csv=csv_source(path, given)) if kind is KINDS[0] else Source(**{kind.name: kind.model(path=path)})


def read_table(path: Path, given: CsvOptions = FOUND) -> pl.DataFrame:
    """All columns of a file (`file_source`), as text.

    Raises
    ------
    GemelError
        As `file_source` and `read_source`.
    """
    return read_source(file_source(path, given), None).frame


def read_source(source: Source, columns: Sequence[str] | None) -> SourceTable:
    """Read the selected columns, each once, or all, as text; nothing else of the source is kept.

    Raises
    ------
    GemelError
        As `source_batches`.
    """
    return joined(source_batches(source, columns))


def source_batches(source: Source, columns: Sequence[str] | None, rows: int = ROWS_AT_ONCE) -> Iterator[SourceTable]:
    """Read the selected columns, each once, or all, as text, at most so many rows at a time.

    Raises
    ------
    GemelError
        As the kind's reader; EMPTY_SOURCE for a source without records.
    """
    selected = None if columns is None else list(dict.fromkeys(columns))
    records = 0
    for table in kind_of(source).batches(source.chosen, selected):
        records += table.n_rows
        if table.n_rows:
            yield from table.slices(rows)
    if not records:
        raise no_records(table.where)


def check_driver(source: Source) -> None:
    """Find that what is needed to read a source is installed, before a project needs it; nothing is read.

    Raises
    ------
    GemelError
        MODULE_MISSING with the package; CONFIGURATION for a database's URL that is missing or malformed.
    """
    match source.chosen:
        case DatabaseSource() as chosen:
            from gemel.common.records.database_query import check_database

            check_database(chosen)
        case ExcelSource():
            from gemel.common.records.excel_file import fastexcel_module

            fastexcel_module()
        case StatisticalSource() as chosen:
            from gemel.common.records.statistical_file import pyreadstat_module

            pyreadstat_module(chosen.path)
        case _:
            return


def source_stamp(source: Source) -> tuple[int, ...] | None:
    """Inode, size and time of its files, which change when one is replaced or corrected; None for a database."""
    if not source.paths:
        return None
    stamp: list[int] = []
    for path in source.paths:
        try:
            status = path.stat()
        except OSError:
            stamp += (0, 0, 0)
            continue
        stamp += (status.st_ino, status.st_size, status.st_mtime_ns)
    return tuple(stamp)
