"""Who stands behind each cell, and with how much.

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
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.magnitude.tables import LinkedTables

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions to every cell, by cell and then by size, the largest first.

    Parameters
    ----------
    values : ndarray of float64, shape (n_cells,)
        What would be published: (weighted) sums.
    sizes : ndarray of float64, shape (n_cells,)
        Sums of absolute contributions: the values, where nothing is negative.
    start : ndarray of int64, shape (n_cells + 1,)
        Where each cell's contributions begin in the next three.
    units, copies, amounts : ndarray, shape (n_contributions,)
        Which unit; how many contributors it stands for; how much each has, above 0.
    signed
        Whether some record's value is negative: no cell can then be bounded by the knowledge that it is not.
    """

    values: Numbers
    sizes: Numbers
    start: Indices
    units: Indices
    copies: Indices
    amounts: Numbers
    signed: bool

    def of(self, cell: int) -> slice:
        """Where a cell's contributions stand."""
        return slice(int(self.start[cell]), int(self.start[cell + 1]))

    @property
    def counts(self) -> Indices:
        """Contributors of each cell, shape (n_cells,)."""
        sums = np.concatenate([[0], np.cumsum(self.copies)])
        return np.asarray(sums[self.start[1:]] - sums[self.start[:-1]])

    def largest(self, n: int) -> Numbers:
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
    tables: LinkedTables,
    nodes: Indices,
    values: Numbers,
    units: Indices | None = None,
    weights: Numbers | None = None,
) -> Contributions:
    """Add records up to contributions and cells.

    Parameters
    ----------
    tables
        The cells.
    nodes : ndarray of int64, shape (n_records, n_variables)
        Each record's level of each variable, by its number in the classification.
    values : ndarray of float64, shape (n_records,)
        What is added up.
    units : ndarray of int64, shape (n_records,), optional
        The contributor of each record; by default each record is one.
    weights : ndarray of float64, shape (n_records,), optional
        Sampling weights; a record with weight 0 counts for nothing.

    Raises
    ------
    GemelError
        No records; values or weights that are no finite numbers; negative weights.

    Notes
    -----
    O(r log r) for r records times the sums that each is part of.
    """
    weights = np.ones(len(values)) if weights is None else weights
    units = np.arange(len(values)) if units is None else units
    _check(values, weights)
    kept = weights > 0
    nodes, values, units, weights = nodes[kept], values[kept], units[kept], weights[kept]
    if not len(values):
        raise GemelError(
            ErrorCode.EMPTY_SOURCE,
            "no record counts towards the tables",
            where="records",
            got=f"{len(kept)} records, all of weight 0" if len(kept) else "none",
            remedy="give the people or units that each record stands for as its weight" if len(kept) else "",
        )
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
    return Contributions(
        np.asarray(np.bincount(cell, sums, tables.n_cells), dtype=np.float64),
        np.asarray(np.bincount(cell[counted], np.abs(sums)[counted], tables.n_cells), dtype=np.float64),
        start,
        distinct[unit[order]],
        copies[order],
        amounts[order],
        bool((values < 0).any()),
    )


def _memberships(tables: LinkedTables, nodes: Indices) -> tuple[Indices, Indices]:
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


def _check(values: Numbers, weights: Numbers) -> None:
    for name, column in (("values", values), ("weights", weights)):
        wrong = int((~np.isfinite(column)).sum())
        if wrong:
            raise parameter(
                name,
                f"{name} must be finite numbers",
                f"{wrong} that are not",
                "leave those records out, or give them a number",
            )
    negative = int((weights < 0).sum())
    if negative:
        raise parameter(
            "weights",
            "a sampling weight is how many units a record stands for, and cannot be negative",
            f"{negative} below 0",
        )
