"""Tables from files of records, hierarchies and published tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.typed_table import read_records
from gemel.risk.arrays import Floats
from gemel.risk.magnitude.audit import PublishedValues
from gemel.risk.magnitude.rules import Contributions, contributions
from gemel.risk.magnitude.tables import TOTAL, Classification, LinkedTables
from gemel.risk.record_table import RecordTable

_wrong = partial(GemelError, ErrorCode.SOURCE)  # what a file has that cannot be

Parents = Mapping[str, Mapping[str, str]]  # for each variable with a hierarchy, what each level adds up to


@dataclass(frozen=True, eq=False)
class MagnitudeTables:
    """Tables and who stands behind their cells."""

    tables: LinkedTables
    found: Contributions
    records: int


def read_tables(
    records: RecordTable,
    tables: Sequence[Sequence[str]],
    value: str,
    *,
    unit: str | None = None,
    weights: str | None = None,
    parents: Parents | None = None,
) -> MagnitudeTables:
    """Make tables of records.

    `unit`: the column that says whose a record is; by default each record is its own contributor.
    """
    variables = list(dict.fromkeys(v for table in tables for v in table))
    frame = records.columns([*variables, value, *([unit] if unit else []), *([weights] if weights else [])])
    classifications, nodes = [], []
    for v in variables:
        column = frame[v].cast(pl.String).fill_null("").str.strip_chars()
        levels = _ordered(column.unique().to_list())
        own = Classification.of(v, levels, (parents or {}).get(v))
        numbers = {level: k for k, level in enumerate(own.nodes)}
        classifications.append(own)
        nodes.append(column.replace_strict(numbers, return_dtype=pl.Int64).to_numpy())
    whose = None
    if unit is not None:
        blank = int(frame[unit].cast(pl.String).fill_null("").str.strip_chars().eq("").sum())
        if blank:
            got = f"{blank} without a unit"
            remedy = "give each a unit, or leave --unit out: every record is then a contributor"
            raise _wrong("records do not say whose they are", where=f"{records}, column {unit}", got=got, remedy=remedy)
        whose = frame[unit].cast(pl.String).rank("dense").cast(pl.Int64).to_numpy()
    linked = LinkedTables.of(classifications, tables)
    amounts = _numbers(frame, value, records)
    each = None if weights is None else _numbers(frame, weights, records)
    return MagnitudeTables(linked, contributions(linked, np.stack(nodes, axis=1), amounts, whose, each), len(frame))


def read_hierarchies(paths: Sequence[Path]) -> dict[str, dict[str, str]]:
    """Hierarchies of CSV files, each with two columns: a level under the variable's name, and ``parent``."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        frame = read_records(path)
        if len(frame.columns) != 2 or frame.columns[1] != "parent":
            what = "a hierarchy has two columns: the variable, with a level in each row, and `parent`"
            raise _wrong(what, where=str(path), got=", ".join(frame.columns))
        levels = [text.strip() for text in frame.to_series(0).cast(pl.String).fill_null("").to_list()]
        above = [text.strip() for text in frame["parent"].cast(pl.String).fill_null("").to_list()]
        twice = len(levels) - len(set(levels))
        if twice:
            got = f"{twice} in more than one row"
            remedy = "two ways of adding up are two variables, in two tables: --by once for each"
            raise _wrong("a level adds up to one level only", where=str(path), got=got, remedy=remedy)
        found[frame.columns[0]] = {level: parent or TOTAL for level, parent in zip(levels, above, strict=True)}
    return found


