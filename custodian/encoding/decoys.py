"""Decoys: records of no person's that a custodian invents from its own, to see how many are linked.

A false link joins two people who are alike, and most who are alike are kin. So a decoy is an invented member of a
household of the file: its `personal` fields, such as given name and date of birth, are those of one record, all others
those of another, and within either part values keep together as they do in the file. Where fewer than two fields are
personal, or all but one are, a random half of the fields comes from either: with nothing but its birthday changed a
decoy would be a copy of the record, and be linked with the record's own match.

A decoy is equal to no record of the file. The draws come from a key that is the custodian's own, which no other may
make, and are the same whenever the same rows are encoded: decoys newly drawn for a second upload would be recognised by
it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from gemel.common.arrays import Columns, Flags
from gemel.common.errors import parameter
from gemel.common.keys.noise import NoiseKey
from gemel.common.specification import Specification
from gemel.custodian.encoding.columns import check_columns
from gemel.custodian.encoding.file_records import FileRecords, HeldRecords
from gemel.custodian.encoding.padding import Draws

MIN_PART = 2
"""Fields of the smaller part of a household's invented member."""
_REDRAWS = 100
"""A file of which nine invented records in ten exist already still has its decoys, all but one in 40,000."""


def with_decoys(columns: Columns, specification: Specification, noise: NoiseKey) -> dict[str, pl.Series]:
    """The columns of a file with its decoys after its records, as many as the specification has.

    `columns` are cleaned values per field, null where missing. Raises as `encode_records` for the columns; PARAMETER if
    the records are so alike that what is invented from two of them nearly always exists. O(n_rows + n_decoys) for each
    field and round of draws.
    """
    check_columns(columns, specification)
    decoys = invented_records(HeldRecords(columns), specification, noise)
    return {field.name: pl.concat([columns[field.name], decoys[field.name]]) for field in specification.fields}


def invented_records(records: FileRecords, specification: Specification, noise: NoiseKey) -> pl.DataFrame:
    """The decoys of a file, as `with_decoys` adds them, by field."""
    names = [field.name for field in specification.fields]
    draws = Draws(noise.derive(specification.project, "decoys", specification.suite))
    personal = np.array([field.personal for field in specification.fields])
    decoys = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    for _ in range(_REDRAWS):
        missing = specification.decoys - decoys.height
        if not missing:
            return decoys
        invented = _invented(records, names, personal, missing, draws)
        exists = np.zeros(missing, dtype=np.bool_)
        numbered = invented.with_row_index("+number")
        for batch in records.batches(names):
            exists[numbered.join(batch, on=names, how="semi", nulls_equal=True)["+number"].to_numpy()] = True
        decoys = pl.concat([decoys, invented.filter(pl.Series(~exists))])
    got = f"{decoys.height} of {specification.decoys} decoys that equal no record"
    remedy = "compare more fields, or agree on a specification without decoys"
    raise parameter("quality.decoys", "the file's records are too alike to invent others from them", got, remedy)


def _invented(records: FileRecords, names: Sequence[str], personal: Flags, n: int, draws: Draws) -> pl.DataFrame:
    """Some records, each of the parts of two different ones: of one only where the file has no other."""
    n_records, n_fields = records.n_rows, len(names)
    household = (draws.uniform(n) * n_records).astype(np.int64)
    steps = 1 + (draws.uniform(n) * (n_records - 1)).astype(np.int64)
    person = (household + steps) % n_records
    if min(personal.sum(), (~personal).sum()) >= MIN_PART:
        of_person = np.tile(personal, (n, 1))
    else:
        rank = draws.uniform(n * n_fields).reshape(n, n_fields).argsort(axis=1).argsort(axis=1)
        of_person = rank < max(1, n_fields // 2)
    sources = np.where(of_person, person[:, None], household[:, None])
    return records.gathered({name: sources[:, q] for q, name in enumerate(names)})
