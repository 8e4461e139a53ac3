"""What a mode decides about rows that are encoded: their sets, what is signed of them, and what is sent beside it.

In mode block_keyed a record is signed once per blocking rule: the block's digest enters every token's code, so that
Carole can compare two values inside a block and nowhere else. Anything that joins a record's rows under several rules
would undo this, so each rule's set has rows of its own: in an order of its own, under pseudonyms that mean nothing in
another set, signed under the rule's own keys. A record without a key under a rule has no row there.

A pair that satisfies two rules must be counted once, and m of a field is estimated from rules without it. Every row
therefore has, for each other rule, a *tag*: a pseudo-random function of its block and its key under that rule. Two rows
of a block have the same tag when they agree on the other rule too; tags of different blocks have nothing in common.
Tags for earlier rules alone would suffice for counting once, but reveal hardly less: that two rows of a block agree on
a rule's fields is visible in the fields' signatures. Where a rule withholds a field, the tag for another rule made of
it shows agreement on all its keys.

Chance agreement is estimated from *samples* of each field's values, in small groups under keys that are used for
nothing else (`samples`). Codes of category variables hold for the whole file, and would join a record's rows across
rules: they have a set of their own, every record once, shuffled separately. The resolver reports which of its rows are
links, so that the linked records' codes can be assessed; nothing joins them to rows of a rule.

A rule's `split` always enters its blocking key here. To split large blocks only, both custodians would have to know
which are large in either file, and exchanging this would reveal common values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import ClassVar

import numpy as np

from gemel.common.arrays import I64, U64, Flags
from gemel.common.keys.bulk import pseudo_random
from gemel.common.keys.derivation import Purpose
from gemel.common.keys.suite import Suite
from gemel.common.signatures.intervals import WHOLE, Interval, in_intervals
from gemel.common.signatures.layout import fixed_fields
from gemel.common.signatures.signature_sets import INSTEAD_OF_ZERO, MISSING, NO_KEY, FieldSignatures, pack_values
from gemel.common.specification import Specification
from gemel.custodian.encoding.columns import distinct_values
from gemel.custodian.encoding.padding import RuleRows
from gemel.custodian.encoding.signing import PreparedField, Signer, canonical, unsigned

Place = tuple[str, Interval]
"""The set that rows are in: its rule, and the interval of the rule's blocks."""


@dataclass(frozen=True)
class Unit:
    """Some of the rows of one rule, which are signed apart from the others: those of whole intervals of its blocks.

    `numbers` is int64, shape (n_rows,): the number among all rows that are sent of each of these, ascending.
    """

    numbers: I64 = dataclass_field(repr=False)
    intervals: Sequence[Interval]


@dataclass(frozen=True)
class WholeFile:
    """Rows that are ready to be signed, in mode open: one set of the whole file."""

    specification: Specification
    signer: Signer
    shuffle: Callable[[int], I64] | None
    sent: RuleRows
    fields: Mapping[str, PreparedField]
    digests: Mapping[str, U64]
    verb: ClassVar[str] = "signed"

    def places(self, unit: Unit | None) -> dict[Place, I64]:
        """The rows of each set, not yet in their order."""
        shuffle = self.shuffle
        return {
            (part, WHOLE): rows if shuffle is None else rows[shuffle(len(rows))]
            for part, rows in self.sent.rows.items()
        }

    def signed(self, place: Place, name: str, rows: I64) -> FieldSignatures:
        return self.signer.sign(self.fields[name], rows)

    def keys(self, place: Place, rows: I64) -> dict[str, U64]:
        """By rule, what is sent of the rows' blocking keys."""
        return {name: digest[rows] for name, digest in self.digests.items()}

    def title(self, job: tuple[Place, str]) -> str:
        """What is shown when a field of a set is done."""
        (part, (number, count)), name = job
        of_rule = f" for rule {part}" if part else ""
        return f"{self.verb} {name}{of_rule}" + (f", {number + 1} of {count}" if count > 1 else "")

    def last(self, rows: I64) -> Flags:
        """Rows that follow all others: Carole is to know which rows of a whole file are decoys, and link without."""
        return rows >= self.sent.n_records


class WholeFileOfValues(WholeFile):
    """Mode trusted: one set of the values themselves."""

    verb = "packed"

    def signed(self, place: Place, name: str, rows: I64) -> FieldSignatures:
        field, column = self.specification.field(name), self.sent.columns[name]
        values, codes = distinct_values(column.set(column == "", None))
        packed, ranks = canonical(pack_values(values, field.bits, f"field {name}"))
        return FieldSignatures(field.bits, packed, np.append(ranks, np.int32(MISSING))[codes[rows]], "values")


class RowsInBlocks(WholeFile):
    """Mode block_keyed: a set for each rule and interval of its blocks."""

    def places(self, unit: Unit | None) -> dict[Place, I64]:
        if self.shuffle is not None:
            return super().places(unit)
        count = None if unit is None else unit.intervals[0].of
        return {
            (part, interval): inside
            for part, rows in self.sent.rows.items()
            for interval, inside in in_intervals(rows, self.digests[part][rows], count)
            if unit is None or interval in unit.intervals
        }

    def signed(self, place: Place, name: str, rows: I64) -> FieldSignatures:
        specification, field = self.specification, self.fields[name]
        (rule,) = (rule for rule in specification.keyed_rules if rule.name == place[0])
        if name in rule.withheld:
            return unsigned(field, len(rows))
        if name in fixed_fields(rule, specification):
            return FieldSignatures.fixed(field.spec.bits, len(rows))
        return self.signer.sign(field, rows, self.digests[rule.name][rows], rule=rule.name)

    def keys(self, place: Place, rows: I64) -> dict[str, U64]:
        return {name: self._block_or_tags(place[0], name, rows) for name in self.digests}

    def _block_or_tags(self, rule: str, other: str, rows: I64) -> U64:
        block = self.digests[rule][rows]
        if other == rule:
            return block
        return tags(block, self.digests[other][rows], self.signer.key(Purpose.TAG, other, rule), self.signer.suite)

    def last(self, rows: I64) -> Flags:
        return np.zeros(len(rows), dtype=np.bool_)


def tags(block: U64, other: U64, key: bytes, suite: Suite = Suite.DEFAULT) -> U64:
    """Tag of every row of a rule for another rule, from the digests of its block and of its key under the other rule.

    The first 8 bytes of AES-256 of both digests, little-endian, or of CMAC in the approved suite, under a key of 32
    bytes of the two rules; ``NO_KEY`` where the row has no such key.
    """
    both = np.stack([block, other], axis=1).astype("<u8")
    pseudo_random(key, both, suite)
    made = np.where(both[:, 0] == NO_KEY, np.uint64(INSTEAD_OF_ZERO), both[:, 0])
    return np.where(other == NO_KEY, np.uint64(NO_KEY), made)
