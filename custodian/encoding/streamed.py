"""The encoding of a file that is not held in memory: the sets of `encode_records`, byte for byte, some at a time.

What a set's bytes follow from: the rows of its interval, their values and the digests of their blocks under all rules;
the numbers of these rows, by which equal ones are ordered; and how many rows the rule has, which decides about the
intervals. So each rule's rows are first laid out by the first bits of their blocks' digests, in one pass over the file,
and then read, signed and passed on in *units* of whole intervals. Two things follow from the whole file: a field's
sample, for which 8 bytes a record are held, one field after the other; and the order of codes, which is sorted at once.
Dummies do so too: where blocks are padded the columns are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.common.keys.derivation import Purpose, Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.progress import Progress
from gemel.common.signatures.intervals import Interval, interval_of, intervals
from gemel.common.signatures.layout import CODES, MAX_ROWS, SAMPLES
from gemel.common.signatures.signature_sets import NO_KEY, SignatureSet, VariableCodes
from gemel.common.specification import BlockingRule, Specification
from gemel.custodian.encoding.blocking_keys import blocking_keys, keyed_digests
from gemel.custodian.encoding.categories import coded_variables
from gemel.custodian.encoding.decoys import invented_records
from gemel.custodian.encoding.padding import RuleRows, rows_of_rules
from gemel.custodian.encoding.records import Unit, encode_rows
from gemel.custodian.encoding.row_order import Drawing, in_content_order
from gemel.custodian.encoding.samples import drawn_groups, value_key
from gemel.custodian.encoding.signing import Signer
from gemel.custodian.encoding.working_table import MakeTable, WorkingTable, gathered

IDENTIFIER = "+identifier"
"""Column of the custodian's own identifiers; no field can have this name."""

_NUMBER = "+number"
_PLACE = "+place"
_CODES_ROWS = 1 << 20


def variable_column(name: str) -> str:
    """The column of a variable's places: a field may have the variable's name."""
    return f"+variable {name}"


@dataclass(frozen=True)
class Records:
    """A file's records in a working table.

    Attributes
    ----------
    table
        Cleaned values by field, null where missing; the identifiers, `IDENTIFIER`; and by `variable_column` the places
        of the categories: Int32, null where missing. In the order of the file.
    variables
        Names of the variables that this custodian holds.
    """

    table: WorkingTable
    variables: Sequence[str] = ()

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return self.table.n_rows

    def gathered(self, rows: Mapping[str, NDArray[np.int64]]) -> pl.DataFrame:
        """By field, the values of some records; of each field as many."""
        return gathered(self.table, rows)

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The values of some fields of all records, some records at a time."""
        return self.table.batches(names)


@dataclass(frozen=True)
class Portion:
    """The next sets of a contribution, in the order of its payload.

    Attributes
    ----------
    sets
        To be sent.
    order
        int64: for each of their rows the record of the file; past its end are decoys, and after these dummies. A sample
        has no rows here.
    identifiers
        Of these, null for decoys and dummies, in parts.
    """

    sets: tuple[SignatureSet, ...]
    order: NDArray[np.int64] = dataclass_field(repr=False)
    identifiers: Iterator[pl.Series] = dataclass_field(repr=False)


def encode_table(
    records: Records,
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey,
    make: MakeTable,
    unit_rows: int,
    threads: int = 2,
    progress: Progress | None = None,
) -> Iterator[Portion]:
    """Encode a file's records in mode block_keyed, as `encode_records` does with the decoys of the specification.

    Parameters
    ----------
    records
        The file, cleaned.
    specification, seed, epoch
        As for `encode_records`.
    noise
        The custodian's own key.
    make
        Makes working tables; those that are made are erased.
    unit_rows
        Rows that are signed at a time, if these are whole intervals; fewer than an interval has are those of one.
    threads
        Sets encoded at the same time.
    progress
        Called as each unit is done.

    Yields
    ------
    Portion
        Its identifiers are read before the next portion is asked for.

    Raises
    ------
    GemelError
        As `encode_records`.

    Notes
    -----
    Memory for a unit, for 8 bytes a record, and for some 40 bytes a record where there are variables.
    """
    if not specification.keyed_rules:
        raise parameter("blocking", "mode block_keyed needs a blocking rule", "none")
    if not 0 < records.n_rows <= MAX_ROWS:
        raise parameter("records", f"a file has 1 to {MAX_ROWS} rows", str(records.n_rows))
    signing = _Signing(records, specification, seed, epoch, noise, make, threads)
    doing = progress or (lambda name, done: None)
    rules = specification.keyed_rules
    decoys = invented_records(records, specification, noise) if specification.decoys else None
    padded = None if specification.padding is None else signing.padded(decoys)
    for place, rule in enumerate(rules):
        batches = signing.numbered(decoys) if padded is None else _rows_under(padded, rule, unit_rows)
        doing(f"laid out for rule {rule.name}", place / len(rules))
        laid, ranges = signing.laid_out(rule, batches, unit_rows, records.n_rows if padded is None else padded.n_all)
        try:
            yield from signing.units(rule, laid, ranges, partial(_of_many, doing, place, len(rules)))
        finally:
            laid.erase()
    padded = None
    yield signing.samples()
    if specification.variables:
        yield from signing.codes()


def _of_many(progress: Progress, number: int, of: int, name: str, done: float) -> None:
    """Pass on the progress of one of many parts as that of the whole."""
    progress(name, (number + done) / of)


@dataclass(frozen=True)
class _Padded:
    """Records, decoys and dummies in memory, where blocks are padded."""

    sent: RuleRows
    identifiers: pl.Series

    @property
    def n_all(self) -> int:
        return len(self.identifiers)


def _rows_under(padded: _Padded, rule: BlockingRule, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a rule with their numbers, some at a time."""
    own = padded.sent.rows[rule.name]
    for begin in range(0, max(1, len(own)), rows):
        here = pl.Series(own[begin : begin + rows])
        columns = {name: column.gather(here) for name, column in padded.sent.columns.items()}
        yield pl.DataFrame({**columns, IDENTIFIER: padded.identifiers.gather(here), _NUMBER: here})


