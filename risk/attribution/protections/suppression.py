"""Cell suppression with complementary cells, and intervals instead of counts: withhold as little as protects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import block_array, csr_array, eye_array, sparray, vstack

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.laws import UNPUBLISHED, Exact, Law
from gemel.risk.attribution.protections.records import Outcome, Protection, require_exact
from gemel.risk.attribution.release import Published
from gemel.risk.whole_programmes import cheapest


@dataclass(frozen=True, eq=False)
class Layout:
    """A table's cells followed by those of some of its margins, as sums of the table's cells.

    `matrix` (sparse, shape (n_published, n_cells)): which cells each published cell sums; the identity for the table's
    own.
    """

    table: Published
    margins: tuple[tuple[str, ...], ...]
    matrix: csr_array

    @property
    def counts(self) -> Integers:
        """True counts of all published cells."""
        return np.asarray(self.matrix @ self.table.counts.ravel()).astype(np.int64)

    @property
    def cells(self) -> int:
        return int(self.table.counts.size)

    def with_counts(self, cells: Integers, law: Law) -> Published:
        return replace(self.table, counts=cells.reshape(self.table.counts.shape), law=law)

    def published_margins(self, values: Integers, law: Law | None = None) -> tuple[Published, ...]:
        """The margins with their values, cut out of those of all published cells; exact by default."""
        found, start = [], self.cells
        for names in self.margins:
            axes = tuple(a for a in self.table.axes if a.variable in names)
            shape = tuple(len(a.labels) for a in axes)
            end = start + math.prod(shape)
            label = ", ".join(a.variable for a in axes) or "total"
            counts = values[start:end].reshape(shape)
            found.append(Published(f"{self.table.name}: {label}", axes, counts, law or Exact()))
            start = end
        return tuple(found)


def layout(table: Published, margins: Sequence[Sequence[str]] | None = None) -> Layout:
    """Lay a table and its margins out; by default all, the larger ones first, the total last."""
    margins = all_margins(table.names) if margins is None else margins
    shape = table.counts.shape
    numbers = np.arange(table.counts.size).reshape(shape)
    rows: list[Integers] = [np.asarray([c]) for c in range(table.counts.size)]
    for names in margins:
        unknown = set(names) - set(table.names)
        if unknown:
            raise parameter(table.name, f"a margin over unknown variables: {', '.join(sorted(unknown))}")
        kept = [i for i, n in enumerate(table.names) if n in names]
        moved = np.moveaxis(numbers, kept, range(len(kept)))
        size = int(np.prod([shape[i] for i in kept], dtype=np.int64))
        rows.extend(moved.reshape(size, -1))
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    columns = np.concatenate(rows)
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(rows), table.counts.size))
    return Layout(table, tuple(tuple(m) for m in margins), matrix)


def all_margins(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Every proper subset of the variables, larger ones first, the total last."""
    found = [tuple(n for i, n in enumerate(names) if bits >> i & 1) for bits in range((1 << len(names)) - 1)]
    return sorted(found, key=lambda s: -len(s))


def solve(
    objective: Floats,
    rows: Sequence[sparray],
    lower: Floats,
    upper: Floats,
    ceiling: Floats,
    what: str,
    seconds: float | None,
    floor: Floats | float = 0.0,
    where: str = "",
) -> Integers:
    """Solve one programme in whole numbers, or raise with the reason."""
    constraint = LinearConstraint(vstack(list(rows), format="csr"), lower, upper)
    result = cheapest(objective, [constraint], floor, ceiling, seconds)
    if result.x is None:
        reason = "there is no solution" if result.status == 2 else "none was found in the time allowed"
        remedy = "require less protection, publish fewer margins, or allow more time"
        raise parameter(where, f"{what}: {reason}", remedy=remedy)
    return np.asarray(np.rint(result.x).astype(np.int64))


# Both are one programme. For each risky cell there must be two tables that agree with everything published and differ
# there by at least the required width: one as large, one as small as required. The tables are whole, so an attacker
# who knows that counts are whole gains nothing.


