"""A file of records as one table whose columns keep the types that the file has, as the `gemel risk` commands read it.

Parquet and the files of Stata, SPSS and SAS have types; what any other kind holds is text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.records import csv_form, statistical_file
from gemel.records.csv_form import CsvOptions
from gemel.records.parquet_file import read_parquet
from gemel.records.registry import BY_ENDING, FOUND, file_source, read_source
from gemel.records.sources import Values


def chosen_values(text: str) -> Values:
    if text not in get_args(Values):
        raise parameter("--values", "must be `codes` or `labels`", text)
    return cast(Values, text)


@dataclass(frozen=True)
class Labelled:
    """Which columns of a file have values with labels, and what they are read as."""

    columns: tuple[str, ...]
    values: Values


def is_text(path: Path) -> bool:
    """Whether a file is read as text, line by line: CSV, and what no kind has the ending of."""
    return _kind(path) == "csv"


def read_records(
    path: Path, names: Sequence[str] | None = None, values: Values = "codes", csv: CsvOptions = FOUND
) -> pl.DataFrame:
    """Some columns, in the order wanted, or all of a file of any kind of `records.registry`, by its ending.

    `values` is what a value with a label is read as; `csv` has encoding and separator of a CSV file, which are found if
    not given. Raises SOURCE or EMPTY_SOURCE: no such file, no records, no file of its kind. FIELD_MISSING: no such
    column. MODULE_MISSING: the extra that reads it is not installed. PARAMETER: two codes have one label.
    """
    _refuse_absent(path)
    chosen = None if names is None else list(dict.fromkeys(names))
    if chosen == []:
        return pl.DataFrame()
    match _kind(path):
        case "parquet":
            return read_parquet(path, chosen)
        case "statistical":
            table = statistical_file.read_typed(path, chosen)
            own = statistical_file.labels(path) if values == "labels" else {}
            return statistical_file.with_labels(table, own, path)
        case _:
            return read_source(file_source(path, csv), chosen).frame


def labelled(path: Path, names: Sequence[str], values: Values) -> Labelled | None:
    """Which of these columns have values with labels; None where none has."""
    _refuse_absent(path)
    found = statistical_file.labels(path) if _kind(path) == "statistical" else {}
    own = tuple(name for name in names if found.get(name))
    return Labelled(own, values) if own else None


def read_as(path: Path, csv: CsvOptions = FOUND) -> str:
    """How a CSV file is read, for people; empty for UTF-8 with commas, and for any other kind."""
    if not is_text(path) or not path.is_file():
        return ""
    return csv_form.form_line(file_source(path, csv), in_service=False)


def _kind(path: Path) -> str:
    if path.suffix.lower() in (".yaml", ".yml"):
        return ""
    found = BY_ENDING.get(path.suffix.lower())
    return "csv" if found is None else found.name


def _refuse_absent(path: Path) -> None:
    if not path.is_file():
        remedy = "check the path and its spelling"
        raise GemelError(ErrorCode.SOURCE, "there is no such file", where=str(path), remedy=remedy)
