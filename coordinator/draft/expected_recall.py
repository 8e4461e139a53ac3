"""Which matches blocking rules find, by pairs that are matches for certain: no truth is needed.

Two records that agree exactly on so many fields that chance would hardly make one such pair in the two files are a
match. Families agree on surname and address too: where fields are personal, some of the agreement must be theirs. Of
these pairs, those that a rule compares tell what it is worth beside the others. They have fewer errors than
matches have on average, so that a rule made of whole values finds somewhat less of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.specification import BlockingRule, FieldSpec
from gemel.coordinator.draft.blocking_rules import key_columns

ROWS = 10_000
"""Alice's records whose pairs are looked at."""
CERTAIN = 10.0
"""Bits beyond the number of pairs from which agreement is no chance: one in a thousand files has such a pair."""
PERSONAL = 5.0
"""Of these bits, those of personal fields at least: what a common given name and a sex bring."""

Columns = Mapping[str, pl.Series]


def agreement_bits(fields: Sequence[FieldSpec], alice: Columns, bob: Columns) -> dict[str, float]:
    """Bits that exact agreement on each field brings a pair: the logarithm of how rarely unrelated records agree."""
    found = {}
    for name in (field.name for field in fields):
        ours, theirs = (
            side[name].alias("value").drop_nulls().value_counts(normalize=True, name="share").sort("value")
            for side in (alice, bob)
        )
        both = ours.join(theirs, on="value", maintain_order="left")
        chance = float((both["share"] * both["share_right"]).sum())
        found[name] = float(-np.log2(chance)) if chance > 0 else 0.0
    return found


class CertainMatches:
    """Pairs of two files that are matches for certain, and which rules compare each.

    Notes
    -----
    A join of `ROWS` records with Bob's file for each rule, once.
    """

    def __init__(self, fields: Sequence[FieldSpec], alice: Columns, bob: Columns) -> None:
        self._bits = agreement_bits(fields, alice, bob)
        self._alice, self._bob = alice, bob
        self._personal = {field.name for field in fields if field.personal}
        n_a, n_b = (len(next(iter(side.values()))) for side in (alice, bob))
        self._needed = float(np.log2(max(1, n_a)) + np.log2(max(1, n_b))) + CERTAIN
        self._drawn = np.sort(np.random.default_rng(1).permutation(n_a)[:ROWS])
        self._n_b = n_b
        self._of: dict[tuple[object, ...], NDArray[np.int64]] = {}

    def found_by(self, rule: BlockingRule) -> NDArray[np.int64]:
        """The certain matches that a rule compares, as numbers in ascending order."""
        if rule.keys not in self._of:
            self._of[rule.keys] = self._certain(rule)
        return self._of[rule.keys]

    def lost(self, before: Sequence[BlockingRule], after: Sequence[BlockingRule]) -> float | None:
        """Share of the certain matches of some rules that others do not compare; None if there are too few."""
        of_all = self._union(before)
        return None if len(of_all) < 20 else 1 - float(np.isin(of_all, self._union(after)).mean())

    def bits_of(self, field: str) -> float:
        """Bits that agreement on a field brings."""
        return self._bits[field]

    def _union(self, rules: Sequence[BlockingRule]) -> NDArray[np.int64]:
        found = [self.found_by(rule) for rule in rules]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

    def _certain(self, rule: BlockingRule) -> NDArray[np.int64]:
        drawn = {name: column.gather(self._drawn) for name, column in self._alice.items()}
        ours, theirs = (
            pl.DataFrame(key_columns(rule, values)).with_row_index(row).drop_nulls()
            for values, row in ((drawn, "a"), (self._bob, "b"))
        )
        pairs = ours.join(theirs, on=[column for column in ours.columns if column != "a"], how="inner")
        a, b = (pairs[row].to_numpy().astype(np.int64) for row in ("a", "b"))
        bits, personal = np.zeros(len(a)), np.zeros(len(a))
        for name, worth in self._bits.items():
            equal = drawn[name].gather(a).rename("x") == self._bob[name].gather(b).rename("x")
            agreed = worth * equal.fill_null(value=False).to_numpy()
            bits += agreed
            personal += agreed * (name in self._personal)
        certain = (bits >= self._needed) & ((personal >= PERSONAL) | (not self._personal))
        numbers: NDArray[np.int64] = np.unique((a * self._n_b + b)[certain])
        return numbers
