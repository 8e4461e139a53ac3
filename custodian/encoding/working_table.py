"""Rows that are kept outside memory while a file is encoded, and read again some at a time.

Where they are is not the encoding's concern: a custodian keeps them in encrypted files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray


class WorkingTable(Protocol):
    """Rows in batches, each of which belongs to a part of the table."""

    n_rows: int

    def append(self, frame: pl.DataFrame, part: int = 0) -> None:
        """Add a batch: some rows, with the same columns as those before."""
        ...

    def batches(self, columns: Sequence[str] | None = None, part: int | None = None) -> Iterator[pl.DataFrame]:
        """The batches of a part or of all, in the order in which they were added: some columns of theirs, or all."""
        ...

    def erase(self) -> None:
        """Forget the rows; nothing of them can be read afterwards."""
        ...


MakeTable = Callable[[], WorkingTable]
"""Makes a table without rows."""


def gathered(table: WorkingTable, rows: Mapping[str, NDArray[np.int64]]) -> pl.DataFrame:
    """By column, the values of some rows in the order given; as many of each column.

    Notes
    -----
    Reads the columns once; memory for the result.
    """
    order = {name: np.argsort(own, kind="stable") for name, own in rows.items()}
    found: dict[str, list[pl.Series]] = {name: [] for name in rows}
    before = 0
    for batch in table.batches(list(rows)):
        for name, own in rows.items():
            ascending = own[order[name]]
            begin, end = np.searchsorted(ascending, [before, before + batch.height])
            found[name].append(batch[name].gather(pl.Series(ascending[begin:end] - before)))
        before += batch.height
    columns = {}
    for name, own in rows.items():
        place = np.empty(len(own), dtype=np.int64)
        place[order[name]] = np.arange(len(own))
        columns[name] = pl.concat(found[name]).gather(pl.Series(place))
    return pl.DataFrame(columns)
