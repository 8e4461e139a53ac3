"""Which pairs become links: a threshold, a requested rate of false links, and how often a record may be linked.

There is one threshold (Smith and Shlomo 2014): a pair is a link or it is not. It is given as a probability, derived
from the costs of the two errors, the lowest at which the expected share of false links stays within a limit, or that at
which the expected F1 is the largest.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit

from gemel.carole.fellegi_sunter.one_to_one import check_pairs, uncontested
from gemel.common.arrays import F64, I64, Flags, Ints
from gemel.common.errors import parameter

# Optimal one-to-one decisions on sparse candidate pairs.
#
# A maximum-weight matching in which any record may stay unlinked: the assignment problem where every row has a
# separate column of cost 0. Solved exactly by successive shortest augmenting paths with dual prices (Jonker
# and Volgenant 1987, on sparse rows). A row whose best column is free takes it at once; the others search for an
# augmenting path, and a search ends as soon as it finds a free column or a row that loses nothing by staying unlinked,
# so it rarely leaves its neighbourhood.


UNASSIGNED = -1


def optimal_assignment(a: Ints, b: Ints, weight: F64) -> I64:
    """Choose pairs with the greatest total weight, no record in more than one.

    `a`, `b` (int, shape (n_pairs,)): rows of the two files; no pair twice. `weight` (float64, shape (n_pairs,)): gain
    of linking a pair over leaving both unlinked. Pairs that gain nothing are never chosen. Returns int64: positions of
    the chosen pairs, ascending.

    Optimal up to rounding. O(n_pairs log n_pairs) where records compete for few others, as in linkage; at worst O(rows
    * n_pairs log n_pairs). Ties fall to the pair found first, in the order of `a`.

    References
    ----------
    .. [1] Jonker and Volgenant, Computing 38, 1987. doi:10.1007/BF02278710
    """
    check_pairs(a, b, weight)
    useful = np.flatnonzero(weight > 0)
    alone = uncontested(a[useful], b[useful])
    taken, useful = useful[alone], useful[~alone]
    if len(useful) == 0:
        return taken
    _, rows = np.unique(a[useful], return_inverse=True)
    columns_present, columns = np.unique(b[useful], return_inverse=True)
    # The heaviest pair of a row first, as it is taken most often.
    order = np.lexsort((-weight[useful], rows))
    first = np.concatenate(([0], np.cumsum(np.bincount(rows))))
    chosen, _, _ = assign(first, columns[order].astype(np.int64), weight[useful][order], len(columns_present))
    return np.sort(np.concatenate([taken, useful[order[chosen[chosen >= 0]]]]))


@njit(nogil=True, cache=True)
def assign(first: I64, column: I64, weight: F64, n_columns: int) -> tuple[I64, F64, F64]:
    """Chosen entry of each row of a sparse matrix of positive weights, or -1, and the dual prices that prove it.

    Row i has the entries ``first[i]`` to ``first[i + 1]``. The prices u (n_rows,) and v (n_columns,) are at least 0,
    with ``u[i] + v[j] >= weight`` of every entry; equal for a chosen one, and 0 for an unlinked row or column. Their
    sum is the total weight: no other choice weighs more.
    """
    n_rows = len(first) - 1
    u = np.zeros(n_rows)
    v = np.zeros(n_columns)
    chosen = np.full(n_rows, UNASSIGNED, dtype=np.int64)
    row_of = np.full(n_columns, UNASSIGNED, dtype=np.int64)
    distance = np.full(n_columns, np.inf)
    entry_to = np.empty(n_columns, dtype=np.int64)
    row_to = np.empty(n_columns, dtype=np.int64)
    seen = np.empty(n_columns, dtype=np.int64)
    done = np.empty(n_columns, dtype=np.int64)
    for i in range(n_rows):
        for e in range(first[i], first[i + 1]):
            u[i] = max(u[i], weight[e] - v[column[e]])
        n_seen = 0
        n_done = 0
        heap = [(0.0, np.int64(UNASSIGNED))]
        heap.pop()
        row = i
        here = 0.0
        best = u[i]
        last_row = i
        last_column = np.int64(UNASSIGNED)
        while True:
            if here + u[row] < best:
                best = here + u[row]
                last_row = row
                last_column = np.int64(UNASSIGNED)
            for e in range(first[row], first[row + 1]):
                j = column[e]
                there = here + max(u[row] + v[j] - weight[e], 0.0)
                if there < distance[j] and there < best:
                    if distance[j] == np.inf:
                        seen[n_seen] = j
                        n_seen += 1
                    distance[j] = there
                    entry_to[j] = e
                    row_to[j] = row
                    if row_of[j] == UNASSIGNED:
                        best = there
                        last_column = j
                    else:
                        _push(heap, there, j)
            j = np.int64(UNASSIGNED)
            while len(heap) > 0:
                there, j = _pop(heap)
                if there == distance[j] and there < best:
                    break
                j = np.int64(UNASSIGNED)
            if j == UNASSIGNED:
                break
            here = distance[j]
            done[n_done] = j
            n_done += 1
            row = row_of[j]
        # Prices move so that the path found is tight; only finished rows and columns of the search take part.
        u[i] -= best
        for k in range(n_done):
            j = done[k]
            v[j] += best - distance[j]
            u[row_of[j]] -= best - distance[j]
        if last_column == UNASSIGNED:
            row = last_row
            u[row] = 0.0
            if row != i:
                j = column[chosen[row]]
                chosen[row] = UNASSIGNED
            else:
                j = np.int64(UNASSIGNED)
        else:
            j = last_column
        while j != UNASSIGNED:
            row = row_to[j]
            before = chosen[row]
            chosen[row] = entry_to[j]
            row_of[j] = row
            j = column[before] if row != i else np.int64(UNASSIGNED)
        for k in range(n_seen):
            distance[seen[k]] = np.inf
    return chosen, u, v


@njit(nogil=True, cache=True)
def _push(heap: list[tuple[float, np.int64]], key: float, value: np.int64) -> None:
    heap.append((key, value))
    k = len(heap) - 1
    while k > 0:
        up = (k - 1) >> 1
        if heap[up][0] <= heap[k][0]:
            break
        heap[up], heap[k] = heap[k], heap[up]
        k = up


@njit(nogil=True, cache=True)
def _pop(heap: list[tuple[float, np.int64]]) -> tuple[float, np.int64]:
    top = heap[0]
    last = heap.pop()
    n = len(heap)
    if n == 0:
        return top
    heap[0] = last
    k = 0
    while True:
        child = 2 * k + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1][0] < heap[child][0]:
            child += 1
        if heap[k][0] <= heap[child][0]:
            break
        heap[k], heap[child] = heap[child], heap[k]
        k = child
    return top


Assignment = Literal["one_to_one", "greedy", "many_to_one", "one_to_many", "clusters", "none"]


def assigned(a: Ints, b: Ints, probability: F64, threshold: float, assignment: Assignment) -> I64:
    """Positions of the pairs to link at a threshold, the smallest probability of a link.

    `a`, `b` (int, shape (n_pairs,)): rows of the two files, no pair twice; under clusters the persons of the two
    records.

    one_to_one: the set of links with the largest gain, where a link gains its probability and costs `threshold`; from
    .5 up, probabilities that obey one-to-one determine it. greedy: the most probable pair first, then the next that
    touches no linked record. many_to_one: each record of A takes its most probable partner; one_to_many: each record of
    B does. clusters: persons are linked one to one, by the most probable pair of their records, and all pairs of linked
    persons are links. Ties fall to the pair that comes first.
    """
    if not 0 < threshold <= 1:
        raise parameter("links.threshold", "expected a threshold in (0, 1]", str(threshold), "change links.threshold")
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


def within_rate(probability: F64, links: I64, rate: float) -> tuple[I64, float]:
    """The most probable of some links, as many as keep the expected share of false ones within a rate.

    `rate`: greatest mean of 1 - probability, in (0, 1). Returns the links, ascending, those of one probability
    together, and the minimum probability among them: 1 when there are none.
    """
    if not 0 < rate < 1:
        raise parameter("links.false_link_rate", "expected a share in (0, 1)", str(rate), "for instance .01")
    order = links[np.argsort(-probability[links], kind="stable")]
    ordered = probability[order]
    expected = np.cumsum(1 - ordered) / np.arange(1, len(order) + 1)
    last_of_class = np.append(ordered[1:] != ordered[:-1], True)[: len(order)]
    fitting = np.flatnonzero((expected <= rate) & last_of_class)
    if not len(fitting):
        return links[:0], 1.0
    chosen = order[: fitting[-1] + 1]
    return np.sort(chosen), float(ordered[fitting[-1]])


MIN_LINK = 0.01
"""No pair less probable than this is linked where the threshold follows from the pairs."""

LARGEST = 0.5
"""Half of an F1 of 1."""


def largest_f1(
    a: Ints, b: Ints, probability: F64, n_matches: float, assignment: Assignment, none: float = 0.0
) -> tuple[I64, float]:
    r"""The links whose expected F1 is the largest, and their threshold, which is half of it.

    With L links of which S are expected to be true, and M expected matches, F1 is taken as :math:`2S / (L + M)`. For a
    ratio r that S / (L + M) can reach, links that maximise :math:`S - r L` reach more, or r was the largest
    (Dinkelbach 1967); these are the links at the threshold r.

    `n_matches`: M, of pairs that are not given too; `none`: probability that there is no match at all, with which no
    link has an F1 of 1; where that is more, nothing is linked. Arguments and links else as in `assigned`, some five
    times.

    References
    ----------
    .. [1] Dinkelbach, Management Science 13, 1967. doi:10.1287/mnsc.13.7.492
    """
    threshold, half = LARGEST, -1.0
    while True:
        links = assigned(a, b, probability, threshold, assignment)
        ratio = float(probability[links].sum()) / max(len(links) + n_matches, 1e-9)
        if ratio <= half + 1e-9:
            break
        half = ratio
        threshold = min(max(half, MIN_LINK), LARGEST)
    return (links, threshold) if 2 * half > none else (links[:0], LARGEST)


def _of_persons(a: Ints, b: Ints, probability: F64, threshold: float) -> I64:
    """All pairs of the persons that one_to_one links."""
    _, first, persons = np.unique(np.stack([a, b], axis=1), axis=0, return_index=True, return_inverse=True)
    persons = persons.ravel()
    highest = np.zeros(len(first))
    np.maximum.at(highest, persons, probability)
    linked = np.zeros(len(first), dtype=np.bool_)
    linked[assigned(a[first], b[first], highest, threshold, "one_to_one")] = True
    return np.flatnonzero(linked[persons]).astype(np.int64)


@njit(nogil=True, cache=True)
def _first_come(rows: I64, columns: I64) -> Flags:
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
