"""Reading releases and records from files: the only part of this package that opens any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.records.csv_form import CsvOptions
from gemel.common.records.registry import FOUND
from gemel.common.records.sources import Values
from gemel.common.records.typed_table import is_text, read_records
from gemel.risk.attribution.documents import release_of
from gemel.risk.attribution.files import tables_of_csv
from gemel.risk.attribution.release import Release

TABLE_ENDINGS = (".csv", ".tsv")


def is_table(path: Path) -> bool:
    """Whether a release is one table, as records are: a file of CSV by its ending, or of another kind of records."""
    return path.suffix.lower() in TABLE_ENDINGS or not is_text(path)


def read_release(path: Path, csv: CsvOptions = FOUND, total: str = "Total") -> Release:
    """Read a release: JSON as `documents` describes it, or a file that is one exact table, with or without margins.

    A table is a CSV file, or one of the other kinds that `read_records` reads, with the columns its CSV would have.

    In JSON, a table may name a CSV file beside it, ``{"csv": "ages.csv", "protection": ...}``; its variables are then
    the file's columns, and what the release declares of their levels holds. Encoding and separator of CSV files are
    found where `csv` does not give them.
    """
    if is_table(path):
        variables, tables = tables_of_csv(_table(path, csv), path.stem, None, total)
        return release_of({"name": path.stem, "variables": variables, "tables": tables})
    text = _text(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise GemelError(
            ErrorCode.SOURCE, "is not JSON", where=f"{path}, line {error.lineno}", remedy="see docs/attribution.md"
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("tables", []), list):
        raise GemelError(ErrorCode.SOURCE, "a release is an object with `variables` and `tables`", where=str(path))
    return release_of(_expanded(document, path.parent, csv, total))


def _expanded(document: dict[str, Any], folder: Path, csv: CsvOptions, total: str) -> dict[str, Any]:
    """Put the tables of CSV files in their place; variables that are not declared come from the files."""
    if not any(isinstance(t, dict) and "csv" in t for t in document["tables"]):
        return document
    declared = {v["name"]: [str(x) for x in v["levels"]] for v in document.get("variables", []) if "levels" in v}
    variables = list(document.get("variables", []))
    tables: list[Any] = []
    for table in document["tables"]:
        if not isinstance(table, dict) or "csv" not in table:
            tables.append(table)
            continue
        path = folder / str(table["csv"])
        found, listed = tables_of_csv(
            _table(path, csv), str(table.get("name", path.stem)), table.get("protection"), total, declared
        )
        tables.extend(listed)
        for variable in found:
            if variable["name"] not in declared:
                declared[variable["name"]] = variable["levels"]
                variables.append(variable)
    return {**document, "variables": variables, "tables": tables}


def read_columns(path: Path, names: list[str], values: Values = "codes", csv: CsvOptions = FOUND) -> list[list[str]]:
    """Some columns of a file of records, as text; a missing value is the empty text. See `read_records`."""
    table = read_records(path, names, values, csv)
    if not len(table):
        raise GemelError(ErrorCode.EMPTY_SOURCE, "the file has no records", where=str(path))
    return [table[name].cast(pl.String).fill_null("").to_list() for name in names]


def _table(path: Path, csv: CsvOptions) -> str:
    """A table in the form of a CSV file of UTF-8 and commas, whatever its own is."""
    return read_records(path, csv=csv).write_csv()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise GemelError(ErrorCode.SOURCE, "there is no such file", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise GemelError(ErrorCode.TEXT_ENCODING, "is not UTF-8 text", where=str(path)) from error
