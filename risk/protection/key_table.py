"""The keys of a file with their hierarchies: what it looks like at any node of the lattice of levels.

A node has a level for each key. Records are rows of value numbers, -1 where a value is missing or suppressed; what that
means is `missing`, as in `KeyFile`. At its last level a key is one group for all, missing values among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Mask
from gemel.risk.identification.coding import Counts, Missing, agreeing, coded, tally, text_of
from gemel.risk.lattice_search import Node
from gemel.risk.protection.hierarchies import Hierarchy


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Records over keys with hierarchies, as value numbers, -1 where missing.

    With ``any`` a missing value agrees with every value, with ``level`` with missing values only.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: Codes = field(repr=False)
    missing: Missing = "any"

    def __post_init__(self) -> None:
        if not len(self.codes):
            raise GemelError(ErrorCode.EMPTY_SOURCE, "there are no records", where="records")
        for h in self.hierarchies:
            if len(h.levels[0]) < 2:
                what = "the key has one value, and cannot distinguish people"
                raise parameter(f"key {h.name}", what, f"{len(h.levels[0])} value", "leave it out of --keys")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(h.name for h in self.hierarchies)

    @property
    def heights(self) -> Node:
        """The node at which every key is left out."""
        return tuple(h.height for h in self.hierarchies)

    @cached_property
    def _tallied(self) -> tuple[Codes, Counts, Counts]:
        return tally(self.codes, [h.levels[0] for h in self.hierarchies])

    def sizes(self, node: Node) -> Counts:
        """Numbers of groups of each key at a node."""
        return np.array([len(h.labels[level]) for h, level in zip(self.hierarchies, node, strict=True)])

    def at(self, node: Node, codes: Codes | None = None) -> Codes:
        """Group numbers of records (by default all of them) at a node, -1 where missing."""
        rows = self.codes if codes is None else codes
        columns = []
        for q, (h, level) in enumerate(zip(self.hierarchies, node, strict=True)):
            own = h.groups[level][rows[:, q]]
            columns.append(np.zeros_like(own) if level == h.height else np.where(rows[:, q] < 0, -1, own))
        return np.stack(columns, axis=1).astype(np.int32)

    @cached_property
    def _frequencies(self) -> dict[Node, tuple[Counts, Counts]]:
        return {}

    def frequencies(self, node: Node) -> tuple[Counts, Counts]:
        """The different frequencies f at a node, and how many records have each; kept for the next call."""
        if node not in self._frequencies:
            cells, counts, _ = self._tallied
            f = cell_frequencies(self.at(node, cells), counts, self.sizes(node), self.missing)
            different, which = np.unique(f, return_inverse=True)
            records = np.bincount(which, weights=counts, minlength=len(different)).astype(np.int64)
            self._frequencies[node] = different, records
        return self._frequencies[node]

    @cached_property
    def value_counts(self) -> tuple[Counts, ...]:
        """Records with each value of each key; missing ones are not counted."""
        return tuple(
            np.bincount(self.codes[self.codes[:, q] >= 0, q], minlength=len(h.levels[0])).astype(np.int64)
            for q, h in enumerate(self.hierarchies)
        )

    def values(self, node: Node, suppressed: Mask) -> dict[str, list[str | None]]:
        """What is published of each key: labels at the node, None where missing or suppressed."""
        codes = np.where(suppressed, -1, self.at(node))
        found: dict[str, list[str | None]] = {}
        for q, (h, level) in enumerate(zip(self.hierarchies, node, strict=True)):
            labels = np.array([*h.labels[level], None], dtype=object)
            found[h.name] = labels[codes[:, q]].tolist()
        return found


def cell_frequencies(cells: Codes, counts: Counts, sizes: Sequence[int] | Counts, missing: Missing) -> Counts:
    """f of each row of group numbers, -1 where missing: the records that agree with it, where rows may repeat.

    Each row stands for `counts` records.
    """
    levels = [int(s) for s in sizes]
    own, sums, which = tally(cells, [range(s) for s in levels], counts)
    if missing == "level" or (own >= 0).all():
        return sums[which]
    return agreeing(own, own, sums, levels)[which]


def value_codes(columns: Mapping[str, Any], missing_values: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], Codes]:
    """Values of each column in order, and value numbers of the records, -1 where missing."""
    labels, codes = {}, []
    for name, column in columns.items():
        labels[name], own = coded(text_of(column, missing_values), "any")
        codes.append(own)
    return labels, np.stack(codes, axis=1)


# Information lost by recoding and suppression, in bits: the non-uniform entropy of Gionis and Tassa.
#
# A value published as a group loses minus log2 of the value's share in its group; a suppressed value, minus log2 of
# its share in the file. Means over records add up over keys. Of recoding alone the mean is the entropy of the values
# given their groups, as in `identification.matching.recoding`. Where values were redrawn or swapped, a published
# value loses the entropy of the true values behind its group; without recoding and changes that is nothing.

Joints = Mapping[int, Floats]
"""By key, where values were changed: the shares of published and true values, ``[published, true]``."""


def level_losses(table: KeyTable, joints: Joints | None = None) -> list[list[float]]:
    """Bits a record that each key loses at each level; a missing value has nothing to lose."""
    found = []
    for q, counts in enumerate(table.value_counts):
        lost = [float((counts * bits).sum()) / len(table.codes) for bits in _bits(table, q, joints)]
        found.append(list(accumulate(lost, max)))
    return found


def suppression_losses(table: KeyTable, node: Node, suppressed: Mask, joints: Joints | None = None) -> list[float]:
    """Bits a record that each key loses by suppression, over what it lost by recoding."""
    found = []
    for q in range(len(table.hierarchies)):
        bits = _bits(table, q, joints)
        values = table.codes[suppressed[:, q] & (table.codes[:, q] >= 0), q]
        found.append(float((bits[-1] - bits[node[q]])[values].sum()) / len(table.codes))
    return found


def information(table: KeyTable) -> list[float]:
    """Bits a record that each key has: its entropy, missing values counting nothing."""
    return [own[-1] for own in level_losses(table)]


def _bits(table: KeyTable, q: int, joints: Joints | None) -> list[Floats]:
    """At each level, what a record with each value loses, shape (n_values,)."""
    groups, counts = table.hierarchies[q].groups, table.value_counts[q]
    if joints is not None and q in joints:
        return [_left_open(joints[q], own)[own] for own in groups]
    some = counts > 0
    wholes = [np.bincount(own, weights=counts)[own] for own in groups]
    return [np.log2(np.where(some, whole, 1.0) / np.where(some, counts, 1)) for whole in wholes]


def _left_open(joint: Floats, groups: NDArray[np.int32]) -> Floats:
    """Entropy of the true value given each published group, in bits, shape (n_groups,)."""
    together = np.zeros((int(groups.max()) + 1, joint.shape[1]))
    np.add.at(together, groups, joint)
    share = together / np.maximum(together.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1))
