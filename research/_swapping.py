"""Random swapping of a key variable, as Shlomo (2009) did it, and the misclassification it makes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_swap(values: NDArray[np.int32], rate: float, rng: np.random.Generator) -> NDArray[np.int32]:
    """Swap levels between pairs of records: half of a share of each level's records, each with one of the other half.

    The procedure of Shlomo 2009, section 3.1. `rate` is the share of each level's records that are drawn; half of
    them are flagged. Each flagged record swaps its level with a record drawn but not flagged, of another level,
    that has not swapped; where none is left it keeps it. How many records have each level does not change.
    """
    flagged, partners = [], []
    for level in np.unique(values):
        own = rng.permutation(np.flatnonzero(values == level))[: round(rate * float((values == level).sum()))]
        half = len(own) // 2
        flagged.append(own[:half])
        partners.append(own[half:])
    swapped = values.copy()
    pool = rng.permutation(np.concatenate(partners)).tolist()
    for record in rng.permutation(np.concatenate(flagged)).tolist():
        at = next((i for i in range(len(pool) - 1, -1, -1) if values[pool[i]] != values[record]), None)
        if at is None:
            continue
        partner = pool[at]
        pool[at] = pool[-1]  # the pool is in random order, and stays so
        pool.pop()
        swapped[record], swapped[partner] = values[partner], values[record]
    return swapped


def observed_matrix(true: NDArray[np.int32], observed: NDArray[np.int32], levels: int) -> NDArray[np.float64]:
    """The share of the records of each true level that are observed at each level; levels without records stay put."""
    table = np.zeros((levels, levels))
    np.add.at(table, (observed, true), 1.0)
    sums = table.sum(axis=0)
    return np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), np.eye(levels))
