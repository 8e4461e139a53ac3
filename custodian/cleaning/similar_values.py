"""The list of values whose similarity can be estimated, cleaned as the field's own values are."""

from __future__ import annotations

import polars as pl

from gemel.common.specification import FieldSpec
from gemel.custodian.cleaning.definition import clean_value


def similar_values(field: FieldSpec) -> frozenset[str] | None:
    """The cleaned values of a field whose similarity can be estimated; None where that is all of them.

    Notes
    -----
    Some 20 microseconds a value.
    """
    if not field.only_similar:
        return None
    return frozenset(cleaned for value in field.only_similar if (cleaned := clean_value(value, field)) is not None)


def listed_in(column: pl.Series, field: FieldSpec) -> pl.Series | None:
    """Which of a field's cleaned values are on its list `only_similar`, null where missing; None without a list."""
    similar = similar_values(field)
    return None if similar is None else column.is_in(pl.Series(sorted(similar), dtype=pl.String).implode())
