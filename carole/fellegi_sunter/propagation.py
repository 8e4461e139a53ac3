r"""Belief propagation for weighted matchings.

A matching of a bipartite graph has weight ``prod w_e`` over its links, and a probability proportional to it. The
message from a record to a candidate, ``1 / (1 + sum of w times message over its other candidates)``, is the probability
that the record is free if that candidate did not exist; at the fixed point

.. math:: P(e) = w\,\mu_{ab}\,\mu_{ba} / (1 + w\,\mu_{ab}\,\mu_{ba}).

Exact where the graph has no cycle, otherwise Bethe's approximation. The fixed point exists and is unique for finite
weights. Rows and columns send messages in turn, which from "all records are free" rises to the fixed point
monotonically, so no damping is needed. Each connected component runs until it has converged: nearly all of a
linkage's components are single pairs or stars and take two rounds. Weak comparisons make one giant component of most
records; there most messages converge in a few rounds and some take hundreds, so a record sends again only when it has
received a changed message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

GREATEST_LOG_WEIGHT = 600.0
"""Weights are limited to e to this power, above any evidence, so that their products stay in range."""

MAX_ROUNDS = 500
"""Rounds after which a component is stopped and counted as not converged; fewer in a giant one, see `MAX_MESSAGES`."""

MAX_MESSAGES = 5e7
"""Maximum messages in a giant component, unless that is less than `MIN_ROUNDS`: a few seconds."""

MIN_ROUNDS = 30

GIANT_EDGES = 10_000
"""Number of pairs above which a component is called giant."""

GIANT_TOLERANCE = 1e-5
"""Tolerance there: a change of a link's probability below which no further round is made."""

_WEIGHT, _TO_A, _TO_B = 0, 1, 2


class CandidateGraph(NamedTuple):
    """Candidate pairs arranged for passing messages: by component, by record of A, and by record of B.

    Parameters
    ----------
    order : ndarray of int64, shape (n_pairs,)
        Position, in the caller's arrays, of each edge.
    row_first : ndarray of int64, shape (n_rows + 1,)
        Edges of each record of A: consecutive.
    column_first, column_edge : ndarray of int64
        Edges of each record of B: ``column_edge[column_first[j]:column_first[j + 1]]``.
    edge_row, edge_column : ndarray of int64, shape (n_pairs,)
        Records of A and of B that each edge joins.
    component_row, component_column : ndarray of int64, shape (n_components + 1,)
        First record of A, and of B, of each component.
    """

    order: NDArray[np.int64]
    row_first: NDArray[np.int64]
    column_first: NDArray[np.int64]
    column_edge: NDArray[np.int64]
    edge_row: NDArray[np.int64]
    edge_column: NDArray[np.int64]
    component_row: NDArray[np.int64]
    component_column: NDArray[np.int64]

    @property
    def n_edges(self) -> int:
        """Number of candidate pairs."""
        return len(self.order)


@dataclass(frozen=True)
class Beliefs:
    """The result of belief propagation.

    Parameters
    ----------
    log_odds : ndarray of float64, shape (n_pairs,)
        Of each link, in the order of the caller's arrays.
    log_weight_sum : float
        Bethe's logarithm of the summed weights of all matchings, the empty one weighing 1.
    rounds : int
        Maximum rounds over the components.
    not_converged : int
        Components that were stopped before they converged.
    """

    log_odds: NDArray[np.float64]
    log_weight_sum: float
    rounds: int
    not_converged: int


def candidate_graph(a: NDArray[np.integer], b: NDArray[np.integer]) -> CandidateGraph:
    """Arrange candidate pairs; `a` and `b` are rows of the two files, of shape (n_pairs,), no pair twice."""
    _, rows = np.unique(a, return_inverse=True)
    _, columns = np.unique(b, return_inverse=True)
    n_rows, n_columns = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    n = n_rows + n_columns
    edges = csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns + n_rows)), shape=(n, n))
    n_components, label = connected_components(edges, directed=False)
    row_label, column_label = label[:n_rows], label[n_rows:]
    row_rank = _ranks(row_label)
    column_rank = _ranks(column_label)
    order = np.lexsort((column_rank[columns], row_rank[rows]))
    sorted_rows, sorted_columns = row_rank[rows][order], column_rank[columns][order]
    return CandidateGraph(
        order=order,
        row_first=_firsts(sorted_rows, n_rows),
        column_first=_firsts(sorted_columns, n_columns),
        column_edge=np.argsort(sorted_columns, kind="stable"),
        edge_row=sorted_rows,
        edge_column=sorted_columns,
        component_row=_firsts(row_label, n_components),
        component_column=_firsts(column_label, n_components),
    )


def _ranks(label: NDArray[np.integer]) -> NDArray[np.int64]:
    """Position of each item when items are sorted by label."""
    rank = np.empty(len(label), dtype=np.int64)
    rank[np.argsort(label, kind="stable")] = np.arange(len(label))
    return rank


