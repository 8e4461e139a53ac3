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
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from gemel.carole.fellegi_sunter.candidate_graph import CandidateGraph
from gemel.carole.fellegi_sunter.linkage_sampler import average_links, choices
from gemel.carole.fellegi_sunter.messages import Messages
from gemel.carole.fellegi_sunter.subset_enumeration import MAX_SUBSET_SIDE, enumerate_links

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

    Parameters
    ----------
    probability : ndarray of float64, shape (n_edges,)
    enumerated, sampled, left : int
        Groups of each kind; those left keep the probabilities by propagation.
    """

    probability: NDArray[np.float64]
    enumerated: int
    sampled: int
    left: int

    @property
    def groups(self) -> int:
        """Groups with a cycle."""
        return self.enumerated + self.sampled + self.left


class _Groups(NamedTuple):
    """Connected groups of edges that have a cycle: edges sorted by group, where each begins, and sizes."""

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    n_edges: NDArray[np.int64]
    smaller: NDArray[np.int64]

    def chosen(self, which: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Edges of some groups, sorted by group, and the first position of each group and the end."""
        sizes = self.n_edges[which]
        first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        within = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
        return self.order[np.repeat(self.first[which], sizes) + within], first


def without_cycles(graph: CandidateGraph, messages: Messages) -> Corrected:
    """Replace the probabilities of belief propagation in groups with a cycle.

    Parameters
    ----------
    graph : CandidateGraph
    messages : Messages
        At the fixed point.

    Notes
    -----
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


class _Isolated(NamedTuple):
    """Weights of edges beside no link inside, the pull of each record of B, and each record's weight of none inside."""

    weight: NDArray[np.float64]
    pull: NDArray[np.float64]
    none_a: NDArray[np.floating]
    none_b: NDArray[np.floating]


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

    def groups(self, threshold: float) -> tuple[NDArray[np.int64], _Groups]:
        """Edges above a probability whose records are in no group yet, and the groups with a cycle among them."""
        row, column = self._row, self._column
        edges = np.flatnonzero((self._before > threshold) & self._open_row[row] & self._open_column[column])
        return edges, _cyclic_groups(row[edges], column[edges], self._n_rows, self._n_columns)

    def enumerate(self, inside: NDArray[np.int64], first: NDArray[np.int64]) -> int:
        """Cut out groups by enumeration; returns how many keep what they had, their weights being out of range."""
        weight, pull, none_a, none_b = self._isolated(inside)
        row, column, found = self._row[inside], self._column[inside], np.empty(len(inside))
        failed = enumerate_links(first, row, column, weight, pull, self._n_rows, self._n_columns, found)
        self._put(inside, np.where(np.isnan(found), self._before[inside], found), none_a, none_b)
        return failed

    def sample(self, inside: NDArray[np.int64], first: NDArray[np.int64], sweeps: int) -> int:
        """Cut out groups by two Markov chains; returns how many keep what they had, the chains being of two minds."""
        weight, pull, none_a, none_b = self._isolated(inside)
        rows, row = np.unique(self._row[inside], return_inverse=True)
        columns, column = np.unique(self._column[inside], return_inverse=True)
        order = np.argsort(row, kind="stable")
        start = np.concatenate(([0], np.cumsum(np.bincount(row)))).astype(np.int64)
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

    def _isolated(self, inside: NDArray[np.int64]) -> _Isolated:
        """The groups' weights, the messages from outside being part of them."""
        outside = np.ones(len(self._row), dtype=np.bool_)
        outside[inside] = False
        none_a = 1.0 + np.bincount(self._row, np.where(outside, self._claims_a, 0.0), minlength=self._n_rows)
        none_b = 1.0 + np.bincount(self._column, np.where(outside, self._claims_b, 0.0), minlength=self._n_columns)
        row, column = self._row[inside], self._column[inside]
        weight = self._weight[inside] / none_a[row] / none_b[column]
        claims = np.bincount(column, self._claims_b[inside], minlength=self._n_columns) / none_b
        return _Isolated(weight, 1.0 / (1.0 + claims), none_a, none_b)

    def _put(
        self, inside: NDArray[np.int64], found: NDArray[np.float64], none_a: NDArray[np.floating],
        none_b: NDArray[np.floating],
    ) -> None:  # fmt: skip
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


def _cheapest(cost: NDArray[np.float64], budget: float) -> NDArray[np.bool_]:
    """Which of some groups, the cheapest first, a budget allows."""
    order = np.argsort(cost, kind="stable")
    allowed = np.zeros(len(cost), dtype=np.bool_)
    allowed[order] = np.cumsum(cost[order]) <= budget
    return allowed


def _cyclic_groups(row: NDArray[np.int32], column: NDArray[np.int32], n_rows: int, n_columns: int) -> _Groups:
    n = n_rows + n_columns
    joined = csr_matrix((np.ones(len(row), dtype=np.int8), (row, column + n_rows)), shape=(n, n))
    n_groups, label = connected_components(joined, directed=False)
    rows = np.bincount(label[:n_rows], minlength=n_groups)
    columns = np.bincount(label[n_rows:], minlength=n_groups)
    of_edge = label[row]
    edges = np.bincount(of_edge, minlength=n_groups)
    cyclic = np.flatnonzero(edges >= rows + columns)
    first = np.cumsum(edges) - edges
    order = np.argsort(of_edge, kind="stable").astype(np.int64)
    return _Groups(order, first[cyclic], edges[cyclic], np.minimum(rows, columns)[cyclic])