@dataclass(frozen=True)
class _ProtectingCells(Protection):
    """Which cells are risky, what an attacker's range of each must have, and which margins are published."""

    threshold: int = 3
    cells: tuple[tuple[int, ...], ...] | None = None
    width: int = 1
    lower: int = 0
    upper: int = 0
    margins: tuple[tuple[str, ...], ...] | None = None
    seconds: float | None = None

    def _planned(self, given: Published, what: str) -> tuple[Layout, Integers]:
        """The layout of the table with its margins, and the risky cells."""
        require_exact(given, what)
        return layout(given, self.margins), risky_cells(given, self.threshold, self.cells)

    def _programme(self, plan: Layout, risky: Integers, price: Floats, free: Floats, *, binary: bool) -> Integers:
        """Unknowns: how each published cell may move (switch, or reaches down and up), then two tables a cell."""
        truth, a = plan.counts.astype(float), plan.matrix
        published, own = a.shape
        # No attacker's table needs more people in a cell.
        limit = float(plan.table.counts.sum() + max(self.lower, self.upper, self.width) + 1)
        tables = 2 * len(risky)
        if not tables:
            return np.zeros(len(price), dtype=np.int64)
        identity, nothing = eye_array(published, format="csr"), csr_array((published, published))
        if binary:
            below, above = [csr_array(-np.diag(truth))], [csr_array(-limit * np.eye(published))]
        else:
            below, above = [-identity, nothing], [nothing, -identity]
        rows, lower, upper = [], [], []
        for t in range(tables):
            tail = [a if t == s else csr_array((published, own)) for s in range(tables)]
            # value - truth <= room above, truth - value <= room below
            for sign, room in ((1.0, above), (-1.0, below)):
                rows.append(block_array([[*room, *[sign * block for block in tail]]], format="csr"))
                lower.append(np.full(published, -np.inf))
                upper.append(sign * truth)
        switches = published if binary else 2 * published
        for r, cell in enumerate(risky):
            small, large = switches + 2 * r * own + cell, switches + (2 * r + 1) * own + cell
            width = switches + tables * own
            for columns, signs, bound in (
                ([large], [1.0], truth[cell] + self.upper),
                ([small], [-1.0], -(truth[cell] - self.lower)),
                ([large, small], [1.0, -1.0], float(self.width)),
            ):
                rows.append(csr_array((signs, ([0] * len(columns), columns)), shape=(1, width)))
                lower.append(np.asarray([bound]))
                upper.append(np.asarray([np.inf]))
        moves = free if binary else np.tile(free * limit, 2)
        ceiling = np.concatenate([moves, np.full(tables * own, limit + truth.max())])
        floor = np.zeros(len(ceiling))
        if binary:
            floor[risky] = 1.0
        else:
            ceiling[:published] = np.minimum(ceiling[:published], truth)  # a range does not reach below 0
        objective, ends = (
            np.concatenate([price, np.zeros(tables * own)]),
            (np.concatenate(lower), np.concatenate(upper)),
        )
        what, where = "cell suppression" if binary else "interval publication", f"table {plan.table.name!r}"
        return solve(objective, rows, *ends, ceiling, what, self.seconds, floor, where)


@dataclass(frozen=True)
class CellSuppression(_ProtectingCells):
    """Withhold risky cells, and the fewest others, so that no risky count can be worked out.

    NP-hard; two whole tables for each risky cell. Practical to some ten risky cells in a hundred.

    References
    ----------
    .. [1] Fischetti and Salazar, Models and algorithms for the 2-dimensional cell suppression problem, 1999.
    """

    suppress_margins: bool = False
    weight: Literal["cells", "counts"] = "cells"

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        plan, risky = self._planned(given, "cell suppression")
        truth = plan.counts
        price = np.ones(len(truth)) if self.weight == "cells" else truth + 1.0
        price = price + generator.random(len(truth)) * 1e-3
        free = np.ones(len(truth))
        if not self.suppress_margins:
            free[plan.cells :] = 0.0
        found = self._programme(plan, risky, price, free, binary=True)
        hidden = found[: len(truth)] > 0
        hidden[risky] = True
        values = np.where(hidden, UNPUBLISHED, truth)
        return Outcome(plan.with_counts(values[: plan.cells], given.law), plan.published_margins(values))


@dataclass(frozen=True)
class IntervalPublication(_ProtectingCells):
    """Publish ranges in place of risky counts, and the narrowest that protect them in place of others.

    Parameters as in `CellSuppression`; `lower`, `upper` and `width` are what an attacker's range must have. The sum of
    the ranges' widths is least.

    References
    ----------
    .. [1] Fischetti and Salazar, Partial cell suppression, Statistics and Computing 13, 2003.
    """

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        plan, risky = self._planned(given, "interval publication")
        truth = plan.counts
        free = np.ones(len(truth))
        free[plan.cells :] = 0.0
        price = 1.0 + generator.random(2 * len(truth)) * 1e-3
        found = self._programme(plan, risky, price, free, binary=False)
        below, above = found[: 2 * len(truth)].reshape(2, -1)
        shape = given.counts.shape
        low, high = (truth - below)[: plan.cells], (truth + above)[: plan.cells]
        counts = np.where(low == high, low, UNPUBLISHED).reshape(shape)
        table = replace(given, counts=counts, intervals=(low.reshape(shape), high.reshape(shape)))
        return Outcome(table, plan.published_margins(truth))


def risky_cells(given: Published, threshold: int, cells: Sequence[tuple[int, ...]] | None) -> Integers:
    """Flat numbers of the risky cells: those named, or those with counts from 1 to under the threshold."""
    if cells is not None:
        return np.asarray([int(np.ravel_multi_index(c, given.counts.shape)) for c in cells], dtype=np.int64)
    counts = given.counts.ravel()
    return np.flatnonzero((counts > 0) & (counts < threshold)).astype(np.int64)
