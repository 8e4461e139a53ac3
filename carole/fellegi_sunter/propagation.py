r"""Belief propagation for weighted matchings.

A matching of a bipartite graph has weight ``prod w_e`` over its links, and a probability proportional to it. The
message from a record to a candidate, ``1 / (1 + sum of w times message over its other candidates)``, is the probability
that the record is free if that candidate did not exist; at the fixed point

.. math:: P(e) = w\,\mu_{ab}\,\mu_{ba} / (1 + w\,\mu_{ab}\,\mu_{ba}).

Exact where the graph has no cycle, otherwise Bethe's approximation. The fixed point exists and is unique for finite
weights. Rows and columns send messages in turn, which from "all records are free" rises to the fixed point
monotonically, so no damping is needed.

**Strong and weak pairs.** With phi the probability that a record has no link, the same equations say

.. math:: P(e) (1 - P(e)) = w\,\varphi_a\,\varphi_b, \qquad \mu_{ab} = \varphi_a / (1 - P(e)):

of a pair that is a link less often than not nothing need be kept, its message follows from the records' phi. Of the
kept pairs of files with poor fields nearly all are such: they are *weak*, and a record has a few *strong* ones, usually
one or two. Messages are passed along strong pairs until they rest, then the weak pairs' claims are summed again, some
multiplications each, and so on until no sum changes. Messages along all pairs would have the slow rounds of the strong
ones made by hundreds of times as many.

**Balance.** Where nearly all records of both files have a match, making those of A freer by a factor and those of B
less free by the same changes no link's probability, and messages alone had not found that factor in a hundred sweeps.
As many records of A as of B are linked, which gives it at once, for each connected component.
"""

from __future__ import annotations

import numpy as np

from gemel.carole.fellegi_sunter.candidate_graph import (
    Beliefs,
    CandidateGraph,
    Messages,
    Settled,
    by_node,
    equal_ranges,
    in_ranges,
    ranges,
)
from gemel.carole.fellegi_sunter.propagation_kernels import (
    Side,
    Strong,
    balance,
    exchange,
    rest,
    stronger,
    sum_weak,
    weak_probabilities,
)
from gemel.common.arrays import F64, I32, I64

GREATEST_LOG_WEIGHT = 600.0
"""Weights are limited to e to this power, above any evidence, so that their products stay in range."""

GREATEST_LOG_PRIOR_ODDS = 60.0

STRONG = 0.02
"""Strength ``w * phi * phi`` above which a pair is strong."""

PROMOTED = 0.1
"""Strength of a weak pair above which strong and weak pairs are parted again: beyond 1/4 it cannot stay weak."""

STAYS_STRONG = STRONG / 4
"""Probability below which a strong pair becomes weak when they are parted again."""

MAX_SWEEPS = 100
"""Sums of all weak pairs after which it is stopped and reported as not converged: it takes five to twenty."""

MAX_ACTIVE_SWEEPS = 500
"""The same where most components rest already: one record in some thousands takes more than a hundred."""

MAX_ROUNDS = 500
"""Rounds of messages along strong pairs between two sums."""


def _side(first: I64, other: I32) -> Side:
    """A file's records before any message: all free, all pairs strong."""
    n = len(first) - 1
    return Side(
        first, other, np.zeros(len(other)), np.ones(n), np.zeros(n), np.zeros(n),
        *(np.ones(n, dtype=np.bool_) for _ in range(3)),
    )  # fmt: skip


