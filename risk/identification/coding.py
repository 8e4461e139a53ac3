"""From columns of values to level numbers, and from rows of level numbers to distinct combinations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.risk.models.counts import distinct_rows

Missing = Literal["level", "any"]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]

MISSING_LABEL = "(missing)"


def text_of(values: Any, missing_values: Sequence[str]) -> pl.Series:
    """A column as text with nulls. A whole number stored as float reads as a whole number."""
    column = pl.Series("key", values, strict=False) if not isinstance(values, pl.Series) else values.alias("key")
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.drop_nulls()
        if len(whole) and bool((whole == whole.round(0)).all()):
            column = column.cast(pl.Int64)
    text = column.cast(pl.String)
    return text.set(text.is_in(list(missing_values)), None) if missing_values else text


def coded(column: pl.Series, missing: Missing) -> tuple[tuple[str, ...], Codes]:
    """Labels in order, and the code of each value."""
    found = column.drop_nulls().unique().to_list()
    try:
        labels = sorted(found, key=int)
    except ValueError:
        labels = sorted(found)
    numbers = {label: k for k, label in enumerate(labels)}
    own = len(labels) if missing == "level" and column.null_count() else -1
    codes = column.replace_strict(numbers, default=own, return_dtype=pl.Int32).to_numpy()
    if own >= 0:
        labels.append(MISSING_LABEL)
    return tuple(labels), np.asarray(codes, dtype=np.int32)


def tally(
    codes: Codes, labels: Sequence[Sequence[str]], weights: Counts | None = None
) -> tuple[Codes, Counts, NDArray[np.int64]]:
    """Distinct rows in lexicographic order (missing first), how often each occurs, and the row of each record."""
    first, inverse = distinct_rows(codes + 1, [len(x) + 1 for x in labels])
    if weights is None:
        return codes[first], np.bincount(inverse, minlength=len(first)), inverse
    sums = np.zeros(len(first), dtype=np.int64)
    np.add.at(sums, inverse, weights)
    return codes[first], sums, inverse