def read_published(path: Path, tables: LinkedTables, *, rounding: float = 0.0) -> PublishedValues:
    """A published table as values of cells that are known already."""
    names = [c.name for c in tables.classifications]
    frame = _published(path, names)
    nodes = []
    for c in tables.classifications:
        numbers = {level: k for k, level in enumerate(c.nodes)}
        codes = [numbers.get(level, -1) for level in frame[c.name].to_list()]
        strange = sum(code < 0 for code in codes)
        if strange:
            what = f"the table has levels of {c.name} that the records do not have"
            remedy = "name levels as in the records, and sums `Total` or as in the hierarchy"
            raise _wrong(what, where=str(path), got=f"{strange} rows of them", remedy=remedy)
        nodes.append(np.asarray(codes, dtype=np.int64))
    stacked = np.stack(nodes, axis=1)
    cells = tables.number(stacked)
    inside = cells < tables.n_cells
    known = np.minimum(cells, tables.n_cells - 1)
    if not (inside & (tables.cells[known] == stacked).all(axis=1)).all():
        what = "the table has rows that are no cell of the tables named by --by"
        raise _wrong(what, where=str(path), remedy="name every published table by a --by of its own")
    if len(np.unique(cells)) < len(cells):
        raise _wrong("a cell appears twice", where=str(path))
    if not (~tables.inner[cells]).any():
        what = "the table has no totals: nothing binds what is withheld, and there is nothing to audit"
        remedy = "add the rows of its totals, with the level `Total`, if they are published anywhere"
        raise _wrong(what, where=str(path), remedy=remedy)
    values = np.where(tables.inner, 0.0, np.nan)
    values[cells] = frame["value"].to_numpy()
    return PublishedValues(values, rounding)


def protected_table(tables: LinkedTables, found: Contributions, assessment: Mapping[str, Any]) -> str:
    """CSV of every cell: the level of each variable, ``Total`` for a sum, and the value, empty where withheld.

    `read_published` reads it.
    """
    hidden = {tuple(sorted(entry["cell"].items())) for entry in assessment["suppressed"]}
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*(c.name for c in tables.classifications), "value"])
    for cell, value in enumerate(found.values.tolist()):
        described = tables.described(cell)
        withheld = tuple(sorted(described.items())) in hidden
        levels = [described.get(c.name, TOTAL) for c in tables.classifications]
        rows.writerow([*levels, "" if withheld else f"{value:.15g}"])
    return text.getvalue()


def read_published_alone(
    path: Path, tables: Sequence[Sequence[str]], parents: Parents | None = None, *, rounding: float = 0.0
) -> tuple[LinkedTables, PublishedValues]:
    """A published table, and the cells that it has, without records."""
    variables = list(dict.fromkeys(v for table in tables for v in table))
    frame = _published(path, variables)
    classifications = []
    for v in variables:
        above = (parents or {}).get(v, {})
        inner = {TOTAL, *above.values()}
        levels = [level for level in frame[v].unique(maintain_order=True).to_list() if level not in inner]
        classifications.append(Classification.of(v, _ordered(levels), above))
    linked = LinkedTables.of(classifications, tables)
    return linked, read_published(path, linked, rounding=rounding)


def _published(path: Path, variables: Sequence[str]) -> pl.DataFrame:
    """Levels as text, sums as `Total`, and the value, null where withheld."""
    frame = read_records(path, [*variables, "value"])
    text = frame["value"].cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    numbers = text.cast(pl.Float64, strict=False)
    wrong = int((numbers.is_null() & text.is_not_null()).sum())
    if wrong:
        what = "a published value is a number, or empty where it is withheld"
        raise _wrong(what, where=f"{path}, column value", got=f"{wrong} that are neither")
    levels = [frame[v].cast(pl.String).fill_null("").str.strip_chars() for v in variables]
    levels = [column.set(column == "", TOTAL) for column in levels]
    return pl.DataFrame([*levels, numbers.fill_null(float("nan")).alias("value")])


def _numbers(frame: pl.DataFrame, column: str, records: RecordTable) -> Floats:
    found = frame[column].cast(pl.Float64, strict=False)
    missing, where = found.null_count(), f"{records}, column {column}"
    if missing == len(found) and missing:
        remedy = "name a numeric column; a decimal point, no thousands separators"
        raise _wrong("the column has no number", where=where, remedy=remedy)
    if missing:
        got, remedy = f"{missing} records without one", "leave those records out, or give them a number"
        raise _wrong("every record needs a number", where=where, got=got, remedy=remedy)
    return found.to_numpy()


def _ordered(levels: Sequence[str]) -> list[str]:
    """Whole numbers by size, other levels by their text."""
    if all(level.lstrip("-").isdigit() for level in levels):
        return sorted(levels, key=int)
    return sorted(levels)
