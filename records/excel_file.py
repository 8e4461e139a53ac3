"""A sheet of a workbook, read by fastexcel: the only module that imports it, when there is such a file.

A workbook keeps numbers, not what is seen of them: an identifier 00123 that is a number with a format is 123 in the
file, and digits after the fifteenth are zeros. So identifiers belong in cells of text. A date is written YYYY-MM-DD. A
formula is the value that was calculated last; an error such as #N/A, and a formula that was never calculated, is a
missing value.

A workbook is held in memory while it is read; a sheet has at most 1,048,576 rows.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.missing_module import imported
from gemel.records.sources import ExcelSource
from gemel.records.table import SourceTable, require_columns, trimmed, unreadable

MAX_BYTES = 256 << 20
"""A longer file is not read."""
MAX_UNPACKED = 2 << 30
"""Of a workbook that is a compressed folder, what it may be unpacked."""

_CLOCK = r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)?$"
"""How the library writes every date and time."""


def excel_batches(source: ExcelSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns of a sheet, or all that have a name, as text; rows without any cell are skipped."""
    sheet, cells = _cells(source)
    where = f"{source.path}, sheet {sheet}"
    filled = [number for number, row in enumerate(cells.iter_rows()) if any(cell and cell.strip() for cell in row)][:1]
    if not filled:
        what = "the first row must hold the names of the columns"
        remedy = "name another sheet with `sheet:`, or check that the right file is configured"
        raise GemelError(ErrorCode.EMPTY_SOURCE, what, where=where, got="an empty sheet", remedy=remedy)
    header = [(name or "").strip() for name in cells.row(filled[0])]
    named = [name for name in header if name]
    chosen = require_columns(named, columns, where)
    below = cells.slice(filled[0] + 1)
    positions = np.arange(filled[0] + 2, cells.height + 1, dtype=np.int64)
    kept = ~below.select(pl.all_horizontal(pl.all().str.strip_chars().replace("", None).is_null())).to_series()
    below, positions = below.filter(kept), positions[kept.to_numpy()]
    cells_of = {name: below.to_series(header.index(name)) for name in chosen}
    texts = [trimmed(_dates(column, name, where, positions)).alias(name) for name, column in cells_of.items()]
    yield SourceTable(pl.DataFrame(texts), positions, "row", where)


def _cells(source: ExcelSource) -> tuple[str, pl.DataFrame]:
    """The name of the sheet, and every cell of it as the library writes it, from the first row on."""
    path = source.path
    fastexcel = imported("fastexcel")
    _refuse_large(path)
    try:
        workbook = fastexcel.read_excel(path)
        sheet = _sheet(workbook.sheet_names, source)
        # skip_rows: rows without cells at the top would be left out, and rows be counted wrongly.
        table = workbook.load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string")
        return sheet, table.to_polars()
    except fastexcel.FastExcelError:
        # The reader's own message may quote what it read.
        what = "not a whole workbook: it was cut short, damaged, has a password, or is of another format"
        got = f"{path.stat().st_size} bytes"
        remedy = "open it and save it again as .xlsx without a password, or save the sheet as CSV in UTF-8"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), got=got, remedy=remedy) from None


def _sheet(names: Sequence[str], source: ExcelSource) -> str:
    if source.sheet is not None:
        if source.sheet in names:
            return source.sheet
        what = f"there is no sheet '{source.sheet}'"
        remedy = f"its sheets are: {', '.join(names)}"
        raise GemelError(ErrorCode.NOT_FOUND, what, where=str(source.path), remedy=remedy)
    if len(names) != 1:
        what = "the workbook has several sheets, and none is named"
        got = f"{len(names)}: {', '.join(names)}"
        remedy = (
            "name the one with the records: `excel: {path: ..., sheet: ...}` in a configuration, or in a YAML"
            " file that is given to a command in place of the workbook"
        )
        raise GemelError(ErrorCode.SOURCE, what, where=str(source.path), got=got, remedy=remedy)
    return names[0]


def _refuse_large(path: Path) -> None:
    try:
        size = path.stat().st_size
        what, limit = "a workbook", MAX_BYTES
        if size <= MAX_BYTES and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                size = sum(entry.file_size for entry in packed.infolist())
            what, limit = "a workbook, unpacked,", MAX_UNPACKED
    except zipfile.BadZipFile:
        return  # for the reader to refuse
    except OSError as error:
        raise unreadable(path, error) from None
    if size > limit:
        what, remedy = f"{what} has at most {limit >> 20} MiB", "save the sheet as CSV in UTF-8"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), got=f"{size:,} bytes", remedy=remedy)


def _dates(column: pl.Series, name: str, where: str, positions: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    """The column with its dates as people write them; a time of day is left out at midnight."""
    split = column.str.extract_groups(_CLOCK).struct.unnest()
    day, time = split.to_series(0), split.to_series(1)
    wrong = (day < "1900-03-01").fill_null(False)
    if wrong.any():
        what = "a workbook can hold no date before March 1900 and no time without a date as what it was meant to be"
        cell = f"{where}, row {positions[int(wrong.arg_true()[0])]}, column '{name}'"
        got = f"{int(wrong.sum())} such cells in this column"
        remedy = "store these cells as text, for instance 1890-05-17"
        raise GemelError(ErrorCode.SOURCE, what, where=cell, got=got, remedy=remedy)
    written = pl.when(day.is_null()).then(column).when(time == "00:00:00").then(day).otherwise(day + "T" + time)
    return pl.select(written).to_series()
