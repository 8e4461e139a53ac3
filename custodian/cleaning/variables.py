"""Cleaning of category variables: every value becomes its place in the public list of categories, or is missing.

A value outside the list is an error and never guessed: it would otherwise silently be lost from every table. The error
gives the number of values and their places, not the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification, VariableSpec
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import CommonCategory, category_of
from gemel.custodian.cleaning.source_values import raise_all, text_values
from gemel.records.table import Found, Positions

# A custodian's own categories mapped to the common ones, by the table in the specification, before all other cleaning.


class Unnamed:
    """The values of one column that no table names, in all batches of a file; and the words of their error."""

    def __init__(self, what: str, where: str, remedy: str) -> None:
        self._what, self._where, self._remedy = what, where, remedy
        self._values: set[str] = set()
        self._found = Found()
        self._rows = 0

    def add(self, raw: pl.Series, outside: pl.Series, positions: Positions) -> None:
        """Add a batch: its values, and which of them no table names."""
        self._rows += len(raw)
        if outside.any():
            self._found.add(positions, outside.to_numpy())
            self._values.update(raw.filter(outside).unique().to_list())

    @property
    def error(self) -> GemelError | None:
        if not self._found.count:
            return None
        got = f"{self._found.count:,} of {self._rows:,} rows, {len(self._values):,} different values ({self._found})"
        return GemelError(ErrorCode.SOURCE, self._what, where=self._where, got=got, remedy=self._remedy)


def harmonised(
    raw: pl.Series,
    table: Sequence[CommonCategory],
    side: Side,
    is_missing: Callable[[str], bool],
    positions: Positions,
    unnamed: Unnamed,
) -> pl.Series:
    """The values of a column, or of a part of one, as common categories; null where unnamed. O(rows) hashing."""
    find = category_of(table, side)
    distinct = raw.drop_nulls().unique()
    found = [find(value) for value in distinct]
    missing = [category is None and is_missing(value) for value, category in zip(distinct, found, strict=True)]
    named, unknown = pl.Series(found, dtype=pl.String), pl.Series(missing, dtype=pl.Boolean)
    known = pl.DataFrame({"raw": distinct, "category": named, "missing": unknown})
    rows = raw.alias("raw").to_frame().join(known, on="raw", how="left", maintain_order="left")
    outside = rows.select(pl.col("raw").is_not_null() & pl.col("category").is_null() & ~pl.col("missing")).to_series()
    unnamed.add(raw, outside, positions)
    value = pl.when(pl.col("category").is_not_null() | pl.col("missing")).then(pl.coalesce("category", "raw"))
    return rows.select(value).to_series().alias(raw.name)


def unnamed_in(of: str, side: Side, column: str) -> Unnamed:
    """For the values of a field's or variable's column that its table of categorisation does not name."""
    what = f"{of} has values that its table of categorisation does not name for {side}"
    remedy = "add them to the table, or to the `missing` codes, or correct the file"
    return Unnamed(what, f"{side}'s column {column!r}", remedy)


_MOSTLY = 0.5


@dataclass(frozen=True)
class VariableProfile:
    """The counts of one variable: of rows, none of them by category."""

    variable: str
    column: str
    categories: int
    rows: int
    blank: int
    """Without a value in the file."""
    coded: int
    """With a missing-value code."""

    @property
    def missing(self) -> int:
        return self.blank + self.coded

    def with_more(self, other: VariableProfile) -> VariableProfile:
        rows, blank, coded = self.rows + other.rows, self.blank + other.blank, self.coded + other.coded
        return replace(self, rows=rows, blank=blank, coded=coded)

    def warnings(self) -> Iterator[ResultWarning]:
        """Likely errors in the specification or the file, judged by these counts."""
        if self.missing == self.rows:
            yield result_warning("variable_without_categories", variable=self.variable, column=self.column)
        elif self.missing > _MOSTLY * self.rows:
            yield result_warning("rows_without_category", variable=self.variable, missing=self.missing, rows=self.rows)


class VariableCleaning:
    """Cleans the variables that a custodian holds, in one batch or several."""

    def __init__(self, spec: Specification, side: Side) -> None:
        self._side, self._variables = side, spec.variables_of(side)
        self._profiles: dict[str, VariableProfile] = {}
        self._categorised = {v.name: unnamed_in(f"variable {v.name}", side, v.column_of(side)) for v in self._variables}
        self._listed = {v.name: _outside_list(v, side) for v in self._variables}

    def batch(self, frame: pl.DataFrame, positions: Positions) -> dict[str, pl.Series]:
        """The categories of every row of a batch: Int32, places in the public list, null where missing.

        Raises `GemelError`: FIELD_MISSING for a missing column, SOURCE for one that holds no single values; one for
        each variable. O(rows) hashing and O(distinct values) work per variable.
        """
        columns: dict[str, pl.Series] = {}
        errors: list[GemelError] = []
        for variable in self._variables:
            name = variable.name
            unnamed = self._categorised[name], self._listed[name]
            try:
                columns[name], counts = _clean(frame, variable, self._side, positions, *unnamed)
            except GemelError as error:
                errors.append(error)
                continue
            before = self._profiles.get(name)
            self._profiles[name] = counts if before is None else before.with_more(counts)
        raise_all(errors)
        return columns

    def profiles(self) -> tuple[VariableProfile, ...]:
        """Counts of all batches; SOURCE for values that are not categories, with counts and places, an error a
        variable.
        """
        found = [each.error for v in self._variables for each in (self._categorised[v.name], self._listed[v.name])]
        raise_all([error for error in found if error is not None])
        return tuple(self._profiles[variable.name] for variable in self._variables)


def _outside_list(variable: VariableSpec, side: Side) -> Unnamed:
    what = f"variable {variable.name} has values that are none of its {len(variable.categories)} categories"
    remedy = "add them to the specification, as categories or as `missing` codes, or correct the file"
    return Unnamed(what, f"{side}'s column {variable.column_of(side)!r}", remedy)


def _clean(
    frame: pl.DataFrame,
    variable: VariableSpec,
    side: Side,
    positions: Positions,
    categorised: Unnamed,
    listing: Unnamed,
) -> tuple[pl.Series, VariableProfile]:
    name = variable.column_of(side)
    if name not in frame.columns:
        what = f"there is no column {name!r} for variable {variable.name}"
        remedy = "name its column in the specification, or add it to the file"
        raise GemelError(ErrorCode.FIELD_MISSING, what, where=f"{side}'s file", remedy=remedy)
    raw = text_values(frame[name], f"variable {variable.name}", f"{side}'s column {name!r}")
    if variable.categorisation:
        table, codes = variable.categorisation, variable.missing_codes
        raw = harmonised(raw, table, side, lambda value: folded_label(value) in codes, positions, categorised)
    rows = placed(raw, variable)
    listing.add(raw, rows["outside"], positions)
    blank = int(rows["raw"].is_null().sum()) + int(rows["blank"].sum())
    coded = int(rows["coded"].sum())
    profile = VariableProfile(variable.name, name, len(variable.categories), len(raw), blank, coded)
    return rows["place"].alias(variable.name), profile


def placed(raw: pl.Series, variable: VariableSpec) -> pl.DataFrame:
    """What each value of a column means.

    Columns ``raw``; ``place`` in the public list, Int32, null where there is none; and whether the value is ``blank``,
    ``coded`` as missing, or ``outside`` the list and the missing codes. O(rows) hashing and O(distinct values) work.
    """
    distinct = raw.drop_nulls().unique()
    listed, missing = variable.places, variable.missing_codes
    folded = [folded_label(value) for value in distinct]
    known = pl.DataFrame(
        {
            "raw": distinct,
            "place": pl.Series([listed.get(label) for label in folded], dtype=pl.Int32),
            "blank": pl.Series([label == "" for label in folded], dtype=pl.Boolean),
            "coded": pl.Series([label != "" and label in missing for label in folded], dtype=pl.Boolean),
        }
    )
    rows = raw.alias("raw").to_frame().join(known, on="raw", how="left", maintain_order="left")
    known_value = pl.col("place").is_not_null() | pl.col("blank") | pl.col("coded")
    return rows.with_columns((pl.col("raw").is_not_null() & ~known_value).alias("outside"))
