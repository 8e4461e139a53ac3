"""A custodian's own categories mapped to the common ones, by the table in the specification.

It comes before all other cleaning. A value that the table does not name is an error and never guessed, as for every
variable: the error gives the number of values and their places, not the values. Missing values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.specification.model.categorisation import CommonCategory, category_of

Places = Callable[[NDArray[np.bool_]], str]
"""Names the places of some rows: ``lines 3, 17``."""

_SHOWN = 5


def harmonised(
    raw: pl.Series,
    table: Sequence[CommonCategory],
    side: Side,
    is_missing: Callable[[str], bool],
    of: str,
    column: str,
    places: Places,
) -> pl.Series:
    """The values of a column as common categories.

    Parameters
    ----------
    raw : Series of String
        The custodian's own values.
    table
        The values that mean each common category.
    side
        Whose column it is.
    is_missing
        Whether a value that the table does not name means *not known*; such values are returned as they are.
    of, column
        The field or variable and its column, for the error.
    places
        Names the places of rows, for the error.

    Raises
    ------
    TrystError
        SOURCE for values that the table does not name.

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
    if outside.any():
        others = sum(category is None for category in found) - sum(missing)
        raise TrystError(
            ErrorCode.SOURCE,
            f"{of} has values that its table of categorisation does not name for {side}",
            where=f"{side}'s column {column!r}",
            got=f"{int(outside.sum()):,} of {len(raw):,} rows, {others:,} different values"
            f" ({places(outside.to_numpy())})",
            remedy="add them to the table, or to the `missing` codes, or correct the file",
        )
    return rows.select(pl.coalesce("category", "raw")).to_series().alias(raw.name)


def numbered(chosen: NDArray[np.bool_]) -> str:
    """Where rows are, by their numbers."""
    numbers = np.flatnonzero(chosen) + 1
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    return f"row{'s' if len(numbers) > 1 else ''} {shown}{', ...' if len(numbers) > _SHOWN else ''}"
