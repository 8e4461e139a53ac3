"""From cleaned columns to signature sets: the encoding of a custodian's records before they are sent.

Each field's distinct values are split into tokens and signed by `signing`, the rows of every set are brought into an
order of their content (`row_order`), and only these sets are sent; the orders stay with the custodian. In mode open one
set serves the whole file; in trusted mode it holds the values themselves; in mode block_keyed there are several (see
`blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.common.keys.derivation import Purpose, Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.progress import Progress
from gemel.common.signatures.fixed_fields import fixed_fields
from gemel.common.signatures.intervals import WHOLE, Interval, in_intervals
from gemel.common.signatures.layout import CODES, SAMPLES, Layout
from gemel.common.signatures.signature_sets import MISSING, FieldSignatures, SignatureSet, VariableCodes, layout_of
from gemel.common.signatures.values import pack_values
from gemel.common.specification import BlockingRule, FieldSpec, Specification
from gemel.custodian.encoding.blocking_keys import blocking_keys, keyed_digests
from gemel.custodian.encoding.blocks import blocks_and_tags
from gemel.custodian.encoding.categories import coded_variables
from gemel.custodian.encoding.columns import check_columns, check_variables, distinct_values
from gemel.custodian.encoding.padding import RuleRows, rows_of_rules
from gemel.custodian.encoding.row_order import Drawing, in_content_order
from gemel.custodian.encoding.samples import drawn_groups, grouped, value_key
from gemel.custodian.encoding.signing import PreparedField, Signer, canonical, unsigned

Jobs = dict[str, Callable[[], None]]

Place = tuple[str, Interval]
"""The set that rows are in: its rule, and the interval of the rule's blocks."""

_PREPARED = 0.1
"""Share of the work that is done when values are split into tokens and blocking keys made."""


@dataclass(frozen=True)
class Unit:
    """Some of the rows of one rule, which are signed apart from the others: those of whole intervals of its blocks.

    Attributes
    ----------
    numbers
        int64, shape (n_rows,): the number among all rows that are sent of each of these, ascending.
    intervals
        The intervals that they are in, in their order.
    """

    numbers: NDArray[np.int64] = dataclass_field(repr=False)
    intervals: Sequence[Interval]


@dataclass(frozen=True)
class Encoded:
    """The sets that a custodian sends, and the orders that it keeps.

    Attributes
    ----------
    sets
        In block-keyed mode one set per rule and interval of its blocks, in the specification's order, then the samples,
        then the codes where the specification has variables; otherwise one set.
    orders
        By rule, for each row (its pseudonym) of its sets, one after the other, the row of the file; `CODES` has one
        too, the samples have none. It never leaves the custodian.
        Row numbers past the file's rows are decoys, and those past the decoys dummies.
    records
        Records of the file in block-keyed mode, 0 otherwise: then the one set has a row for each.
    decoys
        Records of no person's among the rows; in the one set of another mode its last rows.
    """

    sets: tuple[SignatureSet, ...]
    orders: Mapping[str, NDArray[np.int64]] = dataclass_field(repr=False)
    records: int = 0
    decoys: int = 0

    @property
    def layout(self) -> Layout:
        """Sizes of the sets."""
        return layout_of(self.sets, self.records)

    @property
    def order(self) -> NDArray[np.int64]:
        """The row of the file for each row of all sets but the samples, one set after the other; codes come last."""
        names = dict.fromkeys(part.rule for part in self.sets)
        return np.concatenate([self.orders[name] for name in names if name in self.orders])


