"""Imagined matches: records of each file beside a second record of the same person, as it may stand in the other file.

Between two records of a person something happens: the household moves and everything of it changes at once; somebody
marries, and whatever is of the family changes; names are written otherwise, or exchanged; a value changes by itself, or
is mistyped. How often is belief, by what a field describes (`BELIEFS`, `TOGETHER`), wider than most pairs of files
show: rules that stand it lose few matches where less happens. What is missing together is taken from the files: the
second record lacks what some record of the other file lacks. A new value is that of another record, which may agree by
chance.

Nothing here says how many matches there are, and no agreement between the two files is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.specification import BlockingKey, BlockingRule, FieldSpec
from gemel.common.specification.model.defaults import DatePart, Describes, Kind

ROWS = 4_000
"""Records of each file in which pairs are counted, and persons imagined, half as many from each."""
Columns = Mapping[str, pl.Series]
BELIEFS: Mapping[Describes, float] = MappingProxyType(
    {"name": 0.02, "birth": 0.02, "trait": 0.03, "family": 0.02, "household": 0.03}
)
"""How often a value of a field that describes this is another in the second record, by itself."""
TOGETHER: Sequence[tuple[float, frozenset[Describes]]] = (
    (0.2, frozenset({"household"})),
    (0.07, frozenset({"family"})),
    (0.02, frozenset({"name", "family"})),
)
"""How often all fields that describe one of these change together: a move, a marriage, names written otherwise."""
MISTYPED: Mapping[Kind, float] = MappingProxyType(
    {"name": 0.15, "text": 0.25, "date": 0.1, "code": 0.1, "number": 0.05, "category": 0.05}
)
"""How often a value is mistyped, at a place of which each is as likely; a few records have most such errors."""
_PARTS: Mapping[DatePart, tuple[int, int]] = MappingProxyType({"year": (0, 4), "month": (4, 2), "day": (6, 2)})


def taken(key: BlockingKey, column: pl.Series) -> pl.Series:
    """What a key takes of cleaned values; null where it takes nothing."""
    if key.part is not None:
        start, length = _PARTS[key.part]
        part = column.str.slice(start, length)
        return part.set(part == "0" * length, None)  # an unknown part agrees with nothing
    return column if key.prefix is None else column.str.slice(0, key.prefix)


class ImaginedMatches:
    """Samples of two cleaned files, and a second record for half of the rows of each.

    Attributes
    ----------
    share
        Of the pairs of the files, those between the samples.
    count
        Persons imagined.
    """

    def __init__(self, fields: Sequence[FieldSpec], alice: Columns, bob: Columns) -> None:
        rng = np.random.default_rng(1)
        self._fields = {field.name: field for field in fields}
        sizes = [len(next(iter(side.values()))) for side in (alice, bob)]
        rows = [np.sort(rng.permutation(size)[:ROWS]) for size in sizes]
        self._columns = tuple(
            {name: column.gather(drawn) for name, column in side.items()}
            for side, drawn in zip((alice, bob), rows, strict=True)
        )
        n = [len(drawn) for drawn in rows]
        self.share = float(np.prod([min(1.0, found / size) for found, size in zip(n, sizes, strict=True)]))
        self.sizes, self.sampled = sizes, n
        # Rows of both samples, Bob's behind Alice's: a person's own, one whose values he takes where they change, and
        # one of the other file that lacks what his second record lacks.
        own = [rng.permutation(size)[: max(1, ROWS // 2)] for size in n]
        self._own = np.concatenate([own[0], n[0] + own[1]])
        self._donor = np.concatenate(
            [rng.integers(n[0], size=len(own[0])), n[0] + rng.integers(n[1], size=len(own[1]))]
        )
        self._lacks = np.concatenate(
            [n[0] + rng.integers(n[1], size=len(own[0])), rng.integers(n[0], size=len(own[1]))]
        )
        self.count = len(self._own)
        happened = [rng.random(self.count) < chance for chance, _ in TOGETHER]
        careless = rng.exponential(size=self.count)
        self._changed: dict[str, NDArray[np.bool_]] = {}
        self._mistyped: dict[str, NDArray[np.float64]] = {}
        for field in fields:
            describes = field.describes
            changed = rng.random(self.count) < BELIEFS[describes]
            for event, (_, together) in zip(happened, TOGETHER, strict=True):
                changed = changed | (event & (describes in together))
            wrong = rng.random(self.count) < MISTYPED[field.kind] * careless
            self._changed[field.name] = changed
            # The place, as a share of the value's length; beyond its end where nothing is wrong.
            self._mistyped[field.name] = np.where(wrong, rng.random(self.count), 2.0)

    def codes(self, key: BlockingKey) -> NDArray[np.int32]:
        """What a key takes of the rows of both samples, as numbers; -1 where nothing."""
        text = pl.concat([taken(key, side[key.field]) for side in self._columns])
        return text.rank("dense").cast(pl.Int32).fill_null(-1).to_numpy()

    def agreeing(self, key: BlockingKey) -> NDArray[np.bool_]:
        """Which imagined matches agree on a key."""
        codes = self.codes(key)
        own = codes[self._own]
        same = ~self._changed[key.field] | (codes[self._donor] == own)
        start, end = self._read(key)
        right = (self._mistyped[key.field] < start) | (self._mistyped[key.field] >= end)
        agree: NDArray[np.bool_] = same & right & (own >= 0) & (codes[self._lacks] >= 0)
        return agree

    def _read(self, key: BlockingKey) -> tuple[float, NDArray[np.float64] | float]:
        """From where to where a key reads a value, as shares of its length; each part of a date has as many errors."""
        if key.part is not None:
            place = list(_PARTS).index(key.part)
            return place / 3, (place + 1) / 3
        if key.prefix is None:
            return 0.0, 1.0
        lengths = pl.concat([side[key.field] for side in self._columns]).str.len_chars().fill_null(1).to_numpy()
        return 0.0, np.minimum(1.0, key.prefix / np.maximum(1, lengths[self._own]))

    def found_by(self, rules: Sequence[BlockingRule]) -> NDArray[np.bool_]:
        """Which imagined matches some of these rules compares."""
        found = np.zeros(self.count, dtype=np.bool_)
        for rule in rules:
            found |= np.all([self.agreeing(key) for key in rule.keys], axis=0)
        return found

    def lost(self, before: Sequence[BlockingRule], after: Sequence[BlockingRule]) -> float:
        """Share of the imagined matches found by some rules that others do not find."""
        found = self.found_by(before)
        return float((found & ~self.found_by(after)).sum() / max(1, found.sum()))

    def bits_of(self, field: str) -> float:
        """Bits that exact agreement on a field brings a pair: the logarithm of how rarely unrelated records agree."""
        codes = self.codes(BlockingKey(field=field))
        values = int(codes.max(initial=0)) + 1
        ours, theirs = (np.bincount(side[side >= 0], minlength=values) for side in np.split(codes, self.sampled[:1]))
        chance = float(ours @ theirs) / max(1, int(ours.sum()) * int(theirs.sum()))
        return float(-np.log2(chance)) if chance > 0 else 0.0
