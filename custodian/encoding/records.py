"""From cleaned columns to signature sets: the encoding of a custodian's records before they are sent.

`Encoding` prepares the values of some rows, cuts the rows into sets, signs them as the mode has it (`rows_of_mode`,
`signing`), and brings every set into an order of its content (`columns`). A file in memory is encoded at once
(`encode_records`), a larger one in portions of the same sets, byte for byte (`streamed`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import polars as pl

from gemel.common.arrays import I64, U64, Columns
from gemel.common.errors import parameter
from gemel.common.keys.derivation import Purpose, Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.progress import Progress
from gemel.common.signatures.layout import CODES, SAMPLES, Layout
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes, layout_of
from gemel.common.specification import BlockingRule, Specification
from gemel.custodian.encoding.blocking_keys import blocking_keys, keyed_digests
from gemel.custodian.encoding.categories import coded_variables
from gemel.custodian.encoding.columns import Drawing, check_columns, check_variables, in_content_order, reordered
from gemel.custodian.encoding.file_records import FileRecords, HeldRecords, variable_column
from gemel.custodian.encoding.padding import RuleRows, rows_of_rules
from gemel.custodian.encoding.rows_of_mode import RowsInBlocks, Unit, WholeFile, WholeFileOfValues
from gemel.custodian.encoding.samples import drawn_groups, grouped, value_key
from gemel.custodian.encoding.signing import Signer

Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")
_PREPARED = 0.1
"""Share of the work that is done when values are split into tokens and blocking keys made."""
_SIGNED = 0.9
"""Share of the work that is done when the rows are signed, where samples follow."""


@dataclass(frozen=True)
class Encoded:
    """The sets that a custodian sends, and the orders that it keeps.

    `sets`: in block-keyed mode one per rule and interval of its blocks, in the specification's order, then the samples,
    then the codes; otherwise one. `orders`, by rule and of `CODES`: for each row of its sets, one after the other, the
    row of the file; past the file's rows are decoys, and past these dummies. They never leave the custodian. `records`:
    of the file in block-keyed mode, otherwise 0; `decoys`: records of no person's among the rows.
    """

    sets: tuple[SignatureSet, ...]
    orders: Mapping[str, I64] = dataclass_field(repr=False)
    records: int = 0
    decoys: int = 0

    @property
    def layout(self) -> Layout:
        return layout_of(self.sets, self.records)

    @property
    def order(self) -> I64:
        """The row of the file for each row of all sets but the samples, one set after the other; codes come last."""
        names = dict.fromkeys(part.rule for part in self.sets)
        return np.concatenate([self.orders[name] for name in names if name in self.orders])


def encode_records(
    columns: Columns,
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    variables: Columns = MappingProxyType({}),
    decoys: int = 0,
    shuffle: Callable[[int], I64] | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Encoded:
    """Encode a file's records as the specification's mode sends them.

    `columns` are cleaned values per field, null where missing, all of one length, the last rows so many `decoys`;
    `variables` places of the records' categories, Int32, null where missing. The custodian's own `noise` key must be
    there where a field has randomised response or blocks are padded; without it the order of equal rows and the choice
    of samples are drawn at random. `shuffle` makes the order of a number of rows, for fixed test records, and each rule
    then has one set; `threads` fields and rules are encoded at a time.

    Raises `GemelError`: FIELD_MISSING if a field has no column, EMPTY_SOURCE if there are no rows, PARAMETER if columns
    differ in length or do not hold texts, if values do not fit the field's tokenisation, if a noise key or in mode
    block_keyed a blocking rule is missing.

    O(n_rows) besides the distinct values, which cost some microseconds each at 1024 bits. In mode block_keyed some 50
    microseconds a record and rule on a core, for five fields of 1024 bits and 40 tokens together. Memory: the result,
    and about 200 MB of tables.
    """
    encoding = Encoding(specification, seed, epoch, noise, shuffle=shuffle, threads=threads)
    n_rows = check_columns(columns, specification)
    n_records = n_rows - decoys
    check_variables(variables, specification, n_records)
    if not specification.in_blocks:
        none = pl.repeat(None, decoys, dtype=pl.Int32, eager=True)
        extended = {name: pl.concat([places, none]) for name, places in variables.items()}
        codes = coded_variables(extended, np.arange(n_rows), specification, seed, epoch)
        return encoding.rows(RuleRows(columns, {"": np.arange(n_rows)}, n_records, decoys), codes, progress=progress)
    signing = None if progress is None else partial(report_part, progress, 0.0, _SIGNED)
    encoded = encoding.rows(rows_of_rules(columns, specification, noise, decoys), progress=signing)
    records = HeldRecords({name: column.head(n_records) for name, column in columns.items()}, variables)
    sets, orders = [*encoded.sets, encoding.samples(records, progress)], dict(encoded.orders)
    if specification.variables:
        # Also where the other custodian holds all of them: a link is reported as two rows of these sets.
        codes_set, orders[CODES] = encoding.codes(records, list(variables))
        sets.append(codes_set)
    return replace(encoded, sets=tuple(sets), orders=orders)


class Encoding:
    """Encodes rows, samples and codes of one file, as `encode_records` does with the same arguments."""

    def __init__(
        self,
        specification: Specification,
        seed: Seed,
        epoch: int,
        noise: NoiseKey | None = None,
        *,
        shuffle: Callable[[int], I64] | None = None,
        threads: int = 2,
    ) -> None:
        if specification.in_blocks and not specification.keyed_rules:
            raise parameter("blocking", "mode block_keyed needs a blocking rule", "none")
        self.specification, self.seed, self.epoch = specification, seed, epoch
        self.signer = Signer(specification, seed, epoch, noise)
        self.shuffle = shuffle
        self._drawing = Drawing(specification.project, noise, specification.suite)
        self._threads = threads

    def rows(
        self,
        sent: RuleRows,
        variables: Mapping[str, VariableCodes] = MappingProxyType({}),
        *,
        unit: Unit | None = None,
        progress: Progress | None = None,
    ) -> Encoded:
        """The sets of rows.

        `variables`: the codes of the rows, which the one set of modes open and trusted has; `unit`: the rows are those
        of a unit under its rule, and have the sets and numbers that they would have among all rows.
        """
        rows = self._prepared(sent, progress)
        places, names = rows.places(unit), [field.name for field in self.specification.fields]
        jobs = {(place, name): partial(rows.signed, place, name, places[place]) for place in places for name in names}
        signed = self._run(jobs, rows.title, progress, (_PREPARED, 1.0))
        sets: list[SignatureSet] = []
        orders: dict[str, list[I64]] = {part: [] for part in sent.rows}
        for place, order in places.items():
            codes = {name: VariableCodes(coded.categories, coded.codes[order]) for name, coded in variables.items()}
            fields = {name: signed.pop((place, name)) for name in names}
            part = SignatureSet(place[0], len(order), fields, rows.keys(place, order), codes, place[1])
            if self.shuffle is None:
                numbers = order if unit is None else unit.numbers[order]
                part, order = in_content_order(part, numbers, rows.last(order), self._drawing)
            sets.append(part)
            orders[place[0]].append(order)
        whole = {part: np.concatenate(some) for part, some in orders.items()}
        return Encoded(tuple(sets), whole, sent.n_records if self.specification.in_blocks else 0, sent.decoys)

    def samples(self, records: FileRecords, progress: Progress | None = None) -> SignatureSet:
        """The samples of all fields of a file's records. Holds 8 bytes a record, for one field after the other."""
        fields = {}
        for number, field in enumerate(self.specification.fields, 1):
            groups = self._groups(records, field.name)
            names = [field.name] if field.salt is None else [field.name, field.salt.field]
            values = records.gathered(dict.fromkeys(names, groups.ravel()))
            prepared = self.signer.prepare(field, {name: values[name] for name in names})
            fields[field.name] = self.signer.sign_groups(prepared, np.arange(groups.size).reshape(groups.shape))
            if progress is not None:
                report_part(progress, _SIGNED, 1.0, f"sampled {field.name}", number / len(self.specification.fields))
        return SignatureSet(SAMPLES, groups.size, fields, {})

    def codes(self, records: FileRecords, names: Sequence[str]) -> tuple[SignatureSet, I64]:
        """The set of all records' codes, and for each of its rows the record; some 40 bytes a record in memory."""
        codes: dict[str, list[VariableCodes]] = {}
        for batch in records.batches([variable_column(name) for name in names]) if names else ():
            places = {name: batch[variable_column(name)] for name in names}
            coded = coded_variables(places, np.arange(batch.height), self.specification, self.seed, self.epoch)
            for name, some in coded.items():
                codes.setdefault(name, []).append(some)
        whole = {
            name: replace(some[0], codes=np.concatenate([one.codes for one in some])) for name, some in codes.items()
        }
        made = SignatureSet(CODES, records.n_rows, {}, {}, whole)
        if self.shuffle is not None:
            order = self.shuffle(records.n_rows)
            return reordered(made, order), order
        never = np.zeros(records.n_rows, dtype=np.bool_)
        return in_content_order(made, np.arange(records.n_rows), never, self._drawing)

    def _prepared(self, sent: RuleRows, progress: Progress | None) -> WholeFile:
        """The rows with their values split into tokens, and the digests of their blocking keys."""
        keyed = self.specification.keyed_rules
        fields = () if self.specification.mode == "trusted" else self.specification.fields
        between = _PREPARED * len(keyed) / max(1, len(keyed) + len(fields))
        keys = {rule.name: partial(self._digests, rule, sent.columns) for rule in keyed}
        digests = self._run(keys, lambda name: f"blocking keys {name}", progress, (0.0, between))
        values = {field.name: partial(self.signer.prepare, field, sent.columns) for field in fields}
        prepared = self._run(values, lambda name: f"prepared {name}", progress, (between, _PREPARED))
        of_mode = {"open": WholeFile, "trusted": WholeFileOfValues}.get(self.specification.mode, RowsInBlocks)
        return of_mode(self.specification, self.signer, self.shuffle, sent, prepared, digests)

    def _digests(self, rule: BlockingRule, columns: Columns) -> U64:
        key = self.signer.key(Purpose.BLOCKING, rule=rule.name)
        return blocking_keys(columns, self.specification, rule, key, split=self.specification.in_blocks)

    def _groups(self, records: FileRecords, name: str) -> I64:
        """The records in each group of a field's sample."""
        if self.shuffle is not None:
            shuffle = self.shuffle
            return grouped(records.n_rows, lambda _: shuffle(records.n_rows))
        key, drawing = value_key(name, self._drawing), self._drawing
        digests = [keyed_digests(batch[name], key, drawing.suite) for batch in records.batches([name])]
        return drawn_groups(np.concatenate(digests), name, self.epoch, drawing)

    def _run(
        self,
        jobs: Mapping[Key, Callable[[], Made]],
        title: Callable[[Key], str],
        progress: Progress | None,
        span: tuple[float, float],
    ) -> dict[Key, Made]:
        """What jobs make, run in some threads, a span of all work; the first error cancels those not yet begun."""
        with ThreadPoolExecutor(max_workers=self._threads) as pool:
            running = {pool.submit(job): name for name, job in jobs.items()}
            try:
                for done, ended in enumerate(as_completed(running), 1):
                    ended.result()
                    if progress is not None:
                        report_part(progress, *span, title(running[ended]), done / len(jobs))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return {name: ended.result() for ended, name in running.items()}


def report_part(progress: Progress, begin: float, end: float, name: str, done: float) -> None:
    """Pass on the progress of a part of the work as that of the whole."""
    progress(name, begin + (end - begin) * done)
