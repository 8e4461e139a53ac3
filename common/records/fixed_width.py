"""A text file without a header, in whose lines each column is at the same characters: the configuration says which.

A column's place is counted in characters and not in bytes. Nothing in such a file says that a line is shifted, so a
line that is shorter than its columns is refused, unless blanks at the ends of lines are known to have been cut off.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.records.csv_file import lines_of, refuse_other_mark, undecodable
from gemel.common.records.csv_form import CsvOptions, csv_source
from gemel.common.records.sources import DETECT, FixedColumn, FixedWidthSource
from gemel.common.records.table import SourceTable, require_columns, trimmed

_ROWS_AT_ONCE = 50_000


def fixed_width_batches(source: FixedWidthSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns, or all, as text, some lines at a time; wholly empty lines are skipped."""
    path, where = source.path, str(source.path)
    names = [column.name for column in source.columns]
    chosen = names if columns is None else columns
    require_columns(names, chosen, where, "name the columns in the configuration: `columns: [{name, start, width}]`")
    places = {column.name: column for column in source.columns}
    width = max(column.end for column in source.columns)
    needed = 0 if source.short_lines else width
    encoding = source.encoding
    try:
        if encoding == DETECT:
            encoding = csv_source(path, CsvOptions(separator=",")).encoding
        refuse_other_mark(path, encoding)
        decoder = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        with path.open("rb") as file, io.TextIOWrapper(file, encoding=decoder, errors="strict") as text:
            lines: list[str] = []
            positions: list[int] = []
            for number, line in enumerate(lines_of(text, path, 0), 1):
                bare = line.rstrip("\n")
                if not bare.strip():
                    continue
                if len(bare) < needed:
                    raise _short(where, number, needed, len(bare))
                lines.append(bare)
                positions.append(number)
                if len(lines) == _ROWS_AT_ONCE:
                    yield _table(lines, positions, chosen, places, where)
                    lines, positions = [], []
            yield _table(lines, positions, chosen, places, where)
    except UnicodeError:
        raise undecodable(path, encoding) from None
    except OSError as error:
        raise file_error(
            ErrorCode.SOURCE, "cannot be read", path, error, "check the path and the file's permissions", inline=True
        ) from None


def _table(
    lines: list[str], positions: list[int], chosen: Sequence[str], places: dict[str, FixedColumn], where: str
) -> SourceTable:
    frame = pl.DataFrame(
        {
            name: trimmed(pl.Series(name, [line[place.start - 1 : place.end] for line in lines], dtype=pl.String))
            for name, place in ((name, places[name]) for name in chosen)
        }
    )
    return SourceTable(frame, np.array(positions, dtype=np.int64), "line", where)


def _short(where: str, line: int, needed: int, found: int) -> GemelError:
    return GemelError(
        ErrorCode.SOURCE,
        f"every line must have {needed} characters, up to the end of the last column",
        where=f"{where}, line {line}",
        got=f"{found}",
        remedy="check that line and the columns' places; `short_lines: true` where blanks at the ends are cut off",
    )
