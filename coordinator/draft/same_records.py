"""Whether two files are one: a file given twice, or a copy of it in another order."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gemel.common.parties import Side
from gemel.common.specification import FieldSpec

SAME_RECORDS = (
    "BOTH FILES HOLD THE SAME RECORDS: every record matches itself, and a linkage of them shows nothing of how two"
    " files would be linked."
)
"""What a draft or a rehearsal states then."""


def hold_the_same(alice: pl.DataFrame, bob: pl.DataFrame, fields: Sequence[FieldSpec]) -> bool:
    """Whether the rows of two files are the same in all compared columns, in whatever order.

    Notes
    -----
    Rows are compared by 64-bit hashes: two different files of a million rows would be taken for one with probability
    below 1e-6 if they differed in one row.
    """
    columns = [[name for field in fields for name in field.columns_of(side)] for side in Side]
    if alice.height != bob.height or len(columns[0]) != len(columns[1]):
        return False
    hashes = []
    for frame, names in zip((alice, bob), columns, strict=True):
        table = pl.DataFrame([frame[name].cast(pl.String).alias(str(place)) for place, name in enumerate(names)])
        hashes.append(table.hash_rows(seed=1).sort())
    return hashes[0].equals(hashes[1])
