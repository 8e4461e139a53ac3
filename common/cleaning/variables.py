"""Cleaning of category variables: every value becomes its place in the public list of categories, or is missing.

A value outside the list is an error and never guessed: a category of one custodian that the specification does not have
would otherwise silently be lost from every table. The error gives the number of values and their places, not the
values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from tryst.common.cleaning.harmonising import Places, harmonised, numbered
from tryst.common.cleaning.source_values import text_values
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.errors import ErrorCode, TrystError, TrystErrors
from tryst.common.parties import Side
from tryst.common.specification import Specification, VariableSpec
from tryst.common.specification.model.section import folded_label

_MOSTLY = 0.5


@dataclass(frozen=True)
class VariableProfile:
    """The counts of one variable: of rows, none of them by category."""

    variable: str
    column: str
    categories: int
    """Categories in the public list."""
    rows: int
    blank: int
    """Without a value in the file."""
    coded: int
    """With a missing-value code."""

    @property
    def missing(self) -> int:
        """Without a category."""
        return self.blank + self.coded

    def warnings(self) -> Iterator[ResultWarning]:
        """Likely errors in the specification or the file, judged by these counts."""
        if self.missing == self.rows:
            yield result_warning("variable_without_categories", variable=self.variable, column=self.column)
        elif self.missing > _MOSTLY * self.rows:
            yield result_warning("rows_without_category", variable=self.variable, missing=self.missing, rows=self.rows)


def clean_variables(
    frame: pl.DataFrame, spec: Specification, side: Side, places: Places | None = None
) -> tuple[dict[str, pl.Series], tuple[VariableProfile, ...]]:
    """The categories of every row in the variables that a custodian holds.

    Parameters
    ----------
    frame
        The file as read.
    spec
        The specification.
    side
        Whose file it is.
    places
        Names the places of rows, for the error; by default their numbers in the frame.

    Returns
    -------
    dict of str to Series of Int32
        By variable the place of the row's category in the public list, null where it is missing.
    tuple of VariableProfile
        Counts.

    Raises
    ------
    TrystError
        FIELD_MISSING for a missing column, SOURCE for values that are not categories; one error for each variable, with
        counts and places and never the value.

    Notes
    -----
    O(rows) hashing and O(distinct values) work per variable.
    """
    columns: dict[str, pl.Series] = {}
    profiles: list[VariableProfile] = []
    errors: list[TrystError] = []
    for variable in spec.variables_of(side):
        try:
            column, profile = _clean(frame, variable, side, places or numbered)
        except TrystError as error:
            errors.append(error)
            continue
        columns[variable.name] = column
        profiles.append(profile)
    if errors:
        raise errors[0] if len(errors) == 1 else TrystErrors(errors[0].code, errors)
    return columns, tuple(profiles)


def _clean(
    frame: pl.DataFrame, variable: VariableSpec, side: Side, places: Places
) -> tuple[pl.Series, VariableProfile]:
    name = variable.column_of(side)
    if name not in frame.columns:
        raise TrystError(
            ErrorCode.FIELD_MISSING,
            f"there is no column {name!r} for variable {variable.name}",
            where=f"{side}'s file",
            remedy="name its column in the specification, or add it to the file",
        )
    raw = text_values(frame[name], f"variable {variable.name}", f"{side}'s column {name!r}")
    if variable.categorisation:
        codes = variable.missing_codes
        raw = harmonised(
            raw,
            variable.categorisation,
            side,
            lambda value: folded_label(value) in codes,
            f"variable {variable.name}",
            name,
            places,
        )
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
    outside = rows.select(
        pl.col("raw").is_not_null() & pl.col("place").is_null() & ~pl.col("blank") & ~pl.col("coded")
    ).to_series()
    if outside.any():
        count = int(outside.sum())
        others = sum(label not in listed and label not in missing for label in folded)
        raise TrystError(
            ErrorCode.SOURCE,
            f"variable {variable.name} has values that are none of its {len(variable.categories)} categories",
            where=f"{side}'s column {name!r}",
            got=f"{count:,} of {len(raw):,} rows, {others:,} different values ({places(outside.to_numpy())})",
            remedy="add them to the specification, as categories or as `missing` codes, or correct the file",
        )
    blank = int(rows["raw"].is_null().sum()) + int(rows["blank"].sum())
    profile = VariableProfile(
        variable=variable.name,
        column=name,
        categories=len(variable.categories),
        rows=len(raw),
        blank=blank,
        coded=int(rows["coded"].sum()),
    )
    return rows["place"].alias(variable.name), profile
