"""The rows that a custodian sends under each blocking rule: its records with a key, and dummies that pad the blocks.

Without padding Carole sees how many records of a file have each blocking key, and large blocks are those of common
keys. With it every block has a number of rows that many other blocks have too. A dummy is a row of one rule only:
anything that joined it to rows of other rules would join records too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
import polars as pl

from gemel.common.arrays import F64, I32, I64, Columns
from gemel.common.errors import parameter
from gemel.common.keys.bulk import pseudo_random
from gemel.common.keys.derivation import FieldKeys
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.layout import MAX_ROWS
from gemel.common.signatures.signature_sets import MISSING
from gemel.common.specification import BlockingKey, BlockingRule, Specification
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.columns import distinct_values

# Dummy rows that look like the other rows of their block.
#
# A dummy must agree with the rows of its block as often as these agree with each other, field by field: a block of a
# postcode is of one town, and a row of another town would be recognised as a dummy. The excess agreement on a field
# within blocks is :math:`F = (\pi - b)/(1 - b)`, where :math:`\pi` is the share of pairs of rows within blocks that
# agree on it and :math:`b` that share over all pairs; for a field of which the rule's key uses a part, over the pairs
# that agree on that part. A dummy in a block of :math:`t` rows has one of their values with probability :math:`tF/(1 +
# (t - 1)F)`, and otherwise that of a record anywhere in the file (with the same part in the key). Drawn in this way it
# agrees with each row of the block with probability :math:`\pi`, if the rows have the same distribution [1]_.
#
# One row of the block and one record of the file are used for all fields of a dummy, but for those in the key, and one
# random number decides for all fields which of the two it is. Fields that are associated in the file are associated in
# dummies too: sex with a given name, a street with a surname. As far as fields are independent of the key, a dummy is
# not a whole record of its block; it may be a whole record with another key.
#
# References
# ----------
# .. [1] Balding and Nichols, Forensic Science International 64, 1994. doi:10.1016/0379-0738(94)90222-4

_REDRAWS = 20
"""A block of half of all rows is then avoided with probability .999999; one that has all rows cannot be."""


@dataclass(frozen=True)
class RuleBlocks:
    """A rule's blocks before padding.

    `rows` of the file that have a key, and the `block` of each, from 0: int64, shape (n_rows,); `sizes`, shape
    (n_blocks,), rows of each block, none empty.
    """

    rows: I64 = dataclass_field(repr=False)
    block: I64 = dataclass_field(repr=False)
    sizes: I64 = dataclass_field(repr=False)


class Draws:
    """Random numbers from a key: the same ones in the same order whenever a file is encoded.

    Dummies newly drawn for a second upload would be recognised by it: records stay the same, and dummies would not.
    """

    def __init__(self, keys: FieldKeys) -> None:
        self._keys, self._drawn = keys, 0

    def uniform(self, n: int) -> F64:
        """`n` numbers from 0 to 1, below 1."""
        blocks = np.zeros(((n + 1) // 2, 2), dtype="<u8")
        blocks[:, 0] = np.arange(self._drawn, self._drawn + len(blocks))
        self._drawn += len(blocks)
        pseudo_random(self._keys.k1, blocks, self._keys.suite)
        return (blocks.reshape(-1)[:n] >> np.uint64(11)).astype(np.float64) * 2.0**-53


def dummies(
    columns: Columns, specification: Specification, rule: BlockingRule, blocks: RuleBlocks, missing: I64, draws: Draws
) -> dict[str, I64]:
    """Draw the dummies of one rule, block after block: by field, the row of the file whose value each dummy has.

    `missing` is int64, shape (n_blocks,): dummies required in each block; the sources have shape (n_dummies,). `draws`
    are for this rule alone. O(n_rows log n_rows) per field.
    """
    n_dummies = int(missing.sum())
    block = np.repeat(np.arange(len(missing)), missing)
    before = np.arange(n_dummies) - np.repeat(np.cumsum(missing) - missing, missing)  # dummies of its block so far
    there = blocks.sizes[block] + before
    within = _Groups(blocks.block, len(blocks.sizes))
    chance = draws.uniform(n_dummies)
    everybody = _Groups(np.zeros(len(blocks.rows), dtype=np.int64), 1)
    anyone = everybody.elsewhere(np.zeros(n_dummies, dtype=np.int64), blocks.block, block, draws)
    # A row of the block drawn before this dummy: one of the file's, or an earlier dummy.
    drawn = (draws.uniform(n_dummies) * there).astype(np.int64)
    real = drawn < blocks.sizes[block]
    row = blocks.rows[within.member(block, np.where(real, drawn, 0))]
    earlier = np.arange(n_dummies) - before + drawn - blocks.sizes[block]
    sources = {}
    for field in specification.fields:
        _, codes = distinct_values(columns[field.name])
        value = codes[blocks.rows].astype(np.int64) + 1  # missing is treated as a value
        part = _parts(columns, specification, rule, field.name)[blocks.rows]
        fresh = anyone
        if any(key.field == field.name for key in rule.keys) or rule.split == field.name:
            same = _Groups(part, int(part.max()) + 1)
            its = part[within.member(block, np.zeros(n_dummies, dtype=np.int64))]
            fresh = same.elsewhere(its, blocks.block, block, draws)
        has_dummies = excess_agreement(blocks.block, part, value)
        copied = chance < there * has_dummies / (1 + (there - 1) * has_dummies)
        source = np.where(copied, row, blocks.rows[fresh])
        # A value copied from an earlier dummy is traced to that dummy's own source.
        origin = np.where(copied & ~real, earlier, np.arange(n_dummies))
        while (origin[origin] != origin).any():
            origin = origin[origin]
        sources[field.name] = source[origin]
    return sources


def excess_agreement(block: I64, part: I64, value: I64) -> float:
    """How much more often rows of one block agree on a field than rows whose keys agree in their part of it.

    `block`, `part` and `value` are numbers, int64, shape (n_rows,): of each row's block, of the part of the field in
    the key (0 everywhere if none), and of its value.
    """
    inside, outside = _agreement(block, value), _agreement(part, value)
    return float(np.clip((inside - outside) / (1 - outside), 0.0, 1.0)) if outside < 1 else 0.0


def _agreement(group: I64, value: I64) -> float:
    """Share of the pairs of rows of one group that have one value."""
    members = np.bincount(group).astype(np.float64)
    _, counts = np.unique(group * (int(value.max(initial=0)) + 1) + value, return_counts=True)
    pairs = float((members * (members - 1)).sum())
    return float((counts * (counts - 1.0)).sum()) / pairs if pairs else 0.0


class _Groups:
    """Rows by group, to draw from."""

    def __init__(self, group: I64, n_groups: int) -> None:
        self._order = np.argsort(group, kind="stable")
        self.sizes = np.bincount(group, minlength=n_groups)
        self._starts = np.cumsum(self.sizes) - self.sizes

    def member(self, group: I64, place: I64) -> I64:
        rows: I64 = self._order[self._starts[group] + place]
        return rows

    def elsewhere(self, group: I64, of: I64, block: I64, draws: Draws) -> I64:
        """A random row of each group that is in another block than the given one, if the group has one.

        A row of the same block would agree with the block's rows, of which it is one, too often. `of` is the block of
        each row.
        """
        drawn = self.member(group, (draws.uniform(len(group)) * self.sizes[group]).astype(np.int64))
        for _ in range(_REDRAWS):
            again = np.flatnonzero(of[drawn] == block)
            if not len(again):
                break
            places = (draws.uniform(len(again)) * self.sizes[group[again]]).astype(np.int64)
            drawn[again] = self.member(group[again], places)
        return drawn


def _parts(columns: Columns, specification: Specification, rule: BlockingRule, field: str) -> I64:
    """The part of one field in the rule's key, as a number for every record; 0 everywhere if none."""
    keys = tuple(key for key in rule.keys if key.field == field)
    if rule.split == field:
        keys = (*(key for key in keys if key != BlockingKey(field=field)), BlockingKey(field=field))
    if not keys:
        return np.zeros(len(columns[field]), dtype=np.int64)
    alone = BlockingRule(name=rule.name, keys=keys)
    _, part = distinct_values(key_text(columns, specification, alone))
    return np.maximum(part, 0).astype(np.int64)


