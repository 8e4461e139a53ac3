"""Information lost by recoding and suppression, in bits: the non-uniform entropy of Gionis and Tassa.

A value published as a group loses minus log2 of the value's share in its group; a suppressed value, minus log2 of its
share in the file. Means over records add up over keys. Of recoding alone the mean is the entropy of the values given
their groups, as in `identification.recoding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tryst.risk.protection.key_table import KeyTable, Node


def level_losses(table: KeyTable) -> list[list[float]]:
    """Bits a record that each key loses at each level; a missing value has nothing to lose."""
    found = []
    n = len(table.codes)
    for h, counts in zip(table.hierarchies, table.value_counts, strict=True):
        found.append([float((counts * bits).sum()) / n for bits in _bits(h.groups, counts)])
    return [[float(v) for v in np.maximum.accumulate(own)] for own in found]


def suppression_losses(table: KeyTable, node: Node, suppressed: NDArray[np.bool_]) -> list[float]:
    """Bits a record that each key loses by suppression, over what it lost by recoding."""
    found = []
    for q, (h, counts) in enumerate(zip(table.hierarchies, table.value_counts, strict=True)):
        bits = _bits(h.groups, counts)
        values = table.codes[suppressed[:, q] & (table.codes[:, q] >= 0), q]
        found.append(float((bits[-1] - bits[node[q]])[values].sum()) / len(table.codes))
    return found


def information(table: KeyTable) -> list[float]:
    """Bits a record that each key has: its entropy, missing values counting nothing."""
    return [own[-1] for own in level_losses(table)]


def _bits(groups: Sequence[NDArray[np.int32]], counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """At each level, what a record with each value loses."""
    found = []
    for own in groups:
        whole = np.bincount(own, weights=counts)[own]
        found.append(np.log2(np.where(counts > 0, whole, 1.0) / np.where(counts > 0, counts, 1)))
    return found
