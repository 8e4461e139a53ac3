"""What tests of encodings have in common: columns, rows by their signatures, and a working table in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.custodian.encoding.records import Encoded


def series(columns: Mapping[str, Sequence[str | None]]) -> dict[str, pl.Series]:
    return {name: pl.Series(name, values, dtype=pl.String) for name, values in columns.items()}


def rows_of(part: SignatureSet, name: str) -> list[bytes | None]:
    """A field's signature per row."""
    field = part.fields[name]
    return [field.signatures[code].tobytes() if code >= 0 else None for code in field.codes]


def n_signed(made: Encoded) -> int:
    """Rows with signatures, the samples' apart: in `order` they come first."""
    return sum(len(order) for name, order in made.orders.items() if name != CODES)


def n_dummies(made: Encoded) -> int:
    """Number of dummy rows."""
    return int(np.count_nonzero(made.order >= made.records + made.decoys)) if made.records else 0


# A working table that is held in memory, for tests.


class TableInMemory:
    """As `gemel.custodian.encoding.file_records.WorkingTable`."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._batches: list[tuple[int, pl.DataFrame]] = []

    def append(self, frame: pl.DataFrame, part: int = 0) -> None:
        """As `WorkingTable`."""
        self.n_rows += frame.height
        self._batches.append((part, frame))

    def batches(self, columns: Sequence[str] | None = None, part: int | None = None) -> Iterator[pl.DataFrame]:
        """As `WorkingTable`."""
        for own, frame in self._batches:
            if part in (None, own):
                yield frame if columns is None else frame.select(columns)

    def erase(self) -> None:
        """As `WorkingTable`."""
        self._batches = []