@dataclass(frozen=True)
class RuleRows:
    """The rows that are sent under each rule.

    `columns` has cleaned values per field, of the file's `n_records` records, of its decoys after them, and of all
    dummies after those; `rows` by rule its rows among these; a dummy is under one rule.
    """

    columns: Columns = dataclass_field(repr=False)
    rows: Mapping[str, I64] = dataclass_field(repr=False)
    n_records: int
    decoys: int = 0


def padded_size(sizes: I64) -> I64:
    """Rows of blocks after padding: 1, 2, 4, 16 for 1, 2, 3, 9."""
    # Exact up to 2^31: a power of two is its own logarithm's power.
    return (1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)).astype(np.int64)


def min_size(sizes: I64) -> I64:
    """Fewest rows that a block of this size after padding can have had."""
    return sizes // 2 + 1


def rows_of_rules(
    columns: Columns, specification: Specification, noise: NoiseKey | None = None, decoys: int = 0
) -> RuleRows:
    """The rows to send under each rule, with dummies where the specification, of mode block_keyed, pads blocks.

    `columns` are cleaned values per field of the file, null where missing; the last rows are so many decoys. The same
    file, rows in the same order, has the same dummies under the same key. Raises `GemelError`: PARAMETER if there would
    be more rows than a contribution may have, or if blocks are padded without a key.
    """
    if specification.padding is not None and noise is None:
        remedy = "give the custodian's noise key, or a throw-away one for a trial"
        raise parameter("padding", "dummies need the custodian's noise key", "no noise key", remedy)
    n_rows = max(len(column) for column in columns.values())
    rows: dict[str, I64] = {}
    parts = [dict(columns)]
    total = n_rows
    for rule in specification.keyed_rules:
        keys, block = _in_order(*distinct_values(key_text(columns, specification, rule, split=True)))
        own = np.flatnonzero(block >= 0)
        rows[rule.name] = own
        if specification.padding is None or noise is None or not len(own):
            continue
        sizes = np.bincount(block[own], minlength=len(keys)).astype(np.int64)
        missing = padded_size(sizes) - sizes
        total += int(missing.sum())
        if total > MAX_ROWS:
            what = f"at most {MAX_ROWS} records and dummies are possible"
            raise parameter("padding", what, f"more for rule {rule.name}", "do not pad")
        first = total - int(missing.sum())
        rows[rule.name] = np.concatenate([own, np.arange(first, total)])
        draws = Draws(noise.derive(specification.project, f"dummies of rule {rule.name}", specification.suite))
        blocks = RuleBlocks(own, block[own].astype(np.int64), sizes)
        sources = dummies(columns, specification, rule, blocks, missing, draws)
        parts.append({name: columns[name].gather(pl.Series(source)) for name, source in sources.items()})
    if total == n_rows:
        return RuleRows(columns, rows, n_rows - decoys, decoys)
    extended = {field.name: pl.concat([part[field.name] for part in parts]) for field in specification.fields}
    return RuleRows(extended, rows, n_rows - decoys, decoys)


def _in_order(keys: list[str], block: I32) -> tuple[list[str], I32]:
    """Distinct keys ascending, and each row's place among them: a reproducible order."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.empty(len(keys) + 1, dtype=np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    place[-1] = MISSING
    return [keys[i] for i in order], place[block]