@dataclass(frozen=True)
class _Signing:
    """What is encoded, and how."""

    records: Records
    specification: Specification
    seed: Seed
    epoch: int
    noise: NoiseKey
    make: MakeTable
    threads: int

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.specification.fields]

    @property
    def signer(self) -> Signer:
        return Signer(self.specification, self.seed, self.epoch, self.noise)

    @property
    def drawing(self) -> Drawing:
        return Drawing(self.specification.project, self.noise, self.specification.suite)

    def numbered(self, decoys: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
        """All records with their numbers, and then the decoys."""
        before = 0
        for batch in self.records.table.batches([*self.names, IDENTIFIER]):
            yield batch.with_columns(pl.Series(_NUMBER, np.arange(before, before + batch.height)))
            before += batch.height
        if decoys is not None:
            numbers = pl.Series(_NUMBER, np.arange(before, before + decoys.height))
            yield decoys.select(*self.names, pl.lit(None, dtype=pl.String).alias(IDENTIFIER), numbers)

    def padded(self, decoys: pl.DataFrame | None) -> _Padded:
        """The rows of all rules with dummies, in memory."""
        frame = pl.concat(self.records.table.batches([*self.names, IDENTIFIER]))
        identifiers = frame.get_column(IDENTIFIER)
        frame = frame.select(self.names)
        n_decoys = 0 if decoys is None else decoys.height
        if decoys is not None:
            frame = pl.concat([frame, decoys.select(self.names)])
        columns = {name: frame.get_column(name) for name in self.names}
        sent = rows_of_rules(columns, self.specification, self.noise, n_decoys)
        others = max(len(column) for column in sent.columns.values()) - self.records.n_rows
        return _Padded(sent, pl.concat([identifiers, pl.repeat(None, others, dtype=pl.String, eager=True)]))

    def laid_out(
        self, rule: BlockingRule, batches: Iterator[pl.DataFrame], unit_rows: int, n_rows: int
    ) -> tuple[WorkingTable, int]:
        """The rows that have a key under a rule, in parts by the first bits of their blocks' digests; how many parts.

        Within a part rows are in the order of their numbers.
        """
        ranges = min(intervals(n_rows), 1 << max(0, -(-n_rows // unit_rows) - 1).bit_length())
        key = self.signer.key(Purpose.BLOCKING, rule=rule.name)
        laid = self.make()
        for batch in batches:
            columns = {name: batch[name] for name in rule.fields}
            digests = blocking_keys(columns, self.specification, rule, key, split=True)
            here = np.flatnonzero(digests != NO_KEY)
            part = interval_of(digests[here], ranges)
            order = np.argsort(part, kind="stable")
            ordered = batch.select(*self.names, IDENTIFIER, _NUMBER)[here[order]]
            ends = np.cumsum(np.bincount(part, minlength=ranges))
            for number, end in enumerate(ends.tolist()):
                begin = int(ends[number - 1]) if number else 0
                if end > begin:
                    laid.append(ordered[begin:end], number)
        return laid, ranges

    def units(self, rule: BlockingRule, laid: WorkingTable, ranges: int, progress: Progress) -> Iterator[Portion]:
        """The sets of a rule, some whole intervals at a time."""
        count = intervals(laid.n_rows)
        units = min(ranges, count)
        nothing = pl.DataFrame(schema={**dict.fromkeys([*self.names, IDENTIFIER], pl.String), _NUMBER: pl.Int64})
        for number in range(units):
            parts = range(number * ranges // units, (number + 1) * ranges // units)
            frame = pl.concat([nothing, *(batch for part in parts for batch in laid.batches(part=part))])
            if len(parts) > 1:
                frame = frame.sort(_NUMBER)
            places = range(number * count // units, (number + 1) * count // units)
            those = [Interval(place, count) for place in places]
            yield self.unit(rule, frame, those, partial(_of_many, progress, number, units))

    def unit(self, rule: BlockingRule, frame: pl.DataFrame, those: Sequence[Interval], progress: Progress) -> Portion:
        """The sets of some intervals of a rule, made of all rows that are in them."""
        numbers, identifiers = frame.get_column(_NUMBER).to_numpy(), frame.get_column(IDENTIFIER)
        columns = {name: frame.get_column(name) for name in self.names}
        sent = RuleRows(columns, {rule.name: np.arange(frame.height)}, self.records.n_rows)
        del frame
        made = encode_rows(
            sent, self.specification, self.seed, self.epoch, noise=self.noise, samples=False,
            unit=Unit(numbers, those), threads=self.threads, progress=progress,
        )  # fmt: skip
        order = made.orders[rule.name]
        return Portion(made.sets, order, iter([identifiers.gather(pl.Series(np.searchsorted(numbers, order)))]))

    def samples(self) -> Portion:
        """The set of samples."""
        drawing, signer = self.drawing, self.signer
        groups: dict[str, NDArray[np.int64]] = {}
        for name in self.names:
            digests = np.empty(self.records.n_rows, dtype=np.uint64)
            before = 0
            key = value_key(name, drawing)
            for batch in self.records.table.batches([name]):
                digests[before : before + batch.height] = keyed_digests(batch[name], key, drawing.suite)
                before += batch.height
            groups[name] = drawn_groups(digests, name, self.epoch, drawing)
        fields = {}
        for field in self.specification.fields:
            rows = groups[field.name].ravel()
            used = [field.name] if field.salt is None else [field.name, field.salt.field]
            drawn = self.records.gathered(dict.fromkeys(used, rows))
            prepared = signer.prepare(field, {name: drawn[name] for name in used})
            places = np.arange(len(rows)).reshape(groups[field.name].shape)
            fields[field.name] = signer.sign_groups(prepared, places)
        made = SignatureSet(SAMPLES, len(fields[self.names[0]].codes), fields, {})
        return Portion((made,), np.empty(0, dtype=np.int64), iter(()))

    def codes(self) -> Iterator[Portion]:
        """The set of codes, and the records of its rows."""
        n_records, names = self.records.n_rows, list(self.records.variables)
        codes: dict[str, list[VariableCodes]] = {}
        for batch in self.records.table.batches([variable_column(name) for name in names] or [IDENTIFIER]):
            places = {name: batch[variable_column(name)] for name in names}
            rows = np.arange(batch.height)
            for name, some in coded_variables(places, rows, self.specification, self.seed, self.epoch).items():
                codes.setdefault(name, []).append(some)
        whole = {
            name: VariableCodes(some[0].categories, np.concatenate([each.codes for each in some]))
            for name, some in codes.items()
        }
        del codes
        made = SignatureSet(CODES, n_records, {}, {}, whole)
        never = np.zeros(n_records, dtype=np.bool_)
        made, order = in_content_order(made, np.arange(n_records), never, self.drawing)
        place = np.empty(n_records, dtype=np.int32)
        place[order] = np.arange(n_records, dtype=np.int32)
        by_place = self.make()
        try:
            yield Portion((made,), order, self._by_place(place, by_place))
        finally:
            by_place.erase()

    def _by_place(self, place: NDArray[np.int32], by_place: WorkingTable) -> Iterator[pl.Series]:
        """The identifiers, each at its place; laid out in `by_place`."""
        before = 0
        for batch in self.records.table.batches([IDENTIFIER]):
            own = place[before : before + batch.height]
            placed = batch.with_columns(pl.Series(_PLACE, own)).sort(_PLACE)
            for (part,), some in placed.group_by(pl.col(_PLACE) // _CODES_ROWS, maintain_order=True):
                by_place.append(some, int(str(part)))
            before += batch.height
        for part in range(-(-len(place) // _CODES_ROWS)):
            yield pl.concat(by_place.batches(part=part)).sort(_PLACE).get_column(IDENTIFIER)
