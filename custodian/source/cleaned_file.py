"""A custodian's records read and cleaned into a working table: what is held in memory is a batch, and numbers.

What depends on the whole file is found there afterwards, from the table: whether each identifier occurs once, how many
values of a field are distinct, how many records are alike. 8 bytes a record are held for it, a hash of what is
counted; two of 20 million different values have the same one with probability 1e-5, and would be counted as one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from gemel.common.arrays import U64
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import Cleaned, Cleaning, clean
from gemel.custodian.cleaning.own_copies import (
    OwnCopies,
    counted_copies,
    enough_kept,
    kept_fields,
    links_one_of_copies,
)
from gemel.custodian.cleaning.profile import Profile
from gemel.custodian.encoding.file_records import IDENTIFIER, TableRecords, WorkingTable, variable_column
from gemel.records.registry import ROWS_AT_ONCE, read_source, source_batches
from gemel.records.sources import Source
from gemel.records.table import Found, Positions, SourceTable, check_identifiers, refuse_identifiers


@dataclass(frozen=True)
class CleanedSource:
    """A custodian's records as they are signed, and its own identifiers: String, shape (n_rows,), each there, and each
    once.
    """

    cleaned: Cleaned
    identifiers: pl.Series = field(repr=False)


def read_cleaned(source: Source, spec: Specification, side: Side) -> CleanedSource:
    """Read and clean what a specification names of a custodian's source; errors of `read_source`, `check_identifiers`,
    `clean`.
    """
    identifier = spec.custodians.of(side).identifier
    table = read_source(source, [identifier, *compared_columns(spec, side)])
    identifiers = check_identifiers(table, identifier)
    return CleanedSource(_cleaned(table, spec, side), identifiers)


def clean_file(source: Source, spec: Specification, side: Side) -> Cleaned:
    """Read and clean a file for a trial, in which rows need no identifiers."""
    return _cleaned(read_source(source, compared_columns(spec, side)), spec, side)


def _cleaned(table: SourceTable, spec: Specification, side: Side) -> Cleaned:
    return clean(table.frame, spec, side, table.places)


def compared_columns(spec: Specification, side: Side) -> list[str]:
    """The columns that become fields and variables of a custodian, each once."""
    names = [name for field in spec.fields for name in field.columns_of(side)]
    return list(dict.fromkeys([*names, *(variable.column_of(side) for variable in spec.variables_of(side))]))


_POSITION = "+position"
_REFERENCE = 16
"""Bytes of each text in a column besides its own."""
_AT_ONCE = 1 << 20
_FEW = 1_000_000
"""Identifiers that are compared themselves where their hashes are equal; of more the hashes are believed."""


Stage = Callable[[str], AbstractContextManager[None]]
"""Entered around a stage of the work, by its name."""


@dataclass(frozen=True)
class CleanedFile:
    """A custodian's records as they are signed, outside memory.

    `profile` is what cleaning did, in counts; `copies` records that are alike, None where the specification does not
    ask; `text_bytes` the bytes that the columns of the fields would take in memory.
    """

    records: TableRecords
    profile: Profile
    copies: OwnCopies | None
    text_bytes: int

    @property
    def n_rows(self) -> int:
        return self.records.n_rows

    def columns(self, spec: Specification) -> dict[str, pl.Series]:
        """The fields' values, in memory."""
        return self._held({field.name: field.name for field in spec.fields})

    def variables(self) -> dict[str, pl.Series]:
        """The places of the categories by variable, in memory."""
        return self._held({name: variable_column(name) for name in self.records.variables})

    def identifiers(self) -> pl.Series:
        """The custodian's own identifiers, in memory."""
        return self._held({IDENTIFIER: IDENTIFIER})[IDENTIFIER]

    def _held(self, names: dict[str, str]) -> dict[str, pl.Series]:
        if not names:
            return {}
        frame = pl.concat(self.records.table.batches(list(names.values())))
        return {name: frame.get_column(column).alias(name) for name, column in names.items()}


def read_into(
    table: WorkingTable, source: Source, spec: Specification, side: Side, stage: Stage, *, rows: int = ROWS_AT_ONCE
) -> CleanedFile:
    """Read the columns that a specification names from a custodian's source, and clean them, batch by batch.

    The table receives the records; the caller erases it. `stage` is entered around ``read`` and ``clean`` of each batch
    of `rows` at most, on which nothing depends. Errors are those of `source_batches` and `Cleaning`, and
    DUPLICATE_IDENTIFIER unless each row has an identifier of its own.
    """
    identifier, held = spec.custodians.of(side).identifier, [v.name for v in spec.variables_of(side)]
    batches = source_batches(source, [identifier, *compared_columns(spec, side)], rows)
    cleaning, without = Cleaning(spec, side), Found()
    text_bytes, where = 0, ""
    names = [field.name for field in spec.fields]
    while True:
        with stage("read"):
            batch = next(batches, None)
        if batch is None:
            break
        with stage("clean"):
            frame = _cleaned_batch(batch, cleaning, identifier)
            without.add(batch.places, frame[IDENTIFIER].is_null().to_numpy())
            text_bytes += int(frame.select(names).estimated_size()) + _REFERENCE * len(names) * frame.height
            table.append(frame)
            unit, where = batch.unit, batch.where
    with stage("clean"):
        _check_identifiers(table, identifier, where, unit, without)
        distinct, copies = _counts(table, spec, side)
        return CleanedFile(TableRecords(table, held), cleaning.profile(distinct), copies, text_bytes)


