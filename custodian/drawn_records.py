"""Some records of a file that is too large to be measured whole, drawn so that what is measured of them is of the file.

An attack inside blocks depends on how many rows a block has, and a sample of rows would understate it. So whole blocks
are drawn under each rule, of every size as many, besides some records at random, and the commonest values of each
field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from gemel.common.arrays import F64, I64, Columns

BLOCKED_ROWS = 400
"""Rows drawn of every size of block and rule, in whole blocks: twice as many as are attacked."""
OTHER_ROWS = 4_000
"""Rows drawn besides of blocks with several rows: people whom a register has, and whose rows are not attacked."""
ANY_ROWS = 50_000
"""Records drawn at random."""
COMMONEST = 20_000
"""Values of a field that are counted: three times as many as an attacker's dictionary has."""
CLASSES = 32
"""Sizes of blocks by their logarithm to the base 2, rounded down."""


@dataclass(frozen=True)
class DrawnBlocks:
    """Whole blocks of one rule.

    `attacked`, `others`: places among the drawn records, ascending, of those in blocks of every size, and of those in
    blocks of several rows drawn besides; `rows_of_size`, shape (CLASSES,): rows of the file in blocks of each size, by
    its logarithm; `own_size`: rows of the block of a row, on average over the rows of the file.
    """

    attacked: I64 = field(repr=False)
    others: I64 = field(repr=False)
    rows_of_size: F64
    own_size: float

    @property
    def n_rows(self) -> int:
        """Rows of the file that have a key under the rule."""
        return int(self.rows_of_size.sum())


@dataclass(frozen=True)
class DrawnRecords:
    """Some records of a file: `columns` are their cleaned values by field.

    `anyone`: places among them of those that were drawn at random; `variables`: places of the categories of these;
    `counts`: by field, `value` and `count` of the commonest values of the file; `blocks`: by rule; `n_records`: of the
    file.
    """

    columns: Columns = field(repr=False)
    variables: Columns = field(repr=False)
    anyone: I64 = field(repr=False)
    counts: Mapping[str, pl.DataFrame] = field(repr=False)
    blocks: Mapping[str, DrawnBlocks]
    n_records: int

    @property
    def n_drawn(self) -> int:
        return max(len(column) for column in self.columns.values())


def size_class_of(sizes: I64) -> I64:
    """Logarithm of each size to the base 2, rounded down: 0 for 1 row, 1 for 2 or 3, 2 for 4 to 7."""
    return np.log2(np.maximum(sizes, 1)).astype(np.int64)