class Propagation:
    """Messages on a graph of candidates, kept from one prior or weighing to the next: each starts near its fixed point.

    `log_ratio` (float64, shape (n_pairs,)): as for `weigh`; `tolerance`: change of a link's probability, and relative
    change of a record's weak claims, below which nothing is sent.

    Some 30 bytes a pair beside the graph. O(n_pairs) a sweep, of which there are five to twenty, and fewer from nearby.
    """

    def __init__(self, graph: CandidateGraph, log_ratio: F64, tolerance: float = 1e-8, threads: int = 1) -> None:
        self.n_pairs = graph.n_edges
        self._graph, self._tolerance, self._threads = graph, tolerance, threads
        self._edges = equal_ranges(graph.n_edges)
        self._a = _side(graph.row_first, graph.edge_column)
        self._b = _side(graph.column_first, graph.edge_row[graph.column_edge])
        self._strong: Strong | None = None
        self._scale = 1.0
        self.weigh(log_ratio)

    def weigh(self, log_ratio: F64) -> None:
        """Set the likelihood ratios: natural logarithms, shape (n_pairs,), in the caller's order."""
        self._ratio = likelihood_ratios(log_ratio, self._graph.order, self._threads)
        self._parted = False

    def run(self, log_prior_odds: float, max_sweeps: int = MAX_SWEEPS) -> Settled:
        """Pass messages until they converge, every pair's weight being prior odds times likelihood ratio.

        `log_prior_odds`: natural logarithm; `max_sweeps`: after which it is stopped, by the sums worked out: of
        components that rest none is.
        """
        self._scale = prior_odds(log_prior_odds)
        if not self._parted:
            if self._strong is None:
                self._estimate()
            self._part()
        a, b, graph = self._a, self._b, self._graph
        worked_out, unsettled = 0.0, 0
        self._wake()
        left = max_sweeps * graph.n_edges
        for _ in range(max_sweeps if max_sweeps < MAX_SWEEPS else MAX_ACTIVE_SWEEPS):
            if left <= 0:
                break
            changed_a, strongest_a, summed_a = self._sums(a, b)
            worked_out += self._exchange()
            changed_b, strongest_b, summed_b = self._sums(b, a)
            worked_out += self._exchange() + summed_a + summed_b
            left -= max(summed_a, summed_b)
            unsettled = changed_a + changed_b + int(a.waits.sum() + b.waits.sum()) + self._balance()
            if unsettled == 0:
                break
            if max(strongest_a, strongest_b) > PROMOTED:
                self._part()
                self._wake()
            else:
                rest(graph.component_row, graph.component_column, a, b)
        return Settled(float((1.0 - a.free).sum()), unsettled, worked_out)

    def beliefs(self, probability: F64 | None = None) -> Beliefs:
        """Marginals after `run`; where an array is given they are written into it."""
        graph, strong, a, b = self._graph, self._require_strong(), self._a, self._b
        odds = self._ratio[strong.edge] * self._scale * strong.to_a * strong.to_b
        probability = np.empty(graph.n_edges) if probability is None else probability

        def weak(edges: slice) -> float:
            first, last = np.searchsorted(strong.edge, (edges.start, edges.stop))
            own, found = strong.edge[first:last] - np.int32(edges.start), np.empty(edges.stop - edges.start)
            of_weak = weak_probabilities(
                self._ratio[edges], self._scale, graph.edge_row[edges], graph.edge_column[edges], a.free, b.free, own,
                found,
            )  # fmt: skip
            found[own] = odds[first:last] / (1.0 + odds[first:last])
            probability[graph.order[edges]] = found
            return of_weak

        of_weak = sum(in_ranges(self._edges, self._threads, weak))
        log_sum = -of_weak - np.log1p(odds).sum() - np.log(a.free).sum() - np.log(b.free).sum()
        return Beliefs(probability, float(log_sum))

    def messages(self) -> Messages:
        """Weights and messages of all pairs after `run`."""
        graph, strong = self._graph, self._require_strong()
        weight = self._ratio * self._scale
        free_a, free_b = self._a.free[graph.edge_row], self._b.free[graph.edge_column]
        share = _rivals_shares(weight * free_a * free_b)
        to_a, to_b = free_b * share, free_a * share
        to_a[strong.edge], to_b[strong.edge] = strong.to_a, strong.to_b
        return Messages(weight, to_a, to_b)

    def _estimate(self) -> None:
        """How free records are, roughly: as if all pairs were weak."""
        self._set_ratios(self._ratio)
        for _ in range(2):
            self._sums(self._a, self._b)
            self._sums(self._b, self._a)

    def _part(self) -> None:
        """Part strong pairs from weak ones, by what is known of them now."""
        graph, before, a, b = self._graph, self._strong, self._a, self._b

        def strongest(rows: slice) -> I32:
            first = graph.row_first[rows.start : rows.stop + 1]
            return stronger(self._ratio, self._scale, first, graph.edge_column, a.free[rows], b.free, STRONG)

        edge = np.concatenate(in_ranges(ranges(a.first), self._threads, strongest))
        if before is not None:
            odds = self._ratio[before.edge] * self._scale * before.to_a * before.to_b
            chosen = np.zeros(graph.n_edges, dtype=np.bool_)
            chosen[edge] = chosen[before.edge[odds > STAYS_STRONG]] = True
            edge = np.flatnonzero(chosen).astype(np.int32)
        row, column = graph.edge_row[edge], graph.edge_column[edge]
        strength = self._ratio[edge] * self._scale * a.free[row] * b.free[column]
        share = _rivals_shares(strength)
        to_a, to_b = np.minimum(b.free[column] * share, 1.0), np.minimum(a.free[row] * share, 1.0)
        if before is not None and len(before.edge):
            place = np.minimum(np.searchsorted(before.edge, edge), len(before.edge) - 1)
            known = before.edge[place] == edge
            to_a[known], to_b[known] = before.to_a[place[known]], before.to_b[place[known]]
        n_rows, n_columns = len(a.free), len(b.free)
        self._strong = Strong(edge, row, column, to_a, to_b, *by_node(row, n_rows), *by_node(column, n_columns))
        weak = self._ratio.copy()
        weak[edge] = 0.0
        self._set_ratios(weak)
        self._weight = self._ratio[edge]
        self._parted = True

    def _set_ratios(self, ratio: F64) -> None:
        """The likelihood ratios of both files' weak pairs, from those of all edges."""
        self._a.ratio[:] = ratio
        of_b, which = self._b.ratio, self._graph.column_edge
        in_ranges(self._edges, self._threads, lambda edges: np.take(ratio, which[edges], out=of_b[edges]))

    def _wake(self) -> None:
        """All records have something to say, and are listened to."""
        for side in (self._a, self._b):
            side.waits[:], side.active[:] = True, True

    def _sums(self, side: Side, others: Side) -> tuple[int, float, int]:
        """The weak pairs' sums of one file's records, as `sum_weak`."""

        def summed(part: slice) -> tuple[int, float, int]:
            return sum_weak(part.start, part.stop, side, others.free, self._scale, self._tolerance)

        changed, strongest, terms = zip(*in_ranges(ranges(side.first), self._threads, summed), strict=True)
        return sum(changed), max(strongest), sum(terms)

    def _exchange(self) -> float:
        strong = self._require_strong()
        return exchange(self._weight, self._scale, strong, self._a, self._b, self._tolerance, MAX_ROUNDS)

    def _balance(self) -> int:
        """Make both files' records as free as the other's links leave them; how many components were not."""
        graph, strong, a, b = self._graph, self._require_strong(), self._a, self._b
        factor_a, factor_b = np.ones(len(a.free)), np.ones(len(b.free))
        changed = balance(graph.component_row, graph.component_column, a, b, self._tolerance, factor_a, factor_b)
        if changed:
            for side, factor in ((a, factor_a), (b, factor_b)):
                np.minimum(side.free * factor, 1.0, out=side.free)
                for claims in (side.weak, side.strong):
                    np.divide(claims, factor, out=claims)
                for flags in (side.waits, side.moved):
                    np.logical_or(flags, factor != 1.0, out=flags)
            np.minimum(strong.to_b * factor_a[strong.row], 1.0, out=strong.to_b)
            np.minimum(strong.to_a * factor_b[strong.column], 1.0, out=strong.to_a)
        return changed

    def _require_strong(self) -> Strong:
        assert self._strong is not None  # noqa: S101 - `run` has parted them
        return self._strong


def likelihood_ratios(log_ratio: F64, order: I32, threads: int) -> F64:
    """The likelihood ratios of some pairs, from the logarithms of all, within `GREATEST_LOG_WEIGHT`."""
    ratio = np.empty(len(order))

    def weigh(part: slice) -> None:
        limited = np.clip(log_ratio[order[part]], -GREATEST_LOG_WEIGHT, GREATEST_LOG_WEIGHT)
        np.exp(limited, out=ratio[part])

    in_ranges(equal_ranges(len(order)), threads, weigh)
    return ratio


def prior_odds(log_prior_odds: float) -> float:
    """Prior odds from their logarithm, within `GREATEST_LOG_PRIOR_ODDS`."""
    return float(np.exp(np.clip(log_prior_odds, -GREATEST_LOG_PRIOR_ODDS, GREATEST_LOG_PRIOR_ODDS)))


def _rivals_shares(strength: F64) -> F64:
    """1 / (1 - P) of pairs of these strengths, as `rivals_share` of one."""
    return np.asarray(2.0 / (1.0 + np.sqrt(np.maximum(1.0 - 4.0 * strength, 0.0))))
