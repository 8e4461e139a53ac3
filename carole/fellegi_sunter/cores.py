"""Exact or sampled probabilities where belief propagation is wrong: in groups of records that compete in a cycle.

Belief propagation is exact on trees. A cycle among pairs of real probability makes it overstate the better of two
exchanges, by up to .45 (the largest found among 14,500 graphs of 2 to 4 records of each file). Such a group is cut
out, and what the messages from outside weigh enters as a record's weight of having no link inside:

* it is taken as large as can be enumerated: first the whole connected component, where one side has no more than
  `MAX_SUBSET_SIDE` records; else what pairs above one of `THRESHOLDS` connect, the lowest that leaves it small enough;
* what is still too large at the last threshold is sampled by a Markov chain, if it can be afforded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.candidate_graph import CandidateGraph, Messages, by_node, components
from gemel.carole.fellegi_sunter.linkage_sampler import average_links, choices
from gemel.common.arrays import F64, I32, I64, Flags

# Exact probabilities of links among few records, by dynamic programming over the subsets of the smaller side.
#
# Records of the larger side are taken one after another; what matters of those before is which records of the smaller
# side they have taken. With F the summed weights of all ways to come to a subset and B of all ways to go on from it,
#
# .. math:: P(i, j) = \sum_{S \not\ni j} F_i(S)\, w_{ij}\, B_{i+1}(S \cup j) / Z.


MAX_SUBSET_SIDE = 12
"""Records of the smaller side: 4,096 subsets."""


@njit(nogil=True, cache=True, error_model="numpy")
def _enumerated(first: I64, bit: I64, weight: F64, free: F64, n_bits: int, probability: F64) -> float:
    """Write the probability of each link of a small graph, NaN if the weights are out of range; return their log sum.

    `first` (n_larger + 1,): edges of each record of the larger side, which are consecutive; `bit` (n_edges,): record of
    the smaller side of each edge, 0 to `n_bits` - 1; `weight` (n_edges,): of each link, beside 1 for a record of the
    larger side without one; `free` (n_bits,): of a record of the smaller side without one. O(n_edges * 2 ** n_bits)
    time, O(n_larger * 2 ** n_bits) memory.
    """
    n = len(first) - 1
    size = 1 << n_bits
    ways = np.zeros((n + 1, size))
    ways[0, 0] = 1.0
    none = np.empty(n)
    log_sum = 0.0
    for i in range(n):
        # The largest weight of a record's choices is made 1, so that the likely matchings stay in range.
        top = 1.0
        for e in range(first[i], first[i + 1]):
            top = max(top, weight[e])
        none[i] = 1.0 / top
        largest = 0.0
        for s in range(size):
            before = ways[i, s]
            if before == 0.0:
                continue
            ways[i + 1, s] += before * none[i]
            for e in range(first[i], first[i + 1]):
                if not (s >> bit[e]) & 1:
                    ways[i + 1, s | (1 << bit[e])] += before * (weight[e] * none[i])
        for s in range(size):
            largest = max(largest, ways[i + 1, s])
        ways[i + 1] /= largest
        log_sum += np.log(largest) + np.log(top)
    after = np.ones(size)
    for s in range(size):
        for j in range(n_bits):
            if not (s >> j) & 1:
                after[s] *= free[j]
    total = (ways[n] * after).sum()
    if not (total > 0.0 and total < np.inf):
        probability[:] = np.nan
        return np.nan
    log_sum += np.log(total)
    for i in range(n - 1, -1, -1):
        before = np.zeros(size)
        linked = 0.0
        for s in range(size):
            before[s] = after[s] * none[i]
        unlinked = (ways[i] * before).sum()
        for e in range(first[i], first[i + 1]):
            here = 0.0
            for s in range(size):
                if not (s >> bit[e]) & 1:
                    x = weight[e] * none[i] * after[s | (1 << bit[e])]
                    before[s] += x
                    here += ways[i, s] * x
            probability[e] = here
            linked += here
        for e in range(first[i], first[i + 1]):
            probability[e] /= linked + unlinked
        after = before / before.max()
    return float(log_sum)


@njit(nogil=True, cache=True)
def enumerate_links(
    group_first: I64, row: I32, column: I32, weight: F64, pull: F64, n_rows: int, n_columns: int, probability: F64
) -> int:
    """Write exact probabilities of links in small groups, each by itself; returns how many were out of range.

    `group_first` (n_groups + 1,): edges of each group, which are consecutive; no group may have more than
    `MAX_SUBSET_SIDE` records of both sides; `weight` (n_edges,): of each link, beside 1 for a record without one;
    `pull` (n_columns,): about the probability that a record of B has no link: a scale that keeps sums in range, any
    positive number; `probability` (n_edges,): NaN in a group whose weights are out of the range of floats. O(n_edges *
    2 ** smaller side) for each group.
    """
    local_row, local_column = np.empty(n_rows, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    failed = 0
    for g in range(len(group_first) - 1):
        begin, end = group_first[g], group_first[g + 1]
        for e in range(begin, end):
            local_row[row[e]] = -1
            local_column[column[e]] = -1
        rows, columns = 0, 0
        scale = np.empty(end - begin)
        for e in range(begin, end):
            if local_row[row[e]] < 0:
                local_row[row[e]] = rows
                rows += 1
            if local_column[column[e]] < 0:
                scale[columns] = pull[column[e]]
                local_column[column[e]] = columns
                columns += 1
        by_row = columns <= rows
        larger, smaller = max(rows, columns), min(rows, columns)
        first = np.zeros(larger + 1, dtype=np.int64)
        for e in range(begin, end):
            first[1 + (local_row[row[e]] if by_row else local_column[column[e]])] += 1
        first = np.cumsum(first)
        place, bit, scaled = first.copy(), np.empty(end - begin, dtype=np.int64), np.empty(end - begin)
        source = np.empty(end - begin, dtype=np.int64)
        for e in range(begin, end):
            i = local_row[row[e]] if by_row else local_column[column[e]]
            k = place[i]
            place[i] += 1
            bit[k] = local_column[column[e]] if by_row else local_row[row[e]]
            scaled[k] = weight[e] * pull[column[e]] if by_row else weight[e]
            source[k] = e
        found = np.empty(end - begin)
        free = scale[:smaller] if by_row else np.ones(smaller)
        if np.isnan(_enumerated(first, bit, scaled, free, smaller, found)):
            failed += 1
        for k in range(end - begin):
            probability[source[k]] = found[k]
    return failed


THRESHOLDS = (0.0, 1e-4, 1e-3, 1e-2)
"""Probability by propagation above which a pair connects a group, each tried where the one before leaves it large."""

MAX_PRODUCTS = 2e8
"""Products of all enumerations together: about a second. The cheapest groups come first."""

MAX_SAMPLED = 5e7
"""Sweeps times pairs of all sampled groups together: some seconds."""

SWEEPS = 4000
"""Sweeps of both chains together, after a quarter as many that are not counted."""

MIN_SWEEPS = 400
"""Fewer are not worth their noise: the groups keep their probabilities by propagation."""

MAX_APART = 0.2
"""Difference of a link's probability between two chains above which neither is believed: many times their noise."""

