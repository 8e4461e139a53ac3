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
    """Rows in pieces, each of which belongs to a part of the table."""

    n_rows: int

    def append(self, frame: pl.DataFrame, part: int = 0) -> None:
        """Add a piece: some rows, with the same columns as those before."""
        ...

    def pieces(self, columns: Sequence[str] | None = None, part: int | None = None) -> Iterator[pl.DataFrame]:
        """The pieces of a part or of all, in the order in which they were added: some columns of theirs, or all."""
        ...

    def erase(self) -> None:
        """Forget the rows; nothing of them can be read afterwards."""
        ...


MakeTable = Callable[[], WorkingTable]
"""Makes a table without rows."""


class TableInMemory:
    """A table that is held in memory, for files that are known to be small."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._pieces: list[tuple[int, pl.DataFrame]] = []

    def append(self, frame: pl.DataFrame, part: int = 0) -> None:
        """As `WorkingTable`."""
        self.n_rows += frame.height
        self._pieces.append((part, frame))

    def pieces(self, columns: Sequence[str] | None = None, part: int | None = None) -> Iterator[pl.DataFrame]:
        """As `WorkingTable`."""
        for own, frame in self._pieces:
            if part in (None, own):
                yield frame if columns is None else frame.select(columns)

    def erase(self) -> None:
        """As `WorkingTable`."""
        self._pieces = []


def gathered(table: WorkingTable, rows: Mapping[str, NDArray[np.int64]]) -> pl.DataFrame:
    """By column, the values of some rows in the order given; as many of each column.

    Notes
    -----
    Reads the columns once; memory for the result.
    """
    order = {name: np.argsort(own, kind="stable") for name, own in rows.items()}
    found: dict[str, list[pl.Series]] = {name: [] for name in rows}
    before = 0
    for piece in table.pieces(list(rows)):
        for name, own in rows.items():
            ascending = own[order[name]]
            begin, end = np.searchsorted(ascending, [before, before + piece.height])
            found[name].append(piece[name].gather(pl.Series(ascending[begin:end] - before)))
        before += piece.height
    columns = {}
    for name, own in rows.items():
        place = np.empty(len(own), dtype=np.int64)
        place[order[name]] = np.arange(len(own))
        columns[name] = pl.concat(found[name]).gather(pl.Series(place))
    return pl.DataFrame(columns)
