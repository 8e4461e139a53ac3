"""Samples of each field's values in mode block_keyed, from which chance agreement is estimated, in small groups.

When only rows of a block compare, the agreement of unrelated records cannot be estimated from pairs of rows. So each
custodian also sends a sample of every field, cut into `GROUPS` groups under a key each: values of Alice's group g
compare with values of Bob's group g, and with nothing else. Under one key 2,000 values of a field show how similar
they are to each other, and public counts of names read nearly all of them from that; of 32 they read none
(``python -m benchmarks leakage --sections samples``).

Every field is drawn in an order of its own, from the custodian's own key: the values in one row of the sample belong to
different people. The draw goes by values and not by places in the file, and is the same in every upload and epoch. A
record comes into one group, or, in files of fewer records than the groups hold, in as few as can be, and never twice in
one. The places of values are drawn for each group and epoch by itself: equal places would show which signatures under
two keys are of one value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tryst.common.encoding.row_order import Drawing

GROUPS = 250
"""Groups of a sample: 256,000 random pairs with the other file's, 26 of which agree where one in 10,000 does."""

GROUP_ROWS = 32
"""Records in a group, as far as the file has them. The similarities of 100 are enough for a patient attack to read now
and then a whole group; fewer make fewer pairs of as many signatures."""


def group_rows(records: int) -> int:
    """Rows in each group of the sample of a file with so many records."""
    return min(records, GROUP_ROWS)


def sample_rows(records: int) -> int:
    """Rows of all groups of the sample of a file with so many records."""
    return GROUPS * group_rows(records)


def grouped(records: int, order: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Records in each group.

    Parameters
    ----------
    records
        Records of the file.
    order
        Makes the records' order in each round, of which the groups are parts; rounds count from 0.

    Returns
    -------
    ndarray of int64, shape (GROUPS, group_rows(records))
        What does not fill a group is left out of its round.
    """
    size = group_rows(records)
    of_round = min(GROUPS, records // size) if records else GROUPS
    rounds = range(-(-GROUPS // of_round))
    drawn = [order(number)[: of_round * size].reshape(of_round, size) for number in rounds]
    return np.concatenate(drawn)[:GROUPS]


def drawn_groups(digests: NDArray[np.uint64], name: str, epoch: int, drawing: Drawing) -> NDArray[np.int64]:
    """Records in each group of a field's sample, all equally likely, by their values and not by their places.

    Each occurrence of a value has a number of its own in each round, and the records follow each other by these.

    Parameters
    ----------
    digests : ndarray of uint64, shape (n_records,)
        Digest of each record's value, equal for equal values.
    name
        Of the field; draws of two fields are independent.
    epoch
        Decides about places within groups, and not about groups.
    drawing : Drawing

    Returns
    -------
    ndarray of int64, shape (GROUPS, group_rows(n_records))
    """
    occurrence = _occurrences(digests)

    def order(number: int) -> NDArray[np.int64]:
        drawn = drawing.draw(f"sample of {name}, round {number}", digests, occurrence)
        return np.argsort(drawn, kind="stable").astype(np.int64)

    rows = grouped(len(digests), order)
    for number, group in enumerate(rows):
        places = drawing.draw(
            f"places in group {number} of the sample of {name}, epoch {epoch}", digests[group], occurrence[group]
        )
        rows[number] = group[np.argsort(places, kind="stable")]
    return rows


def _occurrences(digests: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Which occurrence of its value each record has, from 0 in the order of the file."""
    by_value = np.argsort(digests, kind="stable")
    ascending = digests[by_value]
    begins = np.concatenate([[True], ascending[1:] != ascending[:-1]])
    place = np.arange(len(digests))
    occurrence = np.empty(len(digests), dtype=np.int64)
    occurrence[by_value] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return occurrence
