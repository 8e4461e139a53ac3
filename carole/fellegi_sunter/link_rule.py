"""Which pairs become links: a threshold, a requested rate of false links, and how often a record may be linked.

There is one threshold (Smith and Shlomo 2014): a pair is a link or it is not. It is given as a probability, derived
from the costs of the two errors, or the lowest at which the expected share of false links stays within a limit.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.assignment import optimal_assignment
from gemel.common.errors import GemelError, parameter

Assignment = Literal["one_to_one", "greedy", "many_to_one", "one_to_many", "clusters", "none"]


def assigned(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    probability: NDArray[np.float64],
    threshold: float,
    assignment: Assignment,
) -> NDArray[np.int64]:
    """Positions of the pairs to link at a threshold.

    Parameters
    ----------
    a, b : ndarray of int, shape (n_pairs,)
        Rows of the two files, no pair twice; under clusters the persons of the two records.
    probability : ndarray of float64, shape (n_pairs,)
    threshold : float
        Smallest probability of a link, in (0, 1].
    assignment : {"one_to_one", "greedy", "many_to_one", "one_to_many", "clusters", "none"}
        one_to_one: the set of links with the largest gain, where a link gains its probability and costs `threshold`;
        from .5 up, probabilities that obey one-to-one determine it. greedy: the most probable pair first, then the next
        that touches no linked record. many_to_one: each record of A takes its most probable partner; one_to_many:
        each record of B does. clusters: persons are linked one to one, by the most probable pair of their records, and
        all pairs of linked persons are links. Ties fall to the pair that comes first.

    Returns
    -------
    ndarray of int64
        Ascending.
    """
    if not 0 < threshold <= 1:
        raise _wrong("links.threshold", "a threshold in (0, 1]", str(threshold), "change links.threshold")
    if assignment == "clusters":
        return _of_persons(a, b, probability, threshold)
    reached = np.flatnonzero(probability >= threshold).astype(np.int64)
    if assignment == "none":
        return reached
    if assignment == "one_to_one":
        # A pair exactly at the threshold is linked; an assignment takes only pairs of positive gain.
        gain = probability[reached] - threshold + 1e-9
        return reached[optimal_assignment(a[reached], b[reached], gain)]
    order = reached[np.argsort(-probability[reached], kind="stable")]
    _, rows = np.unique(a[order], return_inverse=True)
    _, columns = np.unique(b[order], return_inverse=True)
    if assignment == "many_to_one":
        columns = np.arange(len(order))
    if assignment == "one_to_many":
        rows = np.arange(len(order))
    return np.sort(order[_first_come(rows.astype(np.int64), columns.astype(np.int64))])


def within_rate(
    probability: NDArray[np.float64], links: NDArray[np.int64], rate: float
) -> tuple[NDArray[np.int64], float]:
    """The most probable of some links, as many as keep the expected share of false ones within a rate.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_pairs,)
    links : ndarray of int64
        Positions of possible links.
    rate : float
        Greatest mean of 1 - probability, in (0, 1).

    Returns
    -------
    links : ndarray of int64
        Ascending; links of one probability stay together.
    threshold : float
        Minimum probability among them; 1 when there are none.
    """
    if not 0 < rate < 1:
        raise _wrong("links.false_link_rate", "a share in (0, 1)", str(rate), "for instance .01")
    order = links[np.argsort(-probability[links], kind="stable")]
    ordered = probability[order]
    expected = np.cumsum(1 - ordered) / np.arange(1, len(order) + 1)
    last_of_class = np.append(ordered[1:] != ordered[:-1], True)[: len(order)]
    fitting = np.flatnonzero((expected <= rate) & last_of_class)
    if not len(fitting):
        return links[:0], 1.0
    chosen = order[: fitting[-1] + 1]
    return np.sort(chosen), float(ordered[fitting[-1]])


def _of_persons(
    a: NDArray[np.integer], b: NDArray[np.integer], probability: NDArray[np.float64], threshold: float
) -> NDArray[np.int64]:
    """All pairs of the persons that one_to_one links."""
    _, first, persons = np.unique(np.stack([a, b], axis=1), axis=0, return_index=True, return_inverse=True)
    persons = persons.ravel()
    highest = np.zeros(len(first))
    np.maximum.at(highest, persons, probability)
    linked = np.zeros(len(first), dtype=np.bool_)
    linked[assigned(a[first], b[first], highest, threshold, "one_to_one")] = True
    return np.flatnonzero(linked[persons]).astype(np.int64)


@njit(nogil=True, cache=True)
def _first_come(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs, taken in order, touch no row and no column that an earlier one took."""
    chosen = np.zeros(len(rows), dtype=np.bool_)
    if len(rows) == 0:
        return chosen
    row_taken = np.zeros(rows.max() + 1, dtype=np.bool_)
    column_taken = np.zeros(columns.max() + 1, dtype=np.bool_)
    for k in range(len(rows)):
        if not row_taken[rows[k]] and not column_taken[columns[k]]:
            row_taken[rows[k]] = True
            column_taken[columns[k]] = True
            chosen[k] = True
    return chosen


def _wrong(where: str, expected: str, got: str, remedy: str) -> GemelError:
    return parameter(where, f"expected {expected}", got, remedy)
