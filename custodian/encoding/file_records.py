"""The records of a file wherever they are while it is encoded: in memory, or in a working table read some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from gemel.common.arrays import I64, Columns

IDENTIFIER = "+identifier"
"""Column of the custodian's own identifiers; no field can have this name."""


def variable_column(name: str) -> str:
    """The column of a variable's places: a field may have the variable's name."""
    return f"+variable {name}"


class FileRecords(Protocol):
    """The records of a file, in its order.

    Their columns are cleaned values by field, null where missing; by `variable_column` the places of categories, Int32,
    null where missing; and the identifiers, `IDENTIFIER`, where rows are to be mapped to them.
    """

    @property
    def n_rows(self) -> int: ...

    def gathered(self, rows: Mapping[str, I64]) -> pl.DataFrame:
        """By column, the values of some records in the order given; of each column as many."""

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all records, some records at a time."""


class HeldRecords:
    """Records in memory."""

    def __init__(self, columns: Columns, variables: Columns | None = None) -> None:
        places = {variable_column(name): column for name, column in (variables or {}).items()}
        self._columns = {**columns, **places}
        self.n_rows = max(len(column) for column in columns.values())

    def gathered(self, rows: Mapping[str, I64]) -> pl.DataFrame:
        return pl.DataFrame({name: self._columns[name].gather(pl.Series(places)) for name, places in rows.items()})

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({name: self._columns[name] for name in names})


class WorkingTable(Protocol):
    """Rows in batches, each of which belongs to a part of the table."""

    n_rows: int

    def append(self, frame: pl.DataFrame, part: int = 0) -> None:
        """Add a batch: some rows, with the same columns as those before."""

    def batches(self, columns: Sequence[str] | None = None, part: int | None = None) -> Iterator[pl.DataFrame]:
        """The batches of a part or of all, in the order in which they were added: some columns of theirs, or all."""

    def erase(self) -> None:
        """Forget the rows; nothing of them can be read afterwards."""


MakeTable = Callable[[], WorkingTable]


@dataclass(frozen=True)
class TableRecords:
    """Records in a working table, all columns of `FileRecords`, and the names of the variables among them."""

    table: WorkingTable
    variables: Sequence[str] = ()

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        return self.table.batches(names)

    def gathered(self, rows: Mapping[str, I64]) -> pl.DataFrame:
        """As `FileRecords`. Reads the columns once; memory for the result."""
        ascending = {name: np.argsort(wanted, kind="stable") for name, wanted in rows.items()}
        parts: dict[str, list[pl.Series]] = {name: [] for name in rows}
        before = 0
        for batch in self.table.batches(list(rows)):
            for name, wanted in rows.items():
                ordered = wanted[ascending[name]]
                begin, end = np.searchsorted(ordered, [before, before + batch.height])
                parts[name].append(batch[name].gather(pl.Series(ordered[begin:end] - before)))
            before += batch.height
        columns = {}
        for name, order in ascending.items():
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            columns[name] = pl.concat(parts[name]).gather(pl.Series(place))
        return pl.DataFrame(columns)
