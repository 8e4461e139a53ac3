"""Records of Stata, SPSS and SAS, read by pyreadstat: the only module that imports it, when there is such a file.

Values stay codes; labels of values are read beside them. What a file declares to be missing (SPSS's user-defined
missing values, Stata's .a to .z) is null. A whole number is an integer, although these files keep floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tryst.common.errors import ErrorCode, TrystError

ENDINGS = {
    ".dta": ("read_dta", "Stata"),
    ".sav": ("read_sav", "SPSS"),
    ".zsav": ("read_sav", "SPSS"),
    ".por": ("read_por", "SPSS portable"),
    ".sas7bdat": ("read_sas7bdat", "SAS"),
    ".xpt": ("read_xport", "SAS transport"),
}
"""By ending, pyreadstat's function and what the file is called."""


def columns(path: Path) -> list[str]:
    """Names of the columns of a file."""
    return list(_described(path).column_names)


def labels(path: Path) -> Mapping[str, Mapping[object, str]]:
    """Labels of values by column; SAS keeps them in a catalogue beside the file, which is not read."""
    return dict(_described(path).variable_value_labels)


def read(path: Path, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of a file."""
    table, _ = _call(path, usecols=list(names), output_format="polars")
    return pl.DataFrame([_whole(table[name]) for name in names])


def _described(path: Path) -> Any:
    _, described = _call(path, metadataonly=True, output_format="polars")
    return described


def _call(path: Path, **options: Any) -> Any:
    function, kind = ENDINGS[path.suffix.lower()]
    try:
        import pyreadstat
    except ModuleNotFoundError as error:
        raise TrystError(
            ErrorCode.MODULE_MISSING,
            f"{kind} files are read by pyreadstat, which is not installed",
            where=str(path),
            remedy="pip install 'tryst[records]', or save the file as CSV or Parquet",
        ) from error
    call: Callable[..., Any] = getattr(pyreadstat, function)
    try:
        return call(path, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, UnicodeDecodeError, OverflowError) as error:
        raise TrystError(
            ErrorCode.SOURCE,
            f"could not be read as a file of {kind}",
            where=str(path),
            remedy="is it whole, and is its ending that of its kind? otherwise save it again, or as CSV in UTF-8",
        ) from error


def _whole(column: pl.Series) -> pl.Series:
    """A column of whole numbers as integers."""
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    known = column.drop_nulls()
    whole = len(known) > 0 and bool((known == known.round(0)).all()) and float(known.abs().max() or 0) < 2.0**53  # type: ignore[arg-type]
    return column.cast(pl.Int64) if whole else column
