"""Primary rules: when the largest contributor to a cell can be estimated too closely by others.

Who stands behind each cell, and with how much.

A contributor is a unit (an enterprise, a household), whose records in a cell are added up; without units, a record.
Rules look at sizes: with negative values a contribution counts by its absolute value, and so does the cell, as the sum
of them. Contributions of zero protect no other, and are not counted.

Weights say how many units of the population a sampled one stands for. A unit is then as many contributors as its
weight, rounded to the nearest whole number and at least 1, each with the unit's own amount; the cell's value is the
weighted sum, as published. Where a unit's records have different weights, it is as many contributors as its smallest
weight, and its amount is its weighted sum divided by that weight: fewer and larger ones, which errs towards protection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Floats, Integers, Mask
from gemel.risk.magnitude.tables import LinkedTables


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions to every cell, by cell and then by size, the largest first.

    `values` (float64, shape (n_cells,)): what would be published: (weighted) sums; `sizes` (float64, shape (n_cells,)):
    sums of absolute contributions: the values, where nothing is negative; `start` (int64, shape (n_cells + 1,)): where
    each cell's contributions begin in the next three; `units`, `copies`, `amounts` (shape (n_contributions,)): which
    unit; how many contributors it stands for; how much each has, above 0; `signed`: whether some record's value is
    negative: no cell can then be bounded by the knowledge that it is not.
    """

    values: Floats
    sizes: Floats
    start: Integers
    units: Integers
    copies: Integers
    amounts: Floats
    signed: bool

    def of(self, cell: int) -> slice:
        """Where a cell's contributions stand."""
        return slice(int(self.start[cell]), int(self.start[cell + 1]))

    @property
    def counts(self) -> Integers:
        """Contributors of each cell, shape (n_cells,)."""
        sums = np.concatenate([[0], np.cumsum(self.copies)])
        return np.asarray(sums[self.start[1:]] - sums[self.start[:-1]])

    def largest(self, n: int) -> Floats:
        """The n largest contributors' amounts in each cell, shape (n_cells, n); 0 where there are fewer."""
        repeated = np.minimum(self.copies, n)
        amounts = np.repeat(self.amounts, repeated)
        of_cell = np.repeat(np.repeat(np.arange(len(self.values)), np.diff(self.start)), repeated)
        first = np.searchsorted(of_cell, np.arange(len(self.values)))
        rank = np.arange(len(amounts)) - first[of_cell]
        found = np.zeros((len(self.values), n))
        kept = rank < n
        found[of_cell[kept], rank[kept]] = amounts[kept]
        return found


def contributions(
    tables: LinkedTables, nodes: Integers, values: Floats, units: Integers | None = None, weights: Floats | None = None
) -> Contributions:
    """Add records up to contributions and cells.

    `nodes` (int64, shape (n_records, n_variables)): each record's level of each variable, by its number in the
    classification; `values` (float64, shape (n_records,)): what is added up; `units` (int64, shape (n_records,),
    optional): the contributor of each record; by default each record is one; `weights` (float64, shape (n_records,),
    optional): sampling weights; a record with weight 0 counts for nothing.

    Refused: no records; values or weights that are no finite numbers; negative weights.

    O(r log r) for r records times the sums that each is part of.
    """
    weights = np.ones(len(values)) if weights is None else weights
    units = np.arange(len(values)) if units is None else units
    _check_contributions(values, weights)
    kept = weights > 0
    nodes, values, units, weights = nodes[kept], values[kept], units[kept], weights[kept]
    if not len(values):
        what = "no record counts towards the tables"
        got = f"{len(kept)} records, all of weight 0" if len(kept) else "none"
        remedy = "give the people or units that each record stands for as its weight" if len(kept) else ""
        raise GemelError(ErrorCode.EMPTY_SOURCE, what, where="records", got=got, remedy=remedy)
    distinct, own = np.unique(units, return_inverse=True)
    key, record = _memberships(tables, nodes)
    pair = key * len(distinct) + own[record]
    pairs, group = np.unique(pair, return_inverse=True)
    sums = np.bincount(group, (weights * values)[record])
    smallest = np.full(len(pairs), np.inf)
    np.minimum.at(smallest, group, weights[record])
    cell, unit = np.divmod(pairs, len(distinct))
    copies = np.maximum(1, np.floor(smallest + 0.5)).astype(np.int64)
    amounts = np.abs(sums) / smallest
    # What rounding leaves of amounts that cancel is no contribution.
    gross = np.bincount(group, np.abs(weights * values)[record])
    counted = np.abs(sums) > 1e-12 * gross
    order = np.lexsort((unit, -amounts, cell))
    order = order[counted[order]]
    start = np.searchsorted(cell[order], np.arange(tables.n_cells + 1))
    totals = np.bincount(cell, sums, tables.n_cells).astype(np.float64)
    sizes = np.bincount(cell[counted], np.abs(sums)[counted], tables.n_cells).astype(np.float64)
    signed = bool((values < 0).any())
    return Contributions(totals, sizes, start, distinct[unit[order]], copies[order], amounts[order], signed)


