"""Codes of key values, and which records agree where values are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.risk.arrays import Codes, Integers
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.graphs import members
from gemel.risk.models.inference import patterns

Missing = Literal["level", "any"]
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


def coded(column: pl.Series, missing: Missing, number: Callable[[str], float] = int) -> tuple[tuple[str, ...], Codes]:
    """Labels in order, by `number` where all are numbers, and the code of each value."""
    found = column.drop_nulls().unique().to_list()
    try:
        labels = sorted(found, key=number)
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
) -> tuple[Codes, Counts, Integers]:
    """Distinct rows in lexicographic order (missing first), how often each occurs, and the row of each record."""
    first, inverse = distinct_rows(codes + 1, [len(x) + 1 for x in labels])
    return codes[first], np.bincount(inverse, weights, len(first)).astype(np.int64), inverse


Number = TypeVar("Number", np.int64, np.float64)


def agreeing(requested: Codes, cells: Codes, counts: NDArray[Number], levels: Sequence[int]) -> NDArray[Number]:
    """Sum of the counts of the cells that agree with each combination requested.

    `requested` (int32, shape (n_asked, n_keys)): combinations; ``-1`` agrees with every value; `cells` (int32, shape
    (n_cells, n_keys)): distinct combinations; ``-1`` agrees with every value; `counts` (int64 or float64, shape
    (n_cells,)).

    Returns int64 or float64, as the counts are, shape (n_asked,).

    Files are cut by their patterns of missing values; each pair of patterns is one join on what both have. Without
    missing values that is one join: O((n_asked + n_cells) log).
    """
    found = np.zeros(len(requested), dtype=counts.dtype)
    for (own, mine), (others, theirs) in product(patterns(requested), patterns(cells)):
        both = list(members(mine & theirs))
        rows = np.concatenate([requested[own][:, both], cells[others][:, both]])
        first, inverse = distinct_rows(rows, [levels[q] for q in both])
        sums = np.bincount(inverse[len(own) :], counts[others], len(first)).astype(counts.dtype)
        found[own] += sums[inverse[: len(own)]]
    return found
