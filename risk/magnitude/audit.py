"""What attackers get back of withheld cells, exactly, against the protection that is required.

The bounds are the optima of linear programmes over all tables that agree with what is published: no attacker who knows
no more can exclude a value between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gemel.common.errors import parameter
from gemel.common.progress import Progress, StageProgress, silent
from gemel.risk.arrays import Floats, Integers, Mask, finite
from gemel.risk.magnitude.attacks import Attack, Limits, Suppressed, Witnesses, cheapest_sums
from gemel.risk.magnitude.rules import Contributions
from gemel.risk.magnitude.tables import LinkedTables


def feasible_table(tables: LinkedTables, limits: Limits) -> Floats:
    """Some table that agrees with what is published.

    Refused: there is none: the published values do not add up.
    """
    bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    scale = float(np.abs(limits.upper[bounded]).max(initial=0.0)) or 1.0
    # Values that differ by what double precision adds up to are the same.
    slack = 1e-9 * scale
    low, high = (limits.lower - slack) / scale, (limits.upper + slack) / scale
    found = cheapest_sums(np.zeros(tables.n_cells), tables.equations, low, high)
    if found.x is None:
        what = "no table agrees with all published values: they do not add up"
        remedy = "check its totals; give --rounding if values were rounded, --signed if some may be negative"
        raise parameter("published table", what, remedy=remedy)
    table: Floats = np.clip(found.x * scale, limits.lower, limits.upper)
    return table


def exact_bounds(
    pattern: Suppressed, table: Floats, cells: Integers, progress: StageProgress = silent
) -> tuple[Floats, Floats]:
    """What an outsider knows of cells: the smallest and the largest value that each can have.

    `table` (float64, shape (n_cells,)): a table that agrees with what is published, such as the true one; `cells`
    (int64, shape (n,)): withheld cells.

    Returns `lower`, `upper` (float64, shape (n,)): minus infinity and infinity where nothing bounds a cell.
    """
    lower, upper = np.empty(len(cells)), np.empty(len(cells))
    for k, cell in enumerate(cells.tolist()):
        scale = max(float(np.abs(table[pattern.component(cell)]).max()), 1e-300)
        lower[k] = table[cell] - min(pattern.rooms.down[cell], pattern.moved(cell, -1, scale, capped=False).reach)
        upper[k] = table[cell] + pattern.moved(cell, 1, scale, capped=False).reach
        progress((k + 1) / len(cells))
    return lower, upper


def breaches(pattern: Suppressed, attacks: Sequence[Attack]) -> list[tuple[Attack, float]]:
    """The attacks that come closer than they may, each with how far its bound is from the truth."""
    witnesses = Witnesses()
    found = []
    for attack in attacks:
        if witnesses.withstands(pattern, attack) is None:
            moved = pattern.moved(attack.cell, attack.sense, attack.reach, attack.intruder, capped=True)
            found.append((attack, moved.reach))
    return found


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """Published values of the cells, wherever they were suppressed.

    `values` (float64, shape (n_cells,)): naN where withheld.
    """

    values: Floats
    rounding: float = 0.0

    @property
    def suppressed(self) -> Mask:
        return np.isnan(self.values)


def assess_published(
    tables: LinkedTables, published: PublishedValues, *, signed: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """What an outsider gets back of a published table, without the records behind it."""
    limits = Limits.of(published.values, published.suppressed, signed=signed, rounding=published.rounding)
    table = feasible_table(tables, limits)
    pattern = Suppressed(tables, limits.rooms(table))
    cells = np.flatnonzero(published.suppressed)
    lower, upper = exact_bounds(pattern, table, cells, partial(progress, "bounds"))
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
        got = f"{wrong} of {int(shown.sum())} that differ"
        remedy = "give --rounding if they were rounded, and the same --value, --weights and levels as were used"
        raise parameter("published table", "published values are not those of the records", got, remedy)