SEED = 20171
"""Of the chain: equal files have equal results."""


class Corrected(NamedTuple):
    """Probabilities of links with groups in a cycle computed separately.

    `probability` (float64, shape (n_edges,)).
    """

    probability: F64
    enumerated: int
    sampled: int
    left: int

    @property
    def groups(self) -> int:
        """Groups with a cycle."""
        return self.enumerated + self.sampled + self.left


class _Groups(NamedTuple):
    """Connected groups of edges that have a cycle: edges sorted by group, where each begins, and sizes."""

    order: I64
    first: I64
    n_edges: I64
    smaller: I64

    def chosen(self, which: Flags) -> tuple[I64, I64]:
        """Edges of some groups, sorted by group, and the first position of each group and the end."""
        sizes = self.n_edges[which]
        first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        within = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
        return self.order[np.repeat(self.first[which], sizes) + within], first


def without_cycles(graph: CandidateGraph, messages: Messages) -> Corrected:
    """Replace the probabilities of belief propagation in groups with a cycle.

    O(n_edges), and at most `MAX_PRODUCTS` and `MAX_SAMPLED` for enumerations and chains.
    """
    cutting = _Cutting(graph, messages)
    budget, enumerated, sampled, left = MAX_PRODUCTS, 0, 0, 0
    for threshold in THRESHOLDS:
        edges, groups = cutting.groups(threshold)
        if not len(groups.n_edges):
            break
        products = groups.n_edges.astype(np.float64) * np.exp2(np.minimum(groups.smaller, 60).astype(np.float64))
        small = groups.smaller <= MAX_SUBSET_SIDE
        small[small] = _cheapest(products[small], budget)
        budget -= float(products[small].sum())
        if small.any():
            inside, first = groups.chosen(small)
            failed = cutting.enumerate(edges[inside], first)
            enumerated, left = enumerated + int(small.sum()) - failed, left + failed
        if threshold == THRESHOLDS[-1] and not small.all():
            inside, first = groups.chosen(~small)
            sweeps = int(min(SWEEPS, MAX_SAMPLED / len(inside)))
            failed = cutting.sample(edges[inside], first, sweeps) if sweeps >= MIN_SWEEPS else int((~small).sum())
            sampled, left = sampled + int((~small).sum()) - failed, left + failed
    return Corrected(cutting.probability, enumerated, sampled, left)


Claims = NDArray[np.floating]


