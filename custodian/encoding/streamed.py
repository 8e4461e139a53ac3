"""The encoding of a file that is not held in memory: the sets of `encode_records`, byte for byte, some at a time.

Each rule's rows are first laid out by the first bits of their blocks' digests, in one pass over the file, and then
read, signed and passed on in *units* of whole intervals. What follows from the whole file is held: 8 bytes a record for
a field's sample, the codes to be sorted, and where blocks are padded the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from typing import Generic, TypeVar

import numpy as np
import polars as pl

from gemel.common.arrays import I32, I64
from gemel.common.errors import parameter
from gemel.common.keys.derivation import Purpose, Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.progress import Progress
from gemel.common.signatures.intervals import Interval, interval_of, intervals
from gemel.common.signatures.layout import MAX_ROWS
from gemel.common.signatures.signature_sets import NO_KEY, SignatureSet
from gemel.common.specification import BlockingRule, Specification
from gemel.custodian.encoding.blocking_keys import blocking_keys
from gemel.custodian.encoding.decoys import invented_records
from gemel.custodian.encoding.file_records import IDENTIFIER, MakeTable, TableRecords, WorkingTable
from gemel.custodian.encoding.padding import RuleRows, rows_of_rules
from gemel.custodian.encoding.records import Encoding, report_part
from gemel.custodian.encoding.rows_of_mode import Unit

_NUMBER = "+number"
_PLACE = "+place"
_CODES_ROWS = 1 << 20
S = TypeVar("S")


@dataclass(frozen=True)
class Portion(Generic[S]):
    """The next sets of a contribution, in the order of its payload.

    `order`, int64, has for each of their rows the record of the file; past its end are decoys, and after these dummies;
    a sample has no rows here. `identifiers` has theirs, null for decoys and dummies, in parts.
    """

    sets: tuple[S, ...]
    order: I64 = dataclass_field(repr=False)
    identifiers: Iterator[pl.Series] = dataclass_field(repr=False)


def encode_table(
    records: TableRecords,
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey,
    make: MakeTable,
    unit_rows: int,
    threads: int = 2,
    progress: Progress | None = None,
) -> Iterator[Portion[SignatureSet]]:
    """Encode a file's records in mode block_keyed, as `encode_records` does with the decoys of the specification.

    `unit_rows` are signed at a time, if these are whole intervals; fewer than an interval has are those of one. A
    portion's identifiers are read before the next portion is asked for. Memory for a unit, for 8 bytes a record, and
    for some 40 bytes a record where there are variables.
    """
    encoding = Encoding(specification, seed, epoch, noise, threads=threads)
    if not 0 < records.n_rows <= MAX_ROWS:
        raise parameter("records", f"a file has 1 to {MAX_ROWS} rows", str(records.n_rows))
    streamed = _Streamed(records, encoding, make, unit_rows)
    doing = progress or (lambda name, done: None)
    rules = specification.keyed_rules
    decoys = invented_records(records, specification, noise) if specification.decoys else None
    padded = None if specification.padding is None else streamed.padded(decoys, noise)
    for place, rule in enumerate(rules):
        batches = streamed.numbered(decoys) if padded is None else padded.batches(rule, unit_rows)
        doing(f"laid out for rule {rule.name}", place / len(rules))
        laid, ranges = streamed.laid_out(rule, batches, records.n_rows if padded is None else len(padded.identifiers))
        try:
            part = partial(report_part, doing, place / len(rules), (place + 1) / len(rules))
            yield from streamed.units(rule, laid, ranges, part)
        finally:
            laid.erase()
    padded = None
    yield Portion((encoding.samples(records),), np.empty(0, dtype=np.int64), iter(()))
    if specification.variables:
        yield from streamed.codes()


@dataclass(frozen=True)
class _Padded:
    """Records, decoys and dummies in memory, where blocks are padded."""

    sent: RuleRows
    identifiers: pl.Series

    def batches(self, rule: BlockingRule, rows: int) -> Iterator[pl.DataFrame]:
        """The rows of a rule with their numbers, some at a time."""
        numbers = self.sent.rows[rule.name]
        for begin in range(0, max(1, len(numbers)), rows):
            here = pl.Series(numbers[begin : begin + rows])
            columns = {name: column.gather(here) for name, column in self.sent.columns.items()}
            yield pl.DataFrame({**columns, IDENTIFIER: self.identifiers.gather(here), _NUMBER: here})


class _Streamed:
    """The rows of a file on their way through working tables into units."""

    def __init__(self, records: TableRecords, encoding: Encoding, make: MakeTable, unit_rows: int) -> None:
        self._records, self._encoding, self._make, self._unit_rows = records, encoding, make, unit_rows
        self._names = [field.name for field in encoding.specification.fields]

    def numbered(self, decoys: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
        """All records with their numbers, and then the decoys."""
        before = 0
        for batch in self._records.batches([*self._names, IDENTIFIER]):
            yield batch.with_columns(pl.Series(_NUMBER, np.arange(before, before + batch.height)))
            before += batch.height
        if decoys is not None:
            numbers = pl.Series(_NUMBER, np.arange(before, before + decoys.height))
            yield decoys.select(*self._names, pl.lit(None, dtype=pl.String).alias(IDENTIFIER), numbers)

    def padded(self, decoys: pl.DataFrame | None, noise: NoiseKey) -> _Padded:
        """The rows of all rules with dummies, in memory."""
        frame = pl.concat(self.numbered(decoys))
        columns = {name: frame.get_column(name) for name in self._names}
        sent = rows_of_rules(columns, self._encoding.specification, noise, 0 if decoys is None else decoys.height)
        dummies = max(len(column) for column in sent.columns.values()) - frame.height
        none = pl.repeat(None, dummies, dtype=pl.String, eager=True)
        return _Padded(sent, pl.concat([frame.get_column(IDENTIFIER), none]))

    def laid_out(self, rule: BlockingRule, batches: Iterator[pl.DataFrame], n_rows: int) -> tuple[WorkingTable, int]:
        """The rows that have a key under a rule, in parts by the first bits of their blocks' digests; how many parts.

        Within a part rows are in the order of their numbers.
        """
        ranges = min(intervals(n_rows), 1 << max(0, -(-n_rows // self._unit_rows) - 1).bit_length())
        key = self._encoding.signer.key(Purpose.BLOCKING, rule=rule.name)
        laid = self._make()
        for batch in batches:
            columns = {name: batch[name] for name in rule.fields}
            digests = blocking_keys(columns, self._encoding.specification, rule, key, split=True)
            here = np.flatnonzero(digests != NO_KEY)
            part = interval_of(digests[here], ranges)
            order = np.argsort(part, kind="stable")
            ordered = batch.select(*self._names, IDENTIFIER, _NUMBER)[here[order]]
            ends = np.cumsum(np.bincount(part, minlength=ranges))
            for number, end in enumerate(ends.tolist()):
                begin = int(ends[number - 1]) if number else 0
                if end > begin:
                    laid.append(ordered[begin:end], number)
        return laid, ranges

    def units(
        self, rule: BlockingRule, laid: WorkingTable, ranges: int, progress: Progress
    ) -> Iterator[Portion[SignatureSet]]:
        """The sets of a rule, some whole intervals at a time, each made of all rows that are in them."""
        count = intervals(laid.n_rows)
        units = min(ranges, count)
        nothing = pl.DataFrame(schema={**dict.fromkeys([*self._names, IDENTIFIER], pl.String), _NUMBER: pl.Int64})
        for number in range(units):
            parts = range(number * ranges // units, (number + 1) * ranges // units)
            frame = pl.concat([nothing, *(batch for part in parts for batch in laid.batches(part=part))])
            if len(parts) > 1:
                frame = frame.sort(_NUMBER)
            places = range(number * count // units, (number + 1) * count // units)
            numbers, identifiers = frame.get_column(_NUMBER).to_numpy(), frame.get_column(IDENTIFIER)
            columns = {name: frame.get_column(name) for name in self._names}
            sent = RuleRows(columns, {rule.name: np.arange(frame.height)}, self._records.n_rows)
            del frame
            unit = Unit(numbers, [Interval(place, count) for place in places])
            part = partial(report_part, progress, number / units, (number + 1) / units)
            made = self._encoding.rows(sent, unit=unit, progress=part)
            order = made.orders[rule.name]
            yield Portion(made.sets, order, iter([identifiers.gather(pl.Series(np.searchsorted(numbers, order)))]))

    def codes(self) -> Iterator[Portion[SignatureSet]]:
        """The set of codes, and the records of its rows."""
        made, order = self._encoding.codes(self._records, self._records.variables)
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        by_place = self._make()
        try:
            yield Portion((made,), order, self._by_place(place, by_place))
        finally:
            by_place.erase()

    def _by_place(self, place: I32, by_place: WorkingTable) -> Iterator[pl.Series]:
        """The identifiers, each at its place; laid out in `by_place`."""
        before = 0
        for batch in self._records.batches([IDENTIFIER]):
            placed = batch.with_columns(pl.Series(_PLACE, place[before : before + batch.height])).sort(_PLACE)
            for (part,), some in placed.group_by(pl.col(_PLACE) // _CODES_ROWS, maintain_order=True):
                by_place.append(some, int(str(part)))
            before += batch.height
        for part in range(-(-len(place) // _CODES_ROWS)):
            yield pl.concat(by_place.batches(part=part)).sort(_PLACE).get_column(IDENTIFIER)
