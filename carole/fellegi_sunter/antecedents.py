r"""Which records of one file are one person, from the earlier record that each is a copy of.

Every record is a copy of at most one earlier record of its file. Given the prior odds of a link these choices do not
depend on each other (`many_to_one`), and they make a forest whose trees are the persons. So two records are of one
person if the later one's antecedent is the earlier one, or is of the earlier one's person:

.. math:: S(i, j) = P(j \to i) + \sum_{k < j, k \ne i} P(j \to k) \, S(i, k) \quad (i < j).

Probabilities of pairs that obey transitivity in expectation, without a sum over partitions. A person with three equal
records has the third one choose between the two before it, each with one half: S is 1 for all three pairs.

References
----------
.. [1] Blei and Frazier, Distance dependent Chinese restaurant processes, JMLR 12, 2011.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

NEGLIGIBLE = 1e-6
"""Probability of an antecedent below which no third record is reached through it."""

SURE = 0.9
"""Probability from which, in estimation, two records count as of one person for the sake of a third.

Estimation must not reach a third record through doubtful ones: members of a household are all similar to each other, so
that a little probability on each of them would make all of them one person, and m that of households.
"""


def same_person(
    earlier: NDArray[np.integer], later: NDArray[np.integer], antecedent: NDArray[np.float64], sure: float = 0.0
) -> NDArray[np.float64]:
    """Probability that the two records of each pair are of one person.

    Parameters
    ----------
    earlier, later : ndarray of int, shape (n_pairs,)
        Rows of a file, ``earlier < later``; no pair twice.
    antecedent : ndarray of float64, shape (n_pairs,)
        P(the later record is a copy of the earlier one); over the pairs of a later record they sum to at most 1.
    sure : float
        Pairs below this probability lead to no third record: `SURE` in estimation, 0 otherwise.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)

    Notes
    -----
    Exact with `sure` 0 where all pairs that may be of one person are listed; a pair that is not listed counts as of
    two. O(sum over the records of the square of their pairs, times the logarithm of their number).
    """
    order = np.lexsort((earlier, later))
    rows, first = np.unique(later[order], return_index=True)
    first = np.append(first, len(order)).astype(np.int64)
    place = np.full(int(max(later.max(initial=-1), earlier.max(initial=-1))) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    found = np.empty(len(order))
    found[order] = _same(earlier[order].astype(np.int64), antecedent[order], first, place, sure)
    return np.minimum(found, 1.0)


def persons(
    earlier: NDArray[np.integer], later: NDArray[np.integer], same: NDArray[np.float64], n: int, threshold: float
) -> NDArray[np.int64]:
    """First record of the person of each record.

    In the order of the file each record joins the person of the earlier record with which it most probably is of one
    person, if that probability reaches the threshold.

    Parameters
    ----------
    earlier, later : ndarray of int, shape (n_pairs,)
    same : ndarray of float64, shape (n_pairs,)
        From `same_person`.
    n : int
        Records of the file.
    threshold : float

    Returns
    -------
    ndarray of int64, shape (n,)
        The record itself where it is its person's first.
    """
    person = np.arange(n, dtype=np.int64)
    reached = np.flatnonzero(same >= threshold)
    order = reached[np.lexsort((earlier[reached], -same[reached], later[reached]))]
    rows, first = np.unique(later[order], return_index=True)
    for row, best in zip(rows.tolist(), earlier[order[first]].tolist(), strict=True):
        person[row] = person[best]
    return person


@njit(nogil=True, cache=True)
def _same(
    earlier: NDArray[np.int64],
    antecedent: NDArray[np.float64],
    first: NDArray[np.int64],
    place: NDArray[np.int64],
    sure: float,
) -> NDArray[np.float64]:
    """The recursion, pairs being sorted by their later and then by their earlier record."""
    same = np.zeros(len(earlier))
    for g in range(len(first) - 1):
        for e in range(first[g], first[g + 1]):
            i = earlier[e]
            total = antecedent[e]
            for f in range(first[g], first[g + 1]):
                k = earlier[f]
                if k == i or antecedent[f] < NEGLIGIBLE:
                    continue
                low, high = min(i, k), max(i, k)
                there = place[high]
                if there < 0:
                    continue
                at = first[there] + np.searchsorted(earlier[first[there] : first[there + 1]], low)
                if at < first[there + 1] and earlier[at] == low and same[at] >= sure:
                    total += antecedent[f] * same[at]
            same[e] = total
    return same