def _memberships(tables: LinkedTables, nodes: Integers) -> tuple[Integers, Integers]:
    """The cells that each record is part of: cell and record, each pair once."""
    paths = [[c.path(k) for k in range(len(c.nodes))] for c in tables.classifications]
    cells, records = [], []
    for table in tables.tables:
        leaves, of_record = np.unique(nodes[:, list(table)], axis=0, return_inverse=True)
        of_record = of_record.reshape(-1)
        for number, leaf in enumerate(leaves):
            grid = np.meshgrid(*(paths[v][k] for v, k in zip(table, leaf, strict=True)), indexing="ij")
            above = np.zeros((grid[0].size, len(tables.classifications)), dtype=np.int64)
            above[:, list(table)] = np.stack([g.ravel() for g in grid], axis=1)
            own = np.flatnonzero(of_record == number)
            cells.append(np.repeat(tables.number(above), len(own)))
            records.append(np.tile(own, len(above)))
    cell, record = np.concatenate(cells), np.concatenate(records)
    if len(tables.tables) > 1:  # tables share cells
        both = np.unique(cell * len(nodes) + record)
        cell, record = np.divmod(both, len(nodes))
    return cell, record


def _check_contributions(values: Floats, weights: Floats) -> None:
    for name, column in (("values", values), ("weights", weights)):
        wrong = int((~np.isfinite(column)).sum())
        if wrong:
            what = f"{name} must be finite numbers"
            raise parameter(name, what, f"{wrong} that are not", "leave those records out, or give them a number")
    negative = int((weights < 0).sum())
    if negative:
        what = "a sampling weight is how many units a record stands for, and cannot be negative"
        raise parameter("weights", what, f"{negative} below 0")


# All but the minimum frequency are one question. Contributors who together have `own` subtract it from the cell's
# size `X`; what remains holds the largest other contribution `t`. How far above `X` must the estimate of the cell
# reach, for the estimate of `t` to be as wide as the rule requires? Where that *reach* is above 0 the published value
# itself is too close, and the cell is a primary suppression, with the reach as its protection level (Hundepool et
# al., table 4.5 of the handbook). So the same function says which cells are risky, how far they must be protected,
# and what others who know more or less must still be left with.
#
# A rule has a `label` with its parameters; `others`, the contributors in the coalition that it is on guard against, the
# largest but one and those after it; `applies`, the cells that it can find risky by their number of contributors; and
# the `reach` above each cell's size, of which the attackers have `own` and the `largest` contribution is of others.


@dataclass(frozen=True)
class MinimumFrequency:
    """A cell has at least so many contributors."""

    n: int
    margin: float = 10.0
    others: int = 0

    def __post_init__(self) -> None:
        _check("minimum frequency", n=self.n, margin=self.margin)

    @property
    def label(self) -> str:
        return f"fewer than {self.n} contributors"

    def applies(self, counts: Integers) -> Mask:
        return counts < self.n

    def reach(self, size: Floats, own: Floats, largest: Floats) -> Floats:
        return np.asarray(self.margin / 100 * np.maximum(0.0, size - own))


