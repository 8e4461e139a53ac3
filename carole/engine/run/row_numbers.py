"""Equal rows of a table of a file's size, and different ones among many row numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MAXIMUM = 2**63 - 1


def row_numbers(columns: Sequence[NDArray[np.integer] | NDArray[np.bool_]]) -> NDArray[np.int64]:
    """The number of each row among the distinct rows, in lexicographic order: that of ``np.unique(axis=0)``.

    Parameters
    ----------
    columns : sequence of ndarray of int or bool, shape (n_rows,)
        The first decides first.

    Notes
    -----
    O(rows * columns) and one or more sorts of whole numbers: columns are joined to one number while that has room,
    which is many times as fast as sorting rows.
    """
    number, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        lowest = int(column.min(initial=0))
        width = int(column.max(initial=0)) - lowest + 1
        if size * width > _MAXIMUM:
            number, size = _counted(number)
        if size * width > _MAXIMUM:
            column, width = _counted(column)
            lowest = 0
        number = number * width + (column.astype(np.int64) - lowest)
        size *= width
    return _counted(number)[0]


def n_distinct(rows: NDArray[np.integer]) -> int:
    """How many different rows there are among row numbers, none negative. O(rows), and eight bytes a row of the file.

    ``np.unique`` takes ten times as long.
    """
    return int(np.count_nonzero(np.bincount(rows)))


def _counted(values: NDArray[np.integer] | NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
    """Values as numbers without gaps, in their order, and how many there are."""
    distinct, number = np.unique(values, return_inverse=True)
    return number.astype(np.int64, copy=False), max(len(distinct), 1)