def _cleaned_batch(batch: SourceTable, cleaning: Cleaning, identifier: str) -> pl.DataFrame:
    columns, variables = cleaning.batch(batch.frame, batch.places)
    places = {variable_column(name): column for name, column in variables.items()}
    own = batch.frame.get_column(identifier)
    return pl.DataFrame({**columns, **places, IDENTIFIER: own, _POSITION: batch.positions})


def of_rows(table: WorkingTable, names: Sequence[str], number: Callable[[pl.DataFrame], U64]) -> U64:
    """A number of every row, by those of a batch's rows from some columns; shape (n_rows,)."""
    found = np.empty(table.n_rows, dtype=np.uint64)
    before = 0
    for batch in table.batches(names):
        found[before : before + batch.height] = number(batch)
        before += batch.height
    return found


def hashes(table: WorkingTable, names: Sequence[str], seed: int) -> U64:
    """A hash of some columns of every row, equal for equal values; shape (n_rows,)."""
    return of_rows(table, names, lambda batch: batch.hash_rows(seed=seed).to_numpy())


def distinct_and_pairs(found: U64) -> tuple[int, int]:
    """How many different numbers there are, and how many pairs of equal ones; the array is sorted."""
    found.sort()
    distinct = pairs = open_run = 0
    for begin in range(0, len(found), _AT_ONCE):
        part = found[begin : begin + _AT_ONCE]
        begins = np.flatnonzero(part[1:] != part[:-1]) + 1
        goes_on = begin > 0 and part[0] == found[begin - 1]
        lengths = np.diff(begins, prepend=0, append=len(part))
        if goes_on:
            lengths[0] += open_run
            pairs -= open_run * (open_run - 1) // 2
        distinct += len(lengths) - int(goes_on)
        pairs += int((lengths * (lengths - 1)).sum()) // 2
        open_run = int(lengths[-1])
    return distinct, pairs


def _counts(table: WorkingTable, spec: Specification, side: Side) -> tuple[dict[str, int], OwnCopies | None]:
    """Distinct values by field, and the records that are alike."""
    names, seed = [field.name for field in spec.fields], secrets.randbits(63)
    missing = dict.fromkeys(names, 0)
    for batch in table.batches(names):
        missing |= {name: missing[name] + batch[name].null_count() for name in names}
    distinct: dict[str, int] = {}
    alone: dict[str, int] = {}
    for name in names:
        distinct[name], alone[name] = distinct_and_pairs(hashes(table, [name], seed))
        distinct[name] -= missing[name] > 0
    if not links_one_of_copies(spec, side):
        return distinct, None

    kept = kept_fields(spec)
    enough = np.concatenate([enough_kept(batch, kept) for batch in table.batches(names)])

    def pairs(chosen: Sequence[str]) -> int:
        return distinct_and_pairs(hashes(table, chosen, seed)[enough])[1]

    return distinct, counted_copies(table.n_rows, alone, kept, pairs)


def _check_identifiers(table: WorkingTable, column: str, where: str, unit: str, without: Found) -> None:
    """Refuse rows without an identifier of their own; identifiers with equal hashes are compared themselves."""
    seed = secrets.randbits(63)
    found = hashes(table, [IDENTIFIER], seed)
    found.sort()
    again = np.unique(found[1:][found[1:] == found[:-1]])
    del found
    repeated, distinct = Found(), 0
    if len(again):
        believed = len(again) > _FEW
        suspects: list[pl.DataFrame] = []
        for batch in table.batches([IDENTIFIER, _POSITION]):
            alike = np.isin(batch.select(IDENTIFIER).hash_rows(seed=seed).to_numpy(), again)
            some = batch.filter(pl.Series(alike) & batch[IDENTIFIER].is_not_null())
            if believed:
                repeated.add(Positions(some[_POSITION].to_numpy(), unit), np.ones(some.height, dtype=np.bool_))
            else:
                suspects.append(some)
        if believed:
            distinct = len(again) - (without.count > 1)  # rows without one are alike too
        else:
            those = pl.concat(suspects)
            twice = those.filter(those[IDENTIFIER].is_duplicated())
            repeated.add(Positions(twice[_POSITION].to_numpy(), unit), np.ones(twice.height, dtype=np.bool_))
            distinct = twice[IDENTIFIER].n_unique()
    refuse_identifiers(column, where, without, repeated, distinct)
