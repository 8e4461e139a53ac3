"""The cells a log-linear model can give a positive mean, found without making the full table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.counts import SparseCounts, distinct_rows

LIMIT = 2**24
"""Cells from which a model is refused: 16.8 million, some 0.6 GB."""

_WIDEST = 32  # bytes that may be needed for each cell allowed


def support(table: SparseCounts, generators: Sequence[Sequence[int]], limit: int = LIMIT) -> NDArray[np.int32]:
    """Cells all of whose fitted margins are positive; elsewhere the fitted mean is 0.

    Parameters
    ----------
    table
        The sample.
    generators
        Sets of positions of variables: the margins that the model fits.
    limit
        Most cells allowed.

    Returns
    -------
    ndarray of int32, shape (n_cells, n_variables)
        In lexicographic order.

    Raises
    ------
    GemelError
        More cells than the limit.

    Notes
    -----
    Variable by variable: the cells so far are extended by every level, and those that have an empty margin go. Cost
    grows with the cells that remain, for sparse tables far fewer than the full table has.
    """
    cells = np.zeros((1, 0), dtype=np.int32)
    for q, n in enumerate(table.levels):
        if len(cells) * n > _WIDEST * limit:
            raise _too_many(limit, q, table)
        keep = np.ones((len(cells), n), dtype=bool)
        for generator in generators:
            if q not in generator:
                continue
            earlier = [v for v in generator if v < q]
            own, level = table.cells[:, earlier], table.cells[:, q]
            levels = [table.levels[v] for v in earlier]
            both = np.concatenate([own, cells[:, earlier]]) if earlier else np.zeros((len(own) + len(cells), 1), int)
            first, group = distinct_rows(both, levels or [1])
            there = np.zeros((len(first), n), dtype=bool)
            there[group[: len(own)], level] = True
            keep &= there[group[len(own) :]]
        row, added = np.nonzero(keep)
        if len(row) > limit:
            raise _too_many(limit, q, table)
        cells = np.column_stack([cells[row], added]).astype(np.int32)
    return cells


def _too_many(limit: int, q: int, table: SparseCounts) -> GemelError:
    return GemelError(
        ErrorCode.MEMORY,
        "the log-linear model has too many cells of positive mean",
        got=f"more than {limit:,} at variable {q + 1} of {len(table.levels)}",
        remedy="use fewer or coarser key variables, more interactions, or Bayesian matching",
    )
