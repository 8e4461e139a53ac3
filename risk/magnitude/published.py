"""A table that was suppressed elsewhere: its values, and what a reader gets back without the records behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.common.progress import Progress
from gemel.risk.magnitude.attacks import Suppressed
from gemel.risk.magnitude.audit import Limits, exact_bounds, feasible_table, pattern_of
from gemel.risk.magnitude.contributors import Contributions
from gemel.risk.magnitude.knowledge import Numbers
from gemel.risk.magnitude.tables import LinkedTables

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """Published values of the cells, wherever they were suppressed.

    Parameters
    ----------
    values : ndarray of float64, shape (n_cells,)
        NaN where withheld.
    rounding
        What they were rounded to a multiple of; 0 for values as they are.
    """

    values: Numbers
    rounding: float = 0.0

    @property
    def suppressed(self) -> Marks:
        """What is withheld, shape (n_cells,)."""
        return np.isnan(self.values)


def assess_published(
    tables: LinkedTables, published: PublishedValues, *, signed: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """What an outsider gets back of a published table, without the records behind it.

    Returns
    -------
    dict
        Bounds of every withheld cell, and how many are known exactly or within 10 per cent.

    Raises
    ------
    GemelError
        The published values do not add up.
    """
    limits = Limits.of(published.values, published.suppressed, signed=signed, rounding=published.rounding)
    table = feasible_table(tables, limits)
    pattern: Suppressed = pattern_of(tables, table, limits)
    cells = np.flatnonzero(published.suppressed)
    lower, upper = exact_bounds(pattern, table, cells, None if progress is None else partial(progress, "bounds"))
    with np.errstate(invalid="ignore"):
        middle = np.abs(lower + upper) / 2
        close = upper - lower <= 0.2 * middle
    exact = upper - lower <= 1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(upper), upper, 1.0)))
    return {
        "tables": [[tables.classifications[v].name for v in table] for table in tables.tables],
        "signed": signed,
        "rounding": published.rounding,
        "cells": {"all": tables.n_cells, "suppressed": len(cells)},
        "recovered": int(exact.sum()),
        "within_ten_per_cent": int((close | exact).sum()),
        "suppressed": [
            {"cell": tables.described(c), "lower": finite(lo), "upper": finite(hi)}
            for c, lo, hi in zip(cells.tolist(), lower.tolist(), upper.tolist(), strict=True)
        ],
    }


def require_true(found: Contributions, published: PublishedValues) -> None:
    """Refuse a published table that is not one of these records."""
    shown = ~published.suppressed
    allowed = published.rounding / 2 + 1e-6 * np.maximum(1.0, found.sizes)
    wrong = int((np.abs(published.values - found.values)[shown] > allowed[shown]).sum())
    if wrong:
        raise parameter(
            "published table",
            "published values are not those of the records",
            f"{wrong} of {int(shown.sum())} that differ",
            "give --rounding if they were rounded, and the same --value, --weights and levels as were used",
        )


def finite(value: float) -> float | None:
    """Ready for JSON: None for what nothing bounds."""
    return value if np.isfinite(value) else None
