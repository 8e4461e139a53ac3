"""Reading releases and records from files: the only part of this package that opens any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.records.csv_form import CsvOptions
from gemel.records.registry import FOUND
from gemel.records.sources import Values
from gemel.records.typed_table import is_text, read_records
from gemel.risk.attribution.documents import LAWS, release_of
from gemel.risk.attribution.laws import INFINITE, UNPUBLISHED, Law, Within
from gemel.risk.attribution.release import Axis, Release

# Columns are variables, then `count` (empty for a withheld one), or `lower` and `upper` for ranges. A level called
# `Total` makes the row a cell of a margin.


TOTAL = "Total"


def listed_tables(
    frame: pl.DataFrame, name: str, protection: Any = None, known: dict[str, list[str]] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read published cells."""
    if not len(frame):
        raise GemelError(ErrorCode.SOURCE, "the file has no rows", where=name)
    header = frame.columns
    ranged = "lower" in header and "upper" in header
    if "count" not in header and not ranged:
        what = "a column `count`, or `lower` and `upper`, is needed"
        raise GemelError(ErrorCode.SOURCE, what, where=name, got=", ".join(header))
    names = [h for h in header if h not in ("count", "lower", "upper")]
    levels: dict[str, list[str]] = {n: list((known or {}).get(n, [])) for n in names}
    margins: dict[tuple[str, ...], dict[tuple[str, ...], Any]] = {}
    rows = frame.select(pl.all().cast(pl.String).fill_null(""))
    for number, row in enumerate(rows.iter_rows(named=True), start=2):
        own = tuple(n for n in names if row[n] != TOTAL)
        cell = tuple(row[n] for n in own)
        for n, level in zip(own, cell, strict=True):
            if level not in levels[n]:
                if known and n in known:
                    what = f"a level that variable {n!r} does not have"
                    remedy = f"its levels are: {', '.join(known[n])}"
                    raise GemelError(ErrorCode.SOURCE, what, where=f"{name}, line {number}", remedy=remedy)
                levels[n].append(level)
        cells = margins.setdefault(own, {})
        if cell in cells:
            raise GemelError(ErrorCode.SOURCE, "a cell appears twice", where=f"{name}, line {number}")
        cells[cell] = _value(row, ranged, f"{name}, line {number}")
    tables = []
    for own, cells in margins.items():
        shown = name if len(own) == len(names) else f"{name}: {', '.join(own) or 'total'}"
        tables.append({"name": shown, "variables": list(own), "counts": _nested(own, levels, cells)})
        if protection is not None:
            tables[-1]["protection"] = protection
    return [{"name": n, "levels": levels[n]} for n in names], tables


def _value(row: dict[str, str], ranged: bool, where: str) -> Any:
    try:
        if ranged and (row.get("lower") or row.get("upper")):
            return {"low": int(row["lower"]), "high": int(row["upper"])}
        return int(row["count"]) if row.get("count") else None
    except ValueError as error:
        what = "a count must be a whole number, or empty when withheld"
        raise GemelError(ErrorCode.SOURCE, what, where=where) from error


def _nested(own: tuple[str, ...], levels: dict[str, list[str]], cells: dict[tuple[str, ...], Any]) -> Any:
    """Nest cells by variable. A cell that a full table does not list is empty; one that a margin does not, withheld."""
    whole = len(own) == len(levels) and not any(v is None for v in cells.values())
    absent = 0 if whole else None

    def walk(chosen: tuple[str, ...]) -> Any:
        if len(chosen) == len(own):
            return cells.get(chosen, absent)
        return [walk((*chosen, level)) for level in levels[own[len(chosen)]]]

    return walk(())


TABLE_ENDINGS = (".csv", ".tsv")


def is_table(path: Path) -> bool:
    """Whether a release is one table, as records are: a file of CSV by its ending, or of another kind of records."""
    return path.suffix.lower() in TABLE_ENDINGS or not is_text(path)


def read_release(path: Path, csv: CsvOptions = FOUND) -> Release:
    """Read a release: JSON as `documents` describes it, or a file that is one exact table, with or without margins.

    A table is a CSV file, or one of the other kinds that `read_records` reads, with the columns its CSV would have.

    In JSON, a table may name a CSV file beside it, ``{"csv": "ages.csv", "protection": ...}``; its variables are then
    the file's columns, and what the release declares of their levels holds. Encoding and separator of CSV files are
    found where `csv` does not give them.
    """
    if is_table(path):
        variables, tables = listed_tables(read_records(path, csv=csv), path.stem)
        return release_of({"name": path.stem, "variables": variables, "tables": tables})
    text = _text(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        where, remedy = f"{path}, line {error.lineno}", "see docs/attribution.md"
        raise GemelError(ErrorCode.SOURCE, "is not JSON", where=where, remedy=remedy) from error
    if not isinstance(document, dict) or not isinstance(document.get("tables", []), list):
        raise GemelError(ErrorCode.SOURCE, "a release is an object with `variables` and `tables`", where=str(path))
    return release_of(_expanded(document, path.parent, csv))


def _expanded(document: dict[str, Any], folder: Path, csv: CsvOptions) -> dict[str, Any]:
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
        name, protection = str(table.get("name", path.stem)), table.get("protection")
        found, listed = listed_tables(read_records(path, csv=csv), name, protection, declared)
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise GemelError(ErrorCode.SOURCE, "there is no such file", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise GemelError(ErrorCode.TEXT_ENCODING, "is not UTF-8 text", where=str(path)) from error


def document_of(release: Release) -> dict[str, Any]:
    """The document of a release whose laws a document can name; `release_of` reads it back."""
    tables = []
    for table in release.tables:
        hidden = table.counts == UNPUBLISHED
        counts = table.counts.astype(object)
        counts[hidden] = None
        if table.intervals is not None:
            low, high = table.intervals
            for index in np.argwhere(hidden & (high < INFINITE)):
                cell = tuple(index)
                counts[cell] = {"low": int(low[cell]), "high": int(high[cell])}
        axes: list[Any] = []
        for axis in table.axes:
            variable = release.variable(axis.variable)
            levels = [[variable.levels[k] for k in members] for members in axis.members]
            groups = dict(zip(axis.labels, levels, strict=True))
            axes.append(axis.variable if axis == Axis.full(variable) else {"name": axis.variable, "groups": groups})
        law = _law_document(table.law)
        tables.append({"name": table.name, "variables": axes, "protection": law, "counts": counts.tolist()})
    variables = [{"name": v.name, "levels": list(v.levels)} for v in release.variables]
    document: dict[str, Any] = {"name": release.name, "variables": variables, "tables": tables}
    if release.truth is not None:
        document["truth"] = release.truth.counts.tolist()
    return document


def _law_document(law: Law) -> dict[str, Any]:
    if isinstance(law, Within):
        return {"kind": "adjustment", "reach": max(law.floor, law.ceiling)}
    kind = next((kind for kind, named in LAWS.items() if type(law) is named), None)
    if kind is None:
        raise parameter("", f"a document has no name for the law {law.name!r}")
    return {"kind": kind, **vars(law)}
