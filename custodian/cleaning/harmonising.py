"""A custodian's own categories mapped to the common ones, by the table in the specification.

It comes before all other cleaning. A value that the table does not name is an error and never guessed, as for every
variable: the error gives the number of values and their places, not the values. Missing values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.records.positions import Found, Positions
from gemel.common.specification.model.variables import CommonCategory, category_of


class Refusal(Protocol):
    """Words the error for rows with values that no table names."""

    def __call__(self, rows: str) -> GemelError:
        """The error; `rows` says how many rows, how many different values, and where."""
        ...


class Unnamed:
    """The values of one column that no table names, in all batches of a file."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal
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
        """The error for all of them; None if there are none."""
        if not self._found.count:
            return None
        return self._refusal(
            f"{self._found.count:,} of {self._rows:,} rows, {len(self._values):,} different values ({self._found})"
        )


def harmonised(
    raw: pl.Series,
    table: Sequence[CommonCategory],
    side: Side,
    is_missing: Callable[[str], bool],
    positions: Positions,
    unnamed: Unnamed,
) -> pl.Series:
    """The values of a column, or of a part of one, as common categories; null where they are unnamed.

    Notes
    -----
    O(rows) hashing and O(distinct values) work.
    """
    find = category_of(table, side)
    distinct = raw.drop_nulls().unique()
    found = [find(value) for value in distinct]
    missing = [category is None and is_missing(value) for value, category in zip(distinct, found, strict=True)]
    known = pl.DataFrame(
        {
            "raw": distinct,
            "category": pl.Series(found, dtype=pl.String),
            "missing": pl.Series(missing, dtype=pl.Boolean),
        }
    )
    rows = raw.alias("raw").to_frame().join(known, on="raw", how="left", maintain_order="left")
    outside = rows.select(pl.col("raw").is_not_null() & pl.col("category").is_null() & ~pl.col("missing")).to_series()
    unnamed.add(raw, outside, positions)
    value = pl.when(pl.col("category").is_not_null() | pl.col("missing")).then(pl.coalesce("category", "raw"))
    return rows.select(value).to_series().alias(raw.name)


def unnamed_in(of: str, side: Side, column: str) -> Unnamed:
    """For the values of a field's or variable's column that its table of categorisation does not name."""

    def refusal(rows: str) -> GemelError:
        return GemelError(
            ErrorCode.SOURCE,
            f"{of} has values that its table of categorisation does not name for {side}",
            where=f"{side}'s column {column!r}",
            got=rows,
            remedy="add them to the table, or to the `missing` codes, or correct the file",
        )

    return Unnamed(refusal)
