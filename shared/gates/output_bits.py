"""What is compared of a pair, and the bits that come of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.shared.gates.gates import Words

Content = Literal["shared", "fixed", "withheld"]
COUNTED = 0
"""The bit of a pair that no earlier rule has."""


@dataclass(frozen=True)
class ComparedField:
    """A field that is compared.

    `limits`: its level is the number of these that the disagreeing bits do not exceed; `content`: whether rows have its
    signature, the rule has it equal in all pairs (the top level), or it is missing in all pairs.
    """

    name: str
    bits: int
    limits: tuple[int, ...]
    content: Content = "shared"


@dataclass(frozen=True)
class Exchange:
    """Two fields whose values may be exchanged, by their places; limits of the lesser similarity. A field has at most
    one.
    """

    first: int
    second: int
    limits: tuple[int, ...]


@dataclass(frozen=True)
class Opened:
    """What the bits of n pairs say.

    `counted` (bool, shape (n,)): whether no earlier rule has the pair; where one has, nothing else is known of it;
    `mask` (uint32, shape (n,)): bit r: the pair satisfies rule r; `present` (bool, shape (n, fields)): whether both
    rows have a value; `level` (int8, shape (n, fields)): the comparison level; -1 where a value is missing or, of a
    rule's pairs, the fields are exchanged. Of the samples' pairs, which have no rules, chance agreement is counted
    field by field; `exchange` (int8, shape (n, exchanges)): 0 where two fields are not exchanged; -1 where one of their
    four values is missing; `checked` (int8, shape (n,), or None): whether the check field agrees, 1 or 0; -1 where it
    is missing.
    """

    counted: NDArray[np.bool_]
    mask: NDArray[np.uint32]
    present: NDArray[np.bool_]
    level: NDArray[np.int8]
    exchange: NDArray[np.int8]
    checked: NDArray[np.int8] | None


@dataclass(frozen=True)
class OutputBits:
    """Where the bits of a pair are.

    Bit `COUNTED`, then a bit for each rule, for each field its presence and a bit for each limit, for each exchange a
    bit for each of its limits. The check field's two bits begin a word of their own at the end. `n_levels`: levels of
    each field.
    """

    n_levels: tuple[int, ...]
    exchanges: tuple[Exchange, ...] = ()
    rules: tuple[str, ...] = ()
    has_check: bool = False

    @cached_property
    def _places(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        place = 1 + len(self.rules)
        fields, exchanges = [], []
        for levels in self.n_levels:
            fields.append(place)
            place += levels
        for exchange in self.exchanges:
            exchanges.append(place)
            place += len(exchange.limits)
        return tuple(fields), tuple(exchanges), place

    @property
    def words(self) -> int:
        return -(-self._places[2] // WORD_BITS)

    @property
    def total_words(self) -> int:
        return self.words + self.has_check

    def rule(self, place: int) -> int:
        return 1 + place

    def present(self, field: int) -> int:
        return self._places[0][field]

    def levels(self, field: int) -> slice:
        begin = self._places[0][field] + 1
        return slice(begin, begin + self.n_levels[field] - 1)

    def exchange(self, place: int) -> slice:
        """The bits of an exchange's limits."""
        begin = self._places[1][place]
        return slice(begin, begin + len(self.exchanges[place].limits))

    @property
    def check(self) -> int:
        """The bit of the check field's presence; the next one is whether it agrees."""
        return self.words * WORD_BITS

    def read(self, opened: Words) -> Opened:
        """What opened words of pairs say. `opened` (uint64, shape (n, total_words))."""
        n = len(opened)

        def bit(place: int) -> NDArray[np.bool_]:
            word, shift = divmod(place, WORD_BITS)
            return np.asarray((opened[:, word] >> np.uint64(shift)) & np.uint64(1), dtype=np.bool_)

        def number(places: slice) -> NDArray[np.int8]:
            found = np.zeros(n, dtype=np.int8)
            for place in range(places.start, places.stop):
                found += bit(place)
            return found

        mask = np.zeros(n, dtype=np.uint32)
        for place in range(len(self.rules)):
            mask |= bit(self.rule(place)).astype(np.uint32) << np.uint32(place)
        present = np.zeros((n, len(self.n_levels)), dtype=np.bool_)
        level = np.full(present.shape, -1, dtype=np.int8)
        for field in range(len(self.n_levels)):
            present[:, field] = bit(self.present(field))
            level[:, field] = np.where(present[:, field], number(self.levels(field)), -1)
        exchange = np.full((n, len(self.exchanges)), -1, dtype=np.int8)
        for place, two in enumerate(self.exchanges):
            both = present[:, two.first] & present[:, two.second]
            exchange[:, place] = np.where(both, number(self.exchange(place)), -1)
            for field in (two.first, two.second) if self.rules else ():
                level[exchange[:, place] > 0, field] = -1
        checked = np.where(bit(self.check), bit(self.check + 1), -1).astype(np.int8) if self.has_check else None
        return Opened(bit(COUNTED), mask, present, level, exchange, checked)


@dataclass(frozen=True)
class PairComparison:
    """What is compared of the pairs of a rule, or of the samples, which have no tags (`rule` is None).

    `fields`: in the order of the output; `rules`: all, in their order; `check`: a field that only says whether it
    agrees, which is its top level.
    """

    words: RowWords
    fields: tuple[ComparedField, ...]
    exchanges: tuple[Exchange, ...] = ()
    rules: tuple[str, ...] = ()
    rule: str | None = None
    check: ComparedField | None = None

    @cached_property
    def output(self) -> OutputBits:
        levels = tuple(len(field.limits) + 1 for field in self.fields)
        return OutputBits(levels, self.exchanges, self.rules, self.check is not None)

    @property
    def other_rules(self) -> Iterator[tuple[int, str]]:
        """Places and names of the rules that rows have tags of."""
        if self.rule is not None:
            yield from ((place, name) for place, name in enumerate(self.rules) if name != self.rule)

    @property
    def own_place(self) -> int:
        """The place of the rule that gave the pairs; 0 for samples, which have no earlier rule."""
        return 0 if self.rule is None else self.rules.index(self.rule)

    @property
    def shared_fields(self) -> tuple[int, ...]:
        """Places of the fields that rows have signatures of."""
        return tuple(place for place, field in enumerate(self.fields) if field.content == "shared")

    @cached_property
    def shared(self) -> tuple[ComparedField, ...]:
        """These fields, and the check field, with its top level alone, if rows have it."""
        fields = tuple(self.fields[place] for place in self.shared_fields)
        if self.check is None or self.check.content != "shared":
            return fields
        return *fields, replace(self.check, limits=(min(self.check.limits, default=self.check.bits),))

    @cached_property
    def shared_exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges of two fields that rows have signatures of."""
        shared = set(self.shared_fields)
        return tuple(each for each in self.exchanges if {each.first, each.second} <= shared)

    @property
    def gates(self) -> int:
        """Gates of a pair, about."""
        fields = sum(field.bits + 10 * len(field.limits) for field in self.shared)
        exchanges = sum(2 * self.fields[each.first].bits + 100 for each in self.shared_exchanges)
        return fields + exchanges + WORD_BITS * len(self.rules) + 1
