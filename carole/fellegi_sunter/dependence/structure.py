"""Which fields depend on each other within a class: a decomposable graph chosen by steepest ascent.

The score is the hyper-Dirichlet marginal likelihood of `risk.models`, on expected numbers of pairs by pattern. It is
made of tables over the fields of one move at a time, so each is counted on the pairs that lack none of those fields:
pairs that lack others still count. Cliques are kept small, as their tables must be estimated from few matches.

The graph is chosen on three levels of a field (different, similar, equal). The causes of dependence (a family, a
clerk's error) make fields agree or disagree together, and a table of eight by eight levels has so many parameters that
a dependence of thousands of pairs among millions does not justify them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from gemel.risk.models.graphs import Graph, empty_graph, members

MIN_GAIN = 3.0
"""Minimum log Bayes factor of an edge: odds of twenty."""

PRECISION = 1.0
"""Total prior precision of a table."""

MAX_CELLS = 1 << 17
"""Maximum number of cells of a clique's table."""


class EstimationMask:
    """Which blocked patterns may identify which fields among matches.

    A rule's pairs agree on its own fields, so dependence of fields is estimated from pairs of rules that involve none
    of them. Otherwise "found by one of two rules" would look like dependence of their fields.

    Parameters
    ----------
    mask : ndarray of uint32, shape (n_patterns,)
    rules : sequence of RuleFields
        None: every pattern identifies every field.
    """

    def __init__(self, mask: NDArray[np.uint32], rules: Sequence[RuleFields]) -> None:
        self.mask, self.rules = mask, rules

    def rows(self, involved: Sequence[int]) -> NDArray[np.bool_]:
        """Patterns of some rule that involves none of these fields."""
        if not self.rules:
            return np.ones(len(self.mask), dtype=np.bool_)
        bits = sum(1 << r for r, rule in enumerate(self.rules) if not set(rule.fields) & set(involved))
        return np.asarray((self.mask & np.uint32(bits)) != 0)


@dataclass(frozen=True)
class Edge:
    """Two fields that depend on each other given match status, and the evidence for it.

    Parameters
    ----------
    fields : tuple of int
        Positions, ascending.
    gain : float
        Log Bayes factor of the step that joined them.
    """

    fields: tuple[int, int]
    gain: float