@dataclass(frozen=True)
class Dominance:
    """The n largest contributors have at most k per cent of the cell."""

    n: int
    k: float

    def __post_init__(self) -> None:
        _check("dominance", n=self.n, k=self.k)
        if self.k >= 100:
            raise parameter("dominance", "k must be below 100 per cent", f"{self.k:g}")

    @property
    def label(self) -> str:
        return f"the {self.n} largest have more than {self.k:g} %" if self.n > 1 else f"one has more than {self.k:g} %"

    @property
    def others(self) -> int:
        return self.n - 1

    def applies(self, counts: Integers) -> Mask:
        return counts > 0

    def reach(self, size: Floats, own: Floats, largest: Floats) -> Floats:
        return np.asarray(100 / self.k * (own + largest) - size)


@dataclass(frozen=True)
class PriorPosterior:
    """The pq rule: who knows others' contributions within q per cent must not come to know one within p per cent."""

    p: float
    q: float = 100.0
    coalition: int = 1

    def __post_init__(self) -> None:
        _check("p % rule" if self.q == 100 else "pq rule", p=self.p, q=self.q, coalition=self.coalition)
        if self.p >= self.q:
            what = "p must be below q: what is known within q per cent before cannot be kept from within more"
            raise parameter("p % rule" if self.q == 100 else "pq rule", what, f"p {self.p:g}, q {self.q:g}")

    @property
    def label(self) -> str:
        rule = f"p % rule, p {self.p:g}" if self.q == 100 else f"pq rule, p {self.p:g}, q {self.q:g}"
        return rule + (f", coalition of {self.coalition}" if self.coalition > 1 else "")

    @property
    def others(self) -> int:
        return self.coalition

    def applies(self, counts: Integers) -> Mask:
        return counts > 0

    def reach(self, size: Floats, own: Floats, largest: Floats) -> Floats:
        rest = np.maximum(0.0, size - own - largest)  # rounded weights may make more contributors than the cell has
        return np.asarray(self.p / self.q * largest - rest)


Rule = MinimumFrequency | Dominance | PriorPosterior


@dataclass(frozen=True, eq=False)
class Primary:
    """The risky cells.

    `cells` (int64, shape (n_primary,)): their numbers; `reach` (float64, shape (n_primary,)): protection level: how far
    above and below its value an attacker must be left in doubt.
    """

    cells: Integers
    reach: Floats
    rules: tuple[tuple[str, ...], ...]


def primary_cells(found: Contributions, rules: tuple[Rule, ...]) -> Primary:
    """Apply rules to every cell; a cell is risky if any rule says so, and its protection is the widest.

    Cells whose contributions are all zero are never risky.
    """
    if not rules:
        raise parameter("rules", "at least one primary rule is needed")
    counts = found.counts
    levels = np.full((len(rules), len(counts)), -np.inf)
    for k, rule in enumerate(rules):
        largest = found.largest(rule.others + 1)
        reach = rule.reach(found.sizes, largest[:, 1:].sum(axis=1), largest[:, 0])
        risky = rule.applies(counts) & (counts > 0) & (reach > 1e-9 * found.sizes)
        levels[k, risky] = reach[risky]
    cells = np.flatnonzero(levels.max(axis=0) > 0)
    names = tuple(tuple(rule.label for k, rule in enumerate(rules) if levels[k, c] > 0) for c in cells)
    return Primary(cells, levels.max(axis=0)[cells], names)


def _check(rule: str, **parameters: float) -> None:
    for name, value in parameters.items():
        low = 1 if name in ("n", "coalition") else 0
        if not np.isfinite(value) or value < low or (low == 0 and value == 0):
            raise parameter(rule, f"{name} must be {'at least 1' if low else 'above 0'}", f"{value:g}")
