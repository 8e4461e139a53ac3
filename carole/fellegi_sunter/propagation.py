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

from tryst.carole.fellegi_sunter.candidate_graph import CandidateGraph

GREATEST_LOG_WEIGHT = 600.0
"""Weights are limited to e to this power, above any evidence, so that their products stay in range."""

MAX_ROUNDS = 500
"""Rounds after which a component is stopped and counted as not converged."""

MAX_MESSAGES = 1e9
"""Messages worked out in a giant component after which it is stopped as well: about ten seconds."""

GIANT_EDGES = 10_000
"""Number of pairs above which a component is called giant."""

GIANT_TOLERANCE = 1e-7
"""Tolerance there: a change of a link's probability below which no further round is made. With 1e-5 the sum over five
million pairs came to 5,779 links from below and to 5,763 from above, with this to 5,769.8 and 5,769.4."""

_WEIGHT, _TO_A, _TO_B = 0, 1, 2


class Messages(NamedTuple):
    """Weights and messages of each edge, in the graph's order; each of shape (n_edges,).

    Parameters
    ----------
    weight : ndarray of float64
    to_a, to_b : ndarray of float64
        Message to the edge's record of A, and of B.
    """

    weight: NDArray[np.float64]
    to_a: NDArray[np.float64]
    to_b: NDArray[np.float64]


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
    messages : float
        Messages worked out: the cost, some nanoseconds each.
    """

    log_odds: NDArray[np.float64]
    log_weight_sum: float
    rounds: int
    not_converged: int
    messages: float = 0.0


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
        rounds, not_converged, log_sum, worked_out = _propagate(self._edges, graph, max_rounds, *self._tolerances)
        log_odds = np.empty(graph.n_edges)
        log_odds[graph.order] = log_weight + np.log(self._edges[:, _TO_B]) + np.log(self._edges[:, _TO_A])
        return Beliefs(log_odds, log_sum, rounds, not_converged, worked_out)

    def messages(self) -> Messages:
        """Weights and messages after `run`."""
        return Messages(*(np.ascontiguousarray(self._edges[:, k]) for k in (_WEIGHT, _TO_A, _TO_B)))


@njit(nogil=True, cache=True, error_model="numpy")
def _propagate(
    edges: NDArray[np.float64],
    graph: CandidateGraph,
    max_rounds: int,
    tolerance: float,
    giant_tolerance: float,
) -> tuple[int, int, float, float]:
    """Run every component.

    Returns the maximum rounds, components not converged, the log of the summed weights, and messages worked out.
    """
    in_order = np.arange(len(edges))
    row_waits = np.ones(len(graph.row_first) - 1, dtype=np.bool_)
    column_waits = np.ones(len(graph.column_first) - 1, dtype=np.bool_)
    maximum = 0
    not_converged = 0
    log_sum = 0.0
    worked_out = 0.0
    for c in range(len(graph.component_row) - 1):
        size = graph.row_first[graph.component_row[c + 1]] - graph.row_first[graph.component_row[c]]
        minimum = tolerance if size <= GIANT_EDGES else giant_tolerance
        allowed = MAX_MESSAGES if size > GIANT_EDGES else np.inf
        rounds = 0
        waiting = 1
        here = 0.0
        while waiting > 0 and rounds < max_rounds and here < allowed:
            for i in range(graph.component_row[c], graph.component_row[c + 1]):
                if row_waits[i]:
                    row_waits[i] = False
                    here += graph.row_first[i + 1] - graph.row_first[i]
                    _answer(
                        in_order, graph.row_first[i], graph.row_first[i + 1], edges, _TO_A, _TO_B, graph.edge_column,
                        column_waits, minimum,
                    )  # fmt: skip
            waiting = 0
            for j in range(graph.component_column[c], graph.component_column[c + 1]):
                if column_waits[j]:
                    column_waits[j] = False
                    here += graph.column_first[j + 1] - graph.column_first[j]
                    waiting += _answer(
                        graph.column_edge, graph.column_first[j], graph.column_first[j + 1], edges, _TO_B, _TO_A,
                        graph.edge_row, row_waits, minimum,
                    )  # fmt: skip
            rounds += 1
        maximum = max(maximum, rounds)
        worked_out += here
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
    return maximum, not_converged, log_sum, worked_out


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
