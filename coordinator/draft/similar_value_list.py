"""A list for `only_similar` made from public counts: without the commonest values, and without rare ones.

The counts must be public, such as a census's: a list made from a custodian's own file would disclose what is in it.
"""

from __future__ import annotations

import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.language.message_words import nearest
from gemel.common.specification.model.fields import MAX_LISTED

_LONGEST = 256


def similar_list(
    counts: pl.DataFrame, value: str, count: str, *, drop_commonest: int, minimum: float, maximum: int
) -> list[str]:
    """The values of a table of counts that are neither among the commonest nor rare, commonest first."""
    for column in (value, count):
        if column not in counts.columns:
            remedy = nearest(column, counts.columns)
            raise GemelError(
                ErrorCode.FIELD_MISSING, f"there is no column {column!r}", where="the counts", remedy=remedy
            )
    if not 1 <= maximum <= MAX_LISTED:
        raise parameter("--maximum", f"a list has 1 to {MAX_LISTED:,} values", str(maximum))
    text = pl.col(value).cast(pl.String).str.strip_chars().str.to_lowercase()
    table = counts.select(value=text, count=pl.col(count).cast(pl.Float64, strict=False))
    table = table.filter(pl.col("value").str.len_chars().is_between(1, _LONGEST))
    if unread := int((table["count"].is_null() | table["count"].is_nan()).sum()):
        raise GemelError(
            ErrorCode.SOURCE, f"{unread:,} counts are no numbers", where=f"column {count!r} of the counts",
            remedy="write counts as plain numbers, without separators",
        )  # fmt: skip
    added = table.group_by("value").agg(pl.col("count").sum()).sort("count", "value", descending=[True, False])
    kept = added[drop_commonest:].filter(pl.col("count") >= minimum)["value"].head(maximum).to_list()
    if not kept:
        what = "no value is left to list"
        got = f"{added.height:,} values"
        raise parameter("the counts", what, got, "drop fewer of the commonest, or give a smaller --minimum")
    return kept
