"""The layout of a contribution before anything is signed: from a specification and the counts of a file.

A contribution's bytes follow from its layout, and this from how many rows each rule has and how many different values
these have within their blocks. Both can be counted in a file, or bounded by its number of records alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import polars as pl

from gemel.common.arrays import Columns
from gemel.common.parties import Side
from gemel.common.signatures.intervals import WHOLE, Interval, intervals
from gemel.common.signatures.layout import (
    CODES,
    GROUPS,
    SAMPLES,
    Content,
    FieldLayout,
    Layout,
    SetLayout,
    VariableLayout,
    fixed_fields,
    group_rows,
    known_layouts,
    sample_rows,
)
from gemel.common.specification import BlockingRule, Specification
from gemel.common.specification.model.blocking import MAX_ROWS as PADDED_ROWS
from gemel.custodian.cleaning.parts import salt_text
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.padding import padded_size

WHOLE_FILE = ""
"""Name of the one set of modes open and trusted, among the rules."""
KEY = "+key"
"""Column of blocking keys beside those of the fields, none of which can have this name."""


@dataclass(frozen=True)
class FileCounts:
    """What the layout of a file's contribution follows from.

    `records`: of the file, without decoys; `rows`: by rule (`WHOLE_FILE` in modes open and trusted) those that have a
    key, with decoys and dummies; `distinct`: by rule and field the signatures of its rows, different values, each once
    in a block or salt; `different`: by field its values in the whole file, at least one; `counted`: in a file of this
    size; otherwise all are upper bounds.
    """

    records: int
    rows: Mapping[str, int]
    distinct: Mapping[tuple[str, str], int] = dataclass_field(repr=False)
    different: Mapping[str, int] = dataclass_field(repr=False)
    counted: bool = True

    def of_size(self, records: int) -> FileCounts:
        """Of a file of another size: rows in proportion, and signatures too, of which a larger file has fewer."""
        if records == self.records:
            return self
        factor = records / max(1, self.records)
        rows = {rule: math.ceil(n * factor) for rule, n in self.rows.items()}
        distinct = {(rule, name): min(rows[rule], math.ceil(n * factor)) for (rule, name), n in self.distinct.items()}
        different = {name: max(1, math.ceil(n * factor)) for name, n in self.different.items()}
        return FileCounts(records, rows, distinct, different, counted=False)


def bounded_counts(records: int, spec: Specification) -> FileCounts:
    """Upper bounds for any file of so many records: as if no value were missing and no two of a block were equal."""
    sent = records + spec.decoys
    rows = dict.fromkeys(sets_of(spec), sent * (PADDED_ROWS if spec.padding is not None else 1))
    distinct = {(rule, field.name): n for rule, n in rows.items() for field in spec.fields}
    return FileCounts(records, rows, distinct, {field.name: sent for field in spec.fields}, counted=False)


def file_counts(columns: Columns, spec: Specification) -> FileCounts:
    """Counts of a file, from cleaned values by field, null where missing; decoys are not among them.

    A value without tokens, or with those of another, is counted, though it has no signature of its own; dummies, and
    decoys, as if all their values were different. Sorts each field once for each rule.
    """
    frame = pl.DataFrame({field.name: columns[field.name] for field in spec.fields})
    records = frame.height
    rows: dict[str, int] = {}
    distinct: dict[tuple[str, str], int] = {}
    if not spec.in_blocks:
        rows[WHOLE_FILE] = records + spec.decoys
        for field in spec.fields:
            salt = salt_text(columns, spec, field)
            values = pl.DataFrame({"value": columns[field.name], **({} if salt is None else {"salt": salt})})
            distinct[WHOLE_FILE, field.name] = values.drop_nulls().n_unique() + spec.decoys
    for rule in spec.keyed_rules if spec.in_blocks else ():
        key = key_text(columns, spec, rule, split=True).alias(KEY)
        own = pl.DataFrame([key, *(columns[name].alias(name) for name in frame.columns)]).filter(key.is_not_null())
        sizes = own[KEY].value_counts(name="rows")["rows"].cast(pl.Int64).to_numpy()
        dummies = int((padded_size(sizes) - sizes).sum()) if spec.padding is not None else 0
        rows[rule.name] = own.height + spec.decoys + dummies
        for name in frame.columns:
            signatures = own.select(KEY, name).drop_nulls().n_unique() if own.height else 0
            distinct[rule.name, name] = min(rows[rule.name], signatures + spec.decoys + dummies)
    different = {name: max(1, frame[name].drop_nulls().n_unique()) for name in frame.columns}
    return FileCounts(records, rows, distinct, different)


def expected_layout(counts: FileCounts, spec: Specification, side: Side) -> Layout:
    """The layout of a contribution of these counts.

    Exact where the counts are, as long as a rule has one set (up to `INTERVAL_ROWS` rows); in several the rows are
    taken to be spread evenly, and paddings of up to 4 bytes an array may differ. Signatures of the samples are counted
    as if their values were as different as they can be.
    """
    variables = tuple(VariableLayout(each.name, len(each.categories)) for each in spec.variables_of(side))
    if not spec.in_blocks:
        content: Content = "values" if spec.mode == "trusted" else "signatures"
        distinct = {field.name: counts.distinct[WHOLE_FILE, field.name] for field in spec.fields}
        fields = tuple(FieldLayout(field.name, field.bits, distinct[field.name], content) for field in spec.fields)
        rules = tuple(rule.name for rule in spec.keyed_rules)
        whole = SetLayout(WHOLE_FILE, counts.rows[WHOLE_FILE], fields, rules, variables)
        return Layout((whole, *known_layouts(spec, side)))
    sets = [part for rule in spec.keyed_rules for part in _sets_of_rule(rule, counts, spec)]
    of_groups = {name: GROUPS * min(group_rows(counts.records), n) for name, n in counts.different.items()}
    drawn = tuple(FieldLayout(field.name, field.bits, of_groups[field.name]) for field in spec.fields)
    sets.append(SetLayout(SAMPLES, sample_rows(counts.records), drawn))
    if spec.mode == "shared":
        sets = [shared_layout(part, spec) for part in sets]
    if spec.variables:
        sets.append(SetLayout(CODES, counts.records, (), (), variables))
    return Layout((*sets, *known_layouts(spec, side)), counts.records)


def shared_layout(part: SetLayout, spec: Specification) -> SetLayout:
    """A set of rows or the samples of mode block_keyed as they are sent in mode shared: `shared_sets`."""
    own = part.rule != SAMPLES
    withheld = next((rule.withheld for rule in spec.keyed_rules if rule.name == part.rule), ())

    def content(field: FieldLayout) -> Content:
        if field.name in withheld:
            return "withheld"
        return "fixed" if field.content == "fixed" else "shared"

    return replace(
        part,
        fields=tuple(replace(field, distinct=0, content=content(field)) for field in part.fields),
        blocks=(part.rule,) if own else (),
        tags=tuple(rule.name for rule in spec.keyed_rules if rule.name != part.rule) if own else (),
    )


def sets_of(spec: Specification) -> tuple[str, ...]:
    """The rules whose rows are sent, or `WHOLE_FILE`."""
    return tuple(rule.name for rule in spec.keyed_rules) if spec.in_blocks else (WHOLE_FILE,)


def _sets_of_rule(rule: BlockingRule, counts: FileCounts, spec: Specification) -> list[SetLayout]:
    fixed = fixed_fields(rule, spec)
    rows = counts.rows[rule.name]
    count = intervals(rows)
    names = tuple(each.name for each in spec.keyed_rules)

    def field_layout(name: str, bits: int, number: int) -> FieldLayout:
        if name in rule.withheld:
            return FieldLayout(name, bits, 0)
        if name in fixed:
            return FieldLayout(name, bits, 0, "fixed")
        return FieldLayout(name, bits, _part(counts.distinct[rule.name, name], number, count))

    return [
        SetLayout(
            rule.name,
            _part(rows, number, count),
            tuple(field_layout(field.name, field.bits, number) for field in spec.fields),
            names,
            interval=WHOLE if count == 1 else Interval(number, count),
        )
        for number in range(count)
    ]


def _part(total: int, number: int, of: int) -> int:
    """One of `of` even parts of a number."""
    return total // of + (number < total % of)
