"""The candidate pairs of a specification's rules on two files, and their largest blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from gemel.common.specification import Specification
from gemel.custodian.encoding.blocking_keys import key_text


@dataclass(frozen=True)
class RulePairs:
    """The candidate pairs of a rule: its name, their number, and the pairs of its largest block."""

    rule: str
    pairs: int
    largest: int

    def of_size(self, factor_a: float, factor_b: float) -> RulePairs:
        """Of files so many times as large: an upper bound, since a larger file has more different keys."""
        factor = factor_a * factor_b
        return RulePairs(self.rule, math.ceil(self.pairs * factor), math.ceil(self.largest * factor))


def candidate_pairs(
    alice: Mapping[str, pl.Series], bob: Mapping[str, pl.Series], spec: Specification
) -> tuple[RulePairs, ...]:
    """Of each rule with keys, on cleaned values by field; a pair of several rules is in each."""
    split = spec.in_blocks
    found = []
    for rule in spec.keyed_rules:
        both = [
            key_text(columns, spec, rule, split=split).drop_nulls().alias("key").value_counts(name=side)
            for side, columns in (("a", alice), ("b", bob))
        ]
        pairs = both[0].join(both[1], on="key").select(pl.col("a").cast(pl.Int64) * pl.col("b")).to_series()
        found.append(RulePairs(rule.name, int(pairs.sum()), int(pairs.max() or 0)))  # type: ignore[arg-type]
    return tuple(found)
