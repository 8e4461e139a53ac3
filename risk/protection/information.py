"""Information lost by recoding and suppression, in bits: the non-uniform entropy of Gionis and Tassa.

A value published as a group loses minus log2 of the value's share in its group; a suppressed value, minus log2 of its
share in the file. Means over records add up over keys. Of recoding alone the mean is the entropy of the values given
their groups, as in `identification.recoding`. Where values were redrawn or swapped, a published value loses the entropy
of the true values behind its group; without recoding and changes that is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.risk.protection.key_table import KeyTable, Node

Joints = Mapping[int, NDArray[np.float64]]
"""By key, where values were changed: the shares of published and true values, ``[published, true]``."""


def level_losses(table: KeyTable, joints: Joints | None = None) -> list[list[float]]:
    """Bits a record that each key loses at each level; a missing value has nothing to lose."""
    found = []
    n = len(table.codes)
    for q, counts in enumerate(table.value_counts):
        found.append([float((counts * bits).sum()) / n for bits in _bits(table, q, joints)])
    return [[float(v) for v in np.maximum.accumulate(own)] for own in found]


def suppression_losses(
    table: KeyTable, node: Node, suppressed: NDArray[np.bool_], joints: Joints | None = None
) -> list[float]:
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


def _bits(table: KeyTable, q: int, joints: Joints | None) -> list[NDArray[np.float64]]:
    """At each level, what a record with each value loses, shape (n_values,)."""
    groups, counts = table.hierarchies[q].groups, table.value_counts[q]
    if joints is not None and q in joints:
        return [_left_open(joints[q], own)[own] for own in groups]
    return _shares(groups, counts)


def _left_open(joint: NDArray[np.float64], groups: NDArray[np.int32]) -> NDArray[np.float64]:
    """Entropy of the true value given each published group, in bits, shape (n_groups,)."""
    together = np.zeros((int(groups.max()) + 1, joint.shape[1]))
    np.add.at(together, groups, joint)
    share = together / np.maximum(together.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1))


def _shares(groups: Sequence[NDArray[np.int32]], counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    found = []
    for own in groups:
        whole = np.bincount(own, weights=counts)[own]
        found.append(np.log2(np.where(counts > 0, whole, 1.0) / np.where(counts > 0, counts, 1)))
    return found
