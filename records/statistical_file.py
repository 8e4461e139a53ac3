"""Files of Stata, SPSS and SAS, read by pyreadstat: the only module that imports it, when there is such a file.

Values stay codes unless their labels are asked for. What a file declares to be missing (SPSS's user-defined missing
values, Stata's .a to .z) is null. A whole number is an integer, although these files keep floats; a date is a date
where its format says so. A number with leading zeros in its display has none in the file: an identifier belongs in a
text variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.missing_module import imported
from gemel.records.sources import StatisticalSource
from gemel.records.table import SourceTable, frame_parts, require_columns, text_tables

ENDINGS = {
    ".dta": ("read_dta", "Stata"),
    ".sav": ("read_sav", "SPSS"),
    ".zsav": ("read_sav", "SPSS"),
    ".por": ("read_por", "SPSS portable"),
    ".sas7bdat": ("read_sas7bdat", "SAS"),
    ".xpt": ("read_xport", "SAS transport"),
}
"""By ending, pyreadstat's function and what the file is called."""

_ROWS_AT_ONCE = 1 << 17

Labels = Mapping[str, Mapping[object, str]]
"""By column, the label of each code that has one."""


def statistical_batches(source: StatisticalSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns of a file, or all, as text, some rows at a time."""
    path = source.path
    described = _described(path, source.encoding)
    stored = list(described.column_names)
    numbers = [name for name in stored if described.readstat_variable_types.get(name) != "string"]
    own = described.variable_value_labels if source.values == "labels" else {}

    def frames(names: Sequence[str]) -> Iterator[pl.DataFrame]:
        def read(begin: int, rows: int) -> pl.DataFrame:
            frame = _read(path, names, source.encoding, row_offset=begin, row_limit=rows)
            return with_labels(frame, own, path)

        return frame_parts(read, _ROWS_AT_ONCE)

    yield from text_tables(stored, numbers, frames, columns, str(path))


def labels(path: Path) -> Labels:
    """Labels of values by column; SAS keeps them in a catalogue beside the file, which is not read."""
    return dict(_described(path).variable_value_labels)


def read_typed(path: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """Some columns of a file, or all, of their own types: whole numbers as integers."""
    chosen = require_columns(list(_described(path).column_names), names, str(path))
    table = _read(path, chosen)
    return pl.DataFrame([_whole(table[name]) for name in chosen])


def with_labels(table: pl.DataFrame, found: Labels, path: Path) -> pl.DataFrame:
    """Codes replaced by their labels; a code without a label stays. Raises `GemelError`: PARAMETER if two codes of a
    column have one label."""
    for name in table.columns:
        own = found.get(name)
        if not own or table[name].dtype == pl.Null:
            continue
        if len(set(own.values())) < len(own):
            what = "two codes have the same label, and would become one category"
            remedy = "take the codes (`values: codes`), or mend the labels"
            raise parameter(f"{path}, column {name}", what, remedy=remedy)
        column = _whole(table[name])
        # Codes as the column has them: a whole number is written without decimals.
        codes = pl.Series(list(own), dtype=column.dtype, strict=False).cast(pl.String).to_list()
        table = table.with_columns(column.cast(pl.String).replace(dict(zip(codes, own.values(), strict=True))))
    return table


def _described(path: Path, encoding: str | None = None) -> Any:
    return _call(path, encoding, metadataonly=True)[1]


def _read(path: Path, names: Sequence[str], encoding: str | None = None, **options: Any) -> pl.DataFrame:
    # pyreadstat gives the columns in the file's order.
    frame: pl.DataFrame = _call(path, encoding, usecols=list(names), **options)[0]
    return frame.select(names)


def _call(path: Path, encoding: str | None, **options: Any) -> Any:
    function, kind = _kind(path)
    pyreadstat = pyreadstat_module(path)
    call: Callable[..., Any] = partial(getattr(pyreadstat, function), output_format="polars", **options)
    try:
        return call(path) if encoding is None else call(path, encoding=encoding)
    except UnicodeDecodeError:
        what = f"texts are not in {encoding or 'the encoding that the file states'}"
        remedy = "give the encoding of its texts, such as `encoding: cp1252`, or save it again in UTF-8"
        raise GemelError(ErrorCode.TEXT_ENCODING, what, where=str(path), remedy=remedy) from None
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, OverflowError):
        # The reader's own message may quote what it read.
        what = f"could not be read as a file of {kind}"
        got = "no such file" if not path.is_file() else f"{path.stat().st_size} bytes"
        remedy = "is it whole, and is its ending that of its kind? otherwise save it again, or as CSV"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), got=got, remedy=remedy) from None


def _kind(path: Path) -> tuple[str, str]:
    found = ENDINGS.get(path.suffix.lower())
    if found is None:
        what = "a file of Stata, SPSS or SAS is known by its ending"
        remedy = f"rename it to end with one of {', '.join(ENDINGS)}"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(path), got=path.suffix or "no ending", remedy=remedy)
    return found


def pyreadstat_module(path: Path) -> Any:
    """The library; MODULE_MISSING if it is not installed, CONFIGURATION for an ending that it does not read."""
    _kind(path)
    return imported("pyreadstat")


def _whole(column: pl.Series) -> pl.Series:
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    known = column.drop_nulls()
    whole = len(known) > 0 and bool((known == known.round(0)).all()) and float(known.abs().max() or 0) < 2.0**53  # type: ignore[arg-type]
    return column.cast(pl.Int64) if whole else column