def encode_records(
    columns: Mapping[str, pl.Series],
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    variables: Mapping[str, pl.Series] = MappingProxyType({}),
    decoys: int = 0,
    shuffle: Callable[[int], NDArray[np.int64]] | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Encoded:
    """Encode a file's records as the specification's mode sends them.

    Parameters
    ----------
    columns
        Cleaned values per field of the specification, as texts, null where missing; all of one length.
    specification
        The fields, rules and mode.
    seed, epoch
        The seed the custodians agreed, and the number of that agreement.
    noise
        The custodian's own noise key. It must be there where a field has randomised response or blocks are padded; the
        order of equal rows and the choice of samples also follow from it, and are drawn at random without it.
    variables
        Places of the records' categories, by name of the variables that this custodian holds: Int32, null where
        missing.
    decoys
        How many of the last rows are decoys, which have no categories.
    shuffle
        Makes the order of a given number of rows, for fixed test records, and each rule then has one set; by default
        rows are in the order of their content, in intervals.
    threads
        Fields and rules encoded at the same time.
    progress
        Called as each field and rule is done.

    Returns
    -------
    Encoded
        The sets to send, and the orders of their rows.

    Raises
    ------
    GemelError
        FIELD_MISSING if a field has no column, EMPTY_SOURCE if there are no rows, PARAMETER if columns differ in length
        or do not hold texts, if values do not fit the field's tokenisation, if there is randomised response or padding
        and no noise key, or in mode block_keyed if there is no blocking rule.

    Notes
    -----
    O(n_rows) besides the distinct values, which cost some microseconds each at 1024 bits; of a salted field the
    distinct values of each salt. In mode block_keyed some 50 microseconds a record and rule on a core, for five fields
    of 1024 bits and 40 tokens together. Memory: the result, and about 200 MB of tables.
    """
    block_keyed = specification.in_blocks
    if block_keyed and not specification.keyed_rules:
        raise parameter("blocking", "mode block_keyed needs a blocking rule", "none")
    n_rows = check_columns(columns, specification)
    n_records = n_rows - decoys
    check_variables(variables, specification, n_records)
    if block_keyed:
        sent = rows_of_rules(columns, specification, noise, decoys)
    else:
        sent = RuleRows(columns, {"": np.arange(n_rows)}, n_records, decoys)
    coded = {}
    if not block_keyed:
        none = pl.repeat(None, decoys, dtype=pl.Int32, eager=True)
        extended = {name: pl.concat([places, none]) for name, places in variables.items()}
        coded = coded_variables(extended, np.arange(n_rows), specification, seed, epoch)
    encoded = encode_rows(
        sent, specification, seed, epoch, noise=noise, variables=coded, shuffle=shuffle, threads=threads,
        progress=progress,
    )  # fmt: skip
    if not specification.variables or not block_keyed:
        return encoded
    # Also where the other custodian holds all of them: a link is reported as two rows of these sets.
    order = np.arange(n_records) if shuffle is None else shuffle(n_records)
    codes = SignatureSet(CODES, n_records, {}, {}, coded_variables(variables, order, specification, seed, epoch))
    if shuffle is None:
        drawing = Drawing(specification.project, noise, specification.suite)
        codes, order = in_content_order(codes, order, np.zeros(n_records, dtype=np.bool_), drawing)
    return replace(encoded, sets=(*encoded.sets, codes), orders={**encoded.orders, CODES: order})


def encode_rows(
    sent: RuleRows,
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    variables: Mapping[str, VariableCodes] = MappingProxyType({}),
    samples: bool = True,
    unit: Unit | None = None,
    shuffle: Callable[[int], NDArray[np.int64]] | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Encoded:
    """Sign the rows of each set, and in mode block_keyed samples, for all rows or those of some blocks.

    As `encode_records`, but `variables` are the codes of the rows of `sent`, which the one set of modes open and
    trusted has, and samples can be left out. The rows of `sent` may be those of a unit, all under its rule: their sets
    are those that all rows would have together, and the orders have the rows' own numbers.
    """
    rules, names = specification.keyed_rules, [field.name for field in specification.fields]
    signer = Signer(specification, seed, epoch, noise)
    block_keyed = specification.in_blocks
    of_rule = {rule.name: rule for rule in rules} if block_keyed else {}
    prepared: dict[str, PreparedField] = {}
    digests: dict[str, NDArray[np.uint64]] = {}
    signed: dict[tuple[Place, str], FieldSignatures] = {}

    def prepare(field: FieldSpec) -> None:
        prepared[field.name] = signer.prepare(field, sent.columns)

    def block(rule: BlockingRule) -> None:
        key = signer.key(Purpose.BLOCKING, rule=rule.name)
        digests[rule.name] = blocking_keys(sent.columns, specification, rule, key, split=block_keyed)

    def sign(place: Place, name: str) -> None:
        part, rows = place[0], orders[place]
        if name in (of_rule[part].withheld if part in of_rule else ()):
            signed[place, name] = unsigned(prepared[name], len(rows))
        elif part in of_rule and name in fixed_fields(of_rule[part], specification):
            signed[place, name] = FieldSignatures.fixed(prepared[name].spec.bits, len(rows))
        else:
            blocks = digests[part][rows] if block_keyed else None
            signed[place, name] = signer.sign(prepared[name], rows, blocks, rule=part)

    def pack(field: FieldSpec) -> None:
        signed[("", WHOLE), field.name] = _packed(sent.columns[field.name], field, orders["", WHOLE])

    def draw(name: str) -> None:
        if shuffle is None:
            text = sent.columns[name].head(sent.n_records)
            values = keyed_digests(text, value_key(name, drawing), drawing.suite)
            drawn = drawn_groups(values, name, epoch, drawing)
        else:
            drawn = grouped(sent.n_records, lambda _: shuffle(sent.n_records))
        signed[(SAMPLES, WHOLE), name] = signer.sign_groups(prepared[name], drawn)

    drawing = Drawing(specification.project, noise, specification.suite)
    first: Jobs = {f"blocking keys {rule.name}": partial(block, rule) for rule in rules}
    if specification.mode != "trusted":
        first |= {f"prepared {field.name}": partial(prepare, field) for field in specification.fields}
    _run(first, threads, progress, 0.0, _PREPARED)
    orders: dict[Place, NDArray[np.int64]] = {}
    for part, rows in sent.rows.items():
        if block_keyed and shuffle is None:
            cut = in_intervals(rows, digests[part][rows], None if unit is None else unit.intervals[0].of)
            orders |= {(part, each): own for each, own in cut if unit is None or each in unit.intervals}
        else:
            orders[part, WHOLE] = rows if shuffle is None else rows[shuffle(len(rows))]
    if specification.mode == "trusted":
        then: Jobs = {f"packed {field.name}": partial(pack, field) for field in specification.fields}
    else:
        then = {f"signed {name}{_of(place)}": partial(sign, place, name) for place in orders for name in names}
    if block_keyed and samples:
        then |= {f"sampled {name}": partial(draw, name) for name in names}
    _run(then, threads, progress, _PREPARED, 1.0)

    by_rule = {rule.name: digests[rule.name] for rule in rules}  # jobs end in any order
    sets = []
    for place, order in list(orders.items()):
        part, interval = place
        if block_keyed:
            blocks = blocks_and_tags(part, order, by_rule, signer)
        else:
            blocks = {name: digest[order] for name, digest in by_rule.items()}
        codes = {name: VariableCodes(each.categories, each.codes[order]) for name, each in variables.items()}
        fields = {name: signed.pop((place, name)) for name in names}
        made = SignatureSet(part, len(order), fields, blocks, codes, interval)
        if shuffle is None:
            # Carole is to know which rows of a whole file are decoys, and to link without them.
            last = (order >= sent.n_records) & (not block_keyed)
            made, orders[place] = in_content_order(made, order if unit is None else unit.numbers[order], last, drawing)
        sets.append(made)
    of_parts = {
        part: np.concatenate([order for (rule, _), order in orders.items() if rule == part]) for part in sent.rows
    }
    if block_keyed and samples:
        of_fields = {name: signed[(SAMPLES, WHOLE), name] for name in names}
        sets.append(SignatureSet(SAMPLES, len(of_fields[names[0]].codes), of_fields, {}))
    return Encoded(tuple(sets), of_parts, sent.n_records if block_keyed else 0, sent.decoys)


def _of(place: Place) -> str:
    part, (number, count) = place
    if not part:
        return ""
    return f" for rule {part}" if count == 1 else f" for rule {part}, {number + 1} of {count}"


def _packed(column: pl.Series, field: FieldSpec, order: NDArray[np.int64]) -> FieldSignatures:
    """The values of one field themselves, for a trusted linkage unit."""
    values, codes = distinct_values(column.set(column == "", None))
    packed, ranks = canonical(pack_values(values, field.bits, f"field {field.name}"))
    return FieldSignatures(field.bits, packed, np.append(ranks, np.int32(MISSING))[codes[order]], "values")


def _run(jobs: Jobs, threads: int, progress: Progress | None, begin: float, end: float) -> None:
    """Run jobs in some threads, which are a share of all work; the first error cancels those that have not begun."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        running = {pool.submit(job): name for name, job in jobs.items()}
        try:
            for done, ended in enumerate(as_completed(running), 1):
                ended.result()
                if progress is not None:
                    progress(running[ended], begin + (end - begin) * done / len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