@dataclass(frozen=True)
class Structure:
    """A decomposable graph over the fields, and the steps that led to it."""

    graph: Graph
    edges: tuple[Edge, ...] = ()

    @property
    def families(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Each field with its parents, which are joined to one another; parents come first."""
        left = (1 << len(self.graph)) - 1
        found = []
        for v in self.graph.elimination_ordering:
            left &= ~(1 << v)
            found.append((v, tuple(members(self.graph.adjacency[v] & left))))
        return tuple(reversed(found))


def independent(n_fields: int) -> Structure:
    """No field depends on another."""
    return Structure(empty_graph(n_fields))


def choose(
    gamma: NDArray[np.int8],
    weight: NDArray[np.float64],
    fields: Sequence[FieldLevels],
    largest_clique: int,
    estimation_mask: EstimationMask | None = None,
    max_edges: int | None = None,
    scale: float = 1.0,
    min_gain: float = MIN_GAIN,
) -> Structure:
    """Choose the graph by steepest ascent from independence.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    weight : ndarray of float64, shape (n_patterns,)
        Expected pairs of the class by pattern.
    fields : sequence of FieldLevels
    largest_clique : int
        Maximum number of fields in a clique.
    estimation_mask : EstimationMask, optional
        Which patterns may identify which fields; None: each of all.
    max_edges : int, optional
        Where to stop.
    scale : float
        Pairs that a sampled one stands for. Scores weigh that many as one, so that sampling error does not look like
        dependence.
    min_gain : float
        Minimum log Bayes factor of an edge.

    Returns
    -------
    Structure

    Notes
    -----
    O(n_patterns) per table; about n_fields^2 tables at first and few in every later step.
    """
    n_levels = [field.n_levels for field in fields]
    tables = Tables(coarse(gamma, n_levels), weight, [min(n, 3) for n in n_levels], estimation_mask, scale)
    graph = empty_graph(len(fields))
    gains: dict[tuple[int, int], float] = {}
    while max_edges is None or len(gains) < max_edges:
        best, move = min_gain, None
        for v in range(len(fields)):
            for w in range(v + 1, len(fields)):
                if graph.has_edge(v, w):
                    if graph.can_delete(v, w):
                        # An edge without support is removed, and a new one needs `min_gain`: this prevents cycles.
                        change = -tables.bayes_factor(graph.adjacency[v] & graph.adjacency[w], v, w)
                        if change > max(best - min_gain, 0.0):
                            best, move = change + min_gain, (v, w)
                    continue
                common = graph.adjacency[v] & graph.adjacency[w]
                cells = math.prod(n_levels[q] for q in (v, w, *members(common)))
                if common.bit_count() + 2 > largest_clique or cells > MAX_CELLS or not graph.can_add(v, w):
                    continue
                change = tables.bayes_factor(common, v, w)
                if change > best:
                    best, move = change, (v, w)
        if move is None:
            break
        if graph.has_edge(*move):
            gains.pop(move)
        else:
            gains[move] = best
        graph = graph.toggled(*move)
    edges = sorted((Edge(pair, gain) for pair, gain in gains.items()), key=lambda edge: -edge.gain)
    return Structure(graph, tuple(edges))


def coarse(gamma: NDArray[np.int8], n_levels: Sequence[int]) -> NDArray[np.int8]:
    """Comparison vectors with three levels at most: the lower half, the upper half, the top level."""
    n = np.asarray(n_levels, dtype=np.int8)
    top = np.minimum(n - 1, 2)
    few = np.where(gamma == n - 1, top, np.minimum((gamma >= n // 2).astype(np.int8), np.maximum(top - 1, 0)))
    return np.where(gamma < 0, np.int8(-1), few).astype(np.int8)


class Tables:
    """Gains of joining two fields, from small tables counted where none of their fields is missing."""

    def __init__(
        self,
        gamma: NDArray[np.int8],
        weight: NDArray[np.float64],
        n_levels: Sequence[int],
        estimation_mask: EstimationMask | None = None,
        scale: float = 1.0,
    ) -> None:
        mask = np.zeros(len(gamma), dtype=np.uint32) if estimation_mask is None else estimation_mask.mask
        weighted = weight > 0
        rows = np.column_stack([gamma[weighted].astype(np.int64), mask[weighted].astype(np.int64)])
        distinct, member = np.unique(rows, axis=0, return_inverse=True)

        self._gamma = np.ascontiguousarray(distinct[:, :-1]).astype(np.int8)
        self._weight = np.bincount(member.ravel(), weight[weighted], minlength=len(distinct)).astype(np.float64)
        self._n_levels = n_levels
        self._estimation_mask = (
            None
            if estimation_mask is None
            else EstimationMask(distinct[:, -1].astype(np.uint32), estimation_mask.rules)
        )
        self._scale = scale
        self._known: dict[tuple[int, int, int], float] = {}

    def counted(self, involved: Sequence[int]) -> NDArray[np.float64]:
        """Expected pairs by the levels of some fields."""
        return counted(involved, self._gamma, self._weight, self._n_levels, self._estimation_mask)

    def bayes_factor(self, common: int, v: int, w: int) -> float:
        """Log Bayes factor of joining v and w, whose common neighbours are given."""
        key = (common, v, w)
        if key not in self._known:
            self._known[key] = _gain(self.counted((v, w, *members(common))) / self._scale)
        return self._known[key]


def counted(
    involved: Sequence[int],
    gamma: NDArray[np.int8],
    weight: NDArray[np.float64],
    n_levels: Sequence[int],
    estimation_mask: EstimationMask | None = None,
) -> NDArray[np.float64]:
    """Expected pairs by the levels of some fields, of patterns that lack none of them and may identify them."""
    there = weight > 0
    for q in involved:
        there &= gamma[:, q] >= 0
    if estimation_mask is not None:
        there &= estimation_mask.rows(involved)
    shape = tuple(n_levels[q] for q in involved)
    cell = np.ravel_multi_index(tuple(gamma[there, q].astype(np.int64) for q in involved), shape)
    return np.bincount(cell, weight[there], minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)


def _gain(table: NDArray[np.float64]) -> float:
    """Log Bayes factor of joining the fields of the first two axes, given those of the others."""
    return _score(table) + _score(table.sum(axis=(0, 1))) - _score(table.sum(axis=1)) - _score(table.sum(axis=0))


def _score(table: NDArray[np.float64]) -> float:
    """Log marginal likelihood of a table whose cells share `PRECISION` evenly; 0 for a table over no field."""
    if table.ndim == 0:
        return 0.0
    prior = PRECISION / table.size
    occupied = table[table > 0]
    return float(
        gammaln(PRECISION) - gammaln(PRECISION + table.sum()) + (gammaln(prior + occupied) - gammaln(prior)).sum()
    )