class _Cutting:
    """Cuts groups of edges out of a graph, each record at most once."""

    def __init__(self, graph: CandidateGraph, messages: Messages) -> None:
        self._row, self._column = graph.edge_row, graph.edge_column
        self._n_rows, self._n_columns = len(graph.row_first) - 1, len(graph.column_first) - 1
        self._weight = messages.weight
        self._claims_a, self._claims_b = messages.weight * messages.to_a, messages.weight * messages.to_b
        odds = self._claims_a * messages.to_b
        self._before = odds / (1.0 + odds)
        self._open_row = np.ones(self._n_rows, dtype=np.bool_)
        self._open_column = np.ones(self._n_columns, dtype=np.bool_)
        self.probability = self._before.copy()

    def groups(self, threshold: float) -> tuple[I64, _Groups]:
        """Edges above a probability whose records are in no group yet, and the groups with a cycle among them."""
        row, column = self._row, self._column
        edges = np.flatnonzero((self._before > threshold) & self._open_row[row] & self._open_column[column])
        return edges, _cyclic_groups(row[edges], column[edges], self._n_rows, self._n_columns)

    def enumerate(self, inside: I64, first: I64) -> int:
        """Cut out groups by enumeration; returns how many keep what they had, their weights being out of range."""
        weight, pull, none_a, none_b = self._isolated(inside)
        row, column, found = self._row[inside], self._column[inside], np.empty(len(inside))
        failed = enumerate_links(first, row, column, weight, pull, self._n_rows, self._n_columns, found)
        self._put(inside, np.where(np.isnan(found), self._before[inside], found), none_a, none_b)
        return failed

    def sample(self, inside: I64, first: I64, sweeps: int) -> int:
        """Cut out groups by two Markov chains; returns how many keep what they had, the chains being of two minds."""
        weight, pull, none_a, none_b = self._isolated(inside)
        rows, row = np.unique(self._row[inside], return_inverse=True)
        columns, column = np.unique(self._column[inside], return_inverse=True)
        start, order = by_node(row.astype(np.int32), len(rows))
        level = np.zeros(min(len(rows), len(columns)) + 1)
        choice = choices(start, column[order].astype(np.int64), weight[order], pull[columns], level)
        rng = np.random.default_rng(SEED)
        chains = np.empty((2, len(inside)))
        likely = self._before[inside][order]
        chains[0, order] = average_links(choice, np.zeros_like(likely), sweeps // 2, rng)
        chains[1, order] = average_links(choice, likely, sweeps // 2, rng)
        apart = np.maximum.reduceat(np.abs(chains[0] - chains[1]), first[:-1]) > MAX_APART
        found = np.where(np.repeat(apart, np.diff(first)), self._before[inside], chains.mean(axis=0))
        self._put(inside, found, none_a, none_b)
        return int(apart.sum())

    def _isolated(self, inside: I64) -> tuple[F64, F64, Claims, Claims]:
        """The groups' weights, the messages from outside being part of them.

        Of the edges beside no link inside, the pull of each record of B, and each record's weight of none inside.
        """
        outside = np.ones(len(self._row), dtype=np.bool_)
        outside[inside] = False
        none_a = 1.0 + np.bincount(self._row, np.where(outside, self._claims_a, 0.0), minlength=self._n_rows)
        none_b = 1.0 + np.bincount(self._column, np.where(outside, self._claims_b, 0.0), minlength=self._n_columns)
        row, column = self._row[inside], self._column[inside]
        weight = self._weight[inside] / none_a[row] / none_b[column]
        claims = np.bincount(column, self._claims_b[inside], minlength=self._n_columns) / none_b
        return weight, 1.0 / (1.0 + claims), none_a, none_b

    def _put(self, inside: I64, found: F64, none_a: Claims, none_b: Claims) -> None:
        """Write the probabilities of a cut, and share what is left of its records among their links outside."""
        self.probability[inside] = found
        cut = np.zeros(len(self._row), dtype=np.bool_)
        cut[inside] = True
        sides = (
            (self._row, self._claims_a, none_a, self._open_row),
            (self._column, self._claims_b, none_b, self._open_column),
        )
        for end, claims, none, still_open in sides:
            left = np.maximum(1.0 - np.bincount(end[inside], found, minlength=len(none)), 0.0)
            touched = np.zeros(len(none), dtype=np.bool_)
            touched[end[inside]] = True
            links = np.flatnonzero(touched[end] & ~cut)
            share = left[end[links]] * claims[links] / none[end[links]]
            # Both ends must have room: no record's links may exceed 1 in sum.
            self.probability[links] = np.minimum(self.probability[links], share)
            still_open[end[inside]] = False


def _cheapest(cost: F64, budget: float) -> Flags:
    """Which of some groups, the cheapest first, a budget allows."""
    order = np.argsort(cost, kind="stable")
    allowed = np.zeros(len(cost), dtype=np.bool_)
    allowed[order] = np.cumsum(cost[order]) <= budget
    return allowed


def _cyclic_groups(row: I32, column: I32, n_rows: int, n_columns: int) -> _Groups:
    n_groups, of_row, of_column = components(row, column, n_rows, n_columns)
    rows, columns = (np.bincount(group, minlength=n_groups) for group in (of_row, of_column))
    of_edge = of_row[row]
    edges = np.bincount(of_edge, minlength=n_groups)
    cyclic = np.flatnonzero(edges >= rows + columns)
    first = np.cumsum(edges) - edges
    order = np.argsort(of_edge, kind="stable").astype(np.int64)
    return _Groups(order, first[cyclic], edges[cyclic], np.minimum(rows, columns)[cyclic])
