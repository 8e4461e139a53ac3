"""How many of one file agree with each combination of another, when missing values agree with everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gemel.risk.models.counts import distinct_rows

Number = TypeVar("Number", np.int64, np.float64)


def agreeing(
    requested: NDArray[np.int32], cells: NDArray[np.int32], counts: NDArray[Number], levels: Sequence[int]
) -> NDArray[Number]:
    """Sum of the counts of the cells that agree with each combination requested.

    Parameters
    ----------
    requested : ndarray of int32, shape (n_asked, n_keys)
        Combinations; ``-1`` agrees with every value.
    cells : ndarray of int32, shape (n_cells, n_keys)
        Distinct combinations; ``-1`` agrees with every value.
    counts : ndarray of int64 or float64, shape (n_cells,)
    levels
        Number of levels of each key variable.

    Returns
    -------
    ndarray of int64 or float64, as the counts are, shape (n_asked,)

    Notes
    -----
    Files are cut by their patterns of missing values; each pair of patterns is one join on what both have. Without
    missing values that is one join: O((n_asked + n_cells) log).
    """
    found = np.zeros(len(requested), dtype=counts.dtype)
    for mine, own in _patterns(requested):
        for theirs, others in _patterns(cells):
            both = np.flatnonzero(mine & theirs)
            rows = np.concatenate([requested[own][:, both], cells[others][:, both]])
            if not len(both):
                found[own] += counts[others].sum()
                continue
            first, inverse = distinct_rows(rows, [levels[q] for q in both.tolist()])
            sums = np.zeros(len(first), dtype=counts.dtype)
            np.add.at(sums, inverse[len(own) :], counts[others])
            found[own] += sums[inverse[: len(own)]]
    return found


def _patterns(cells: NDArray[np.int32]) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """The patterns of values that are there, and the rows of each."""
    there = cells >= 0
    if there.all():
        return [(np.ones(cells.shape[1], dtype=bool), np.arange(len(cells)))]
    first, which = distinct_rows(there, [2] * cells.shape[1])
    return [(there[row], np.flatnonzero(which == k)) for k, row in enumerate(first.tolist())]