def _firsts(label: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """First position of each label 0 to n - 1 among sorted labels, and their number."""
    return np.concatenate(([0], np.cumsum(np.bincount(label, minlength=n)))).astype(np.int64)


class Propagation:
    """Messages on a graph of candidates, kept from one prior to the next so that each starts near its fixed point.

    Parameters
    ----------
    graph : CandidateGraph
    log_ratio : ndarray of float64, shape (n_pairs,)
        Natural logarithm of each pair's likelihood ratio, in the caller's order.
    tolerance : float
        Maximum change of a link's probability in a round at which a component has converged.
    giant_tolerance : float
        The same in components of more than `GIANT_EDGES` pairs.
    """

    def __init__(
        self,
        graph: CandidateGraph,
        log_ratio: NDArray[np.float64],
        tolerance: float = 1e-8,
        giant_tolerance: float = GIANT_TOLERANCE,
    ) -> None:
        self._graph = graph
        self._log_ratio = np.ascontiguousarray(log_ratio[graph.order], dtype=np.float64)
        # One record of 32 bytes per edge: access by column then needs a single cache line.
        self._edges = np.ones((graph.n_edges, 4))
        self._tolerances = tolerance, max(tolerance, giant_tolerance)

    def run(self, log_prior_odds: float, max_rounds: int = MAX_ROUNDS) -> Beliefs:
        """Pass messages until they converge, every pair's weight being prior odds times likelihood ratio.

        Parameters
        ----------
        log_prior_odds : float
            Natural logarithm.
        max_rounds : int
            Rounds that a component may take.
        """
        graph = self._graph
        log_weight = np.clip(self._log_ratio + log_prior_odds, -GREATEST_LOG_WEIGHT, GREATEST_LOG_WEIGHT)
        self._edges[:, _WEIGHT] = np.exp(log_weight)
        rounds, not_converged, log_sum = _propagate(self._edges, graph, max_rounds, *self._tolerances)
        log_odds = np.empty(graph.n_edges)
        log_odds[graph.order] = log_weight + np.log(self._edges[:, _TO_B]) + np.log(self._edges[:, _TO_A])
        return Beliefs(log_odds, log_sum, rounds, not_converged)


@njit(nogil=True, cache=True, error_model="numpy")
def _propagate(
    edges: NDArray[np.float64],
    graph: CandidateGraph,
    max_rounds: int,
    tolerance: float,
    giant_tolerance: float,
) -> tuple[int, int, float]:
    """Run every component; returns the maximum rounds, components not converged, and the log of the summed weights."""
    in_order = np.arange(len(edges))
    row_waits = np.ones(len(graph.row_first) - 1, dtype=np.bool_)
    column_waits = np.ones(len(graph.column_first) - 1, dtype=np.bool_)
    maximum = 0
    not_converged = 0
    log_sum = 0.0
    for c in range(len(graph.component_row) - 1):
        size = graph.row_first[graph.component_row[c + 1]] - graph.row_first[graph.component_row[c]]
        minimum = tolerance if size <= GIANT_EDGES else giant_tolerance
        allowed = max_rounds
        if size > GIANT_EDGES:
            allowed = min(allowed, max(MIN_ROUNDS, int(MAX_MESSAGES / (2 * size))))
        rounds = 0
        waiting = 1
        while waiting > 0 and rounds < allowed:
            for i in range(graph.component_row[c], graph.component_row[c + 1]):
                if row_waits[i]:
                    row_waits[i] = False
                    _answer(
                        in_order, graph.row_first[i], graph.row_first[i + 1], edges, _TO_A, _TO_B, graph.edge_column,
                        column_waits, minimum,
                    )  # fmt: skip
            waiting = 0
            for j in range(graph.component_column[c], graph.component_column[c + 1]):
                if column_waits[j]:
                    column_waits[j] = False
                    waiting += _answer(
                        graph.column_edge, graph.column_first[j], graph.column_first[j + 1], edges, _TO_B, _TO_A,
                        graph.edge_row, row_waits, minimum,
                    )  # fmt: skip
            rounds += 1
        maximum = max(maximum, rounds)
        if waiting > 0:
            not_converged += 1
        for i in range(graph.component_row[c], graph.component_row[c + 1]):
            total = 1.0
            for e in range(graph.row_first[i], graph.row_first[i + 1]):
                x = edges[e, _WEIGHT] * edges[e, _TO_A]
                total += x
                log_sum -= np.log1p(x * edges[e, _TO_B])
            log_sum += np.log(total)
        for j in range(graph.component_column[c], graph.component_column[c + 1]):
            total = 1.0
            for k in range(graph.column_first[j], graph.column_first[j + 1]):
                e = graph.column_edge[k]
                total += edges[e, _WEIGHT] * edges[e, _TO_B]
            log_sum += np.log(total)
    return maximum, not_converged, log_sum


@njit(nogil=True, cache=True, error_model="numpy")
def _answer(
    which: NDArray[np.int64],
    first: int,
    last: int,
    edges: NDArray[np.float64],
    heard: int,
    message: int,
    other: NDArray[np.int64],
    waits: NDArray[np.bool_],
    tolerance: float,
) -> int:
    """Send a record's changed messages to its candidates; returns their number.

    Each message is 1 / (1 + sum over the *other* candidates). The heaviest term is left out of the running sum and
    added separately, so that nothing is ever subtracted from a sum it dominates. A message that would move a link's
    probability by less than the tolerance is not sent: small changes add up until they are sent.
    """
    top = -1.0
    heaviest = -1
    rest = 1.0
    for k in range(first, last):
        x = edges[which[k], _WEIGHT] * edges[which[k], heard]
        if x > top:
            if heaviest >= 0:
                rest += top
            top = x
            heaviest = k
        else:
            rest += x
    reported = 0
    for k in range(first, last):
        e = which[k]
        x = edges[e, _WEIGHT] * edges[e, heard]
        new = 1.0 / rest if k == heaviest else 1.0 / (top + (rest - x))
        # The change of the link's probability, from that of its odds.
        odds, before = x * new, x * edges[e, message]
        if abs(odds - before) > tolerance * (1.0 + odds) * (1.0 + before):
            edges[e, message] = new
            waits[other[e]] = True
            reported += 1
    return reported
