"""Which reader reads a file, by its ending, and what all have in common: columns by name, errors with a remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.records import plain_files, statistical_files

Values = Literal["codes", "labels"]
"""What a value with a label is read as."""


def chosen_values(text: str) -> Values:
    """The value of ``--values``."""
    if text == "codes":
        return "codes"
    if text == "labels":
        return "labels"
    raise TrystError(ErrorCode.PARAMETER, "must be `codes` or `labels`", where="--values", got=text)


@dataclass(frozen=True)
class Reader:
    """How one kind of file is read.

    Parameters
    ----------
    columns
        Names of the columns of a file.
    labels
        For the columns whose values have labels, which.
    read
        Some columns; codes, whatever has labels.
    """

    columns: Callable[[Path], list[str]]
    labels: Callable[[Path], Mapping[str, Mapping[object, str]]]
    read: Callable[[Path, Sequence[str]], pl.DataFrame]


@dataclass(frozen=True)
class Labelled:
    """Which columns of a file have values with labels, and what they are read as."""

    columns: tuple[str, ...]
    values: Values


def _no_labels(path: Path) -> Mapping[str, Mapping[object, str]]:
    return {}


_CSV = Reader(plain_files.csv_columns, _no_labels, plain_files.read_csv)
_PARQUET = Reader(plain_files.parquet_columns, _no_labels, plain_files.read_parquet)
_STATISTICAL = Reader(statistical_files.columns, statistical_files.labels, statistical_files.read)
READERS: Mapping[str, Reader] = {
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    **dict.fromkeys(statistical_files.ENDINGS, _STATISTICAL),
}
"""Readers by the ending of a file's name; every other file is read as CSV."""


def is_text(path: Path) -> bool:
    """Whether a file is read as text."""
    return path.suffix.lower() not in READERS


def read_records(path: Path, names: Sequence[str] | None = None, values: Values = "codes") -> pl.DataFrame:
    """Some columns of a file of records.

    Parameters
    ----------
    path
        CSV in UTF-8 (every column text), Parquet, Stata (``.dta``), SPSS (``.sav``, ``.zsav``, ``.por``) or SAS
        (``.sas7bdat``, ``.xpt``), by its ending. Only the columns are held that are read.
    names
        The columns, in the order wanted; by default all.
    values
        What a value with a label is read as, where the file has labels of values.

    Raises
    ------
    TrystError
        SOURCE or EMPTY_SOURCE: no such file, no records, no file of its kind. FIELD_MISSING: no such column.
        MODULE_MISSING: the extra that reads it is not installed. PARAMETER: two codes have one label.
    """
    reader = _reader(path)
    columns = reader.columns(path)
    chosen = list(dict.fromkeys(columns if names is None else names))
    absent = [name for name in chosen if name not in columns]
    if absent:
        raise TrystError(
            ErrorCode.FIELD_MISSING,
            f"there is no column {', '.join(absent)}",
            where=str(path),
            remedy=f"its columns are: {', '.join(columns)}",
        )
    table = reader.read(path, chosen)
    return _with_labels(table, reader.labels(path), path) if values == "labels" else table


def labelled(path: Path, names: Sequence[str], values: Values) -> Labelled | None:
    """Which of these columns have values with labels; None where none has."""
    found = _reader(path).labels(path)
    own = tuple(name for name in names if found.get(name))
    return Labelled(own, values) if own else None


def _reader(path: Path) -> Reader:
    if not path.is_file():
        raise TrystError(ErrorCode.SOURCE, "there is no such file", where=str(path))
    return READERS.get(path.suffix.lower(), _CSV)


def _with_labels(table: pl.DataFrame, labels: Mapping[str, Mapping[object, str]], path: Path) -> pl.DataFrame:
    """Codes replaced by their labels; a code without a label stays."""
    for name in table.columns:
        own = labels.get(name)
        if not own:
            continue
        if len(set(own.values())) < len(own):
            raise TrystError(
                ErrorCode.PARAMETER,
                "two codes have the same label, and would become one category",
                where=f"{path}, column {name}",
                remedy="take the codes (`--values codes`), or mend the labels",
            )
        column = table[name]
        # Codes as the column has them: a whole number is written without decimals.
        codes = pl.Series(list(own), dtype=column.dtype, strict=False).cast(pl.String).to_list()
        by_code = dict(zip(codes, own.values(), strict=True))
        table = table.with_columns(column.cast(pl.String).replace(by_code))
    return table
