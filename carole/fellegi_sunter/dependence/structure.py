"""Which fields depend on each other within a class: a decomposable graph chosen by steepest ascent.

The score is the hyper-Dirichlet marginal likelihood of `risk.models`, on expected numbers of pairs by pattern. It is
made of tables over the fields of one move at a time, so each is counted on the pairs that lack none of those fields:
pairs that lack others still speak. Cliques are held small, as their tables must be learnt from few matches.

The graph is chosen on three levels of a field (unlike, alike, the same). What makes fields dependent (a family, a
clerk's slip) makes them agree or disagree together, and a table of eight by eight levels costs so many parameters
that a dependence of thousands of pairs among millions does not pay for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from carole.fellegi_sunter.settings import FieldLevels, RuleFields
from risk.models.bits import members
from risk.models.graphs import Graph, empty_graph

LEAST_GAIN = 3.0
"""Log Bayes factor of an edge worth having: odds of twenty."""

PRECISION = 1.0
"""Total prior precision of a table."""

LARGEST_CLIQUE = {"pairwise": 2, "decomposable": 4}
"""Fields that may depend on each other all at once: two make a forest of pairs."""

MOST_CELLS = 1 << 17
"""Cells of a clique's table."""


class Teaching:
    """Which blocked patterns may speak of which fields among matches.

    A rule's pairs agree on its own fields, so whether fields depend on each other is told by pairs of rules that
    involve none of them. Otherwise "found by one of two rules" would look like dependence of their fields.

    Parameters
    ----------
    mask : ndarray of uint32, shape (n_patterns,)
    rules : sequence of RuleFields
        None: every pattern speaks of every field.
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
    """Two fields that depend on each other given match status, and what that is worth.

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
    """A decomposable graph over the fields, and the steps that led to it.

    Parameters
    ----------
    graph : Graph
        Its names are the fields' positions.
    edges : tuple of Edge
        As they are in the graph, the most telling first.
    """

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
    teaching: Teaching | None = None,
    least_gain: float = LEAST_GAIN,
    most_edges: int | None = None,
) -> Structure:
    """Choose the graph by steepest ascent from independence.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    weight : ndarray of float64, shape (n_patterns,)
        Expected pairs of the class by pattern.
    fields : sequence of FieldLevels
    largest_clique : int
        Fields that may depend on each other all at once.
    teaching : Teaching, optional
        Which patterns may speak of which fields; None: each of all.
    least_gain : float
        Log Bayes factor that an edge must bring.
    most_edges : int, optional
        Where to stop.

    Returns
    -------
    Structure

    Notes
    -----
    O(n_patterns) per table; about n_fields^2 tables at first and few in every later step.
    """
    n_levels = [field.n_levels for field in fields]
    tables = Tables(*merged(coarse(gamma, n_levels), weight, teaching), [min(n, 3) for n in n_levels])
    graph = empty_graph(len(fields))
    gains: dict[tuple[int, int], float] = {}
    while most_edges is None or len(gains) < most_edges:
        best, move = least_gain, None
        for v in range(len(fields)):
            for w in range(v + 1, len(fields)):
                if graph.has_edge(v, w):
                    if graph.can_delete(v, w):
                        # An edge that has lost its worth goes, and one that comes must be worth having: no circles.
                        change = -tables.bayes_factor(graph.adjacency[v] & graph.adjacency[w], v, w)
                        if change > max(best - least_gain, 0.0):
                            best, move = change + least_gain, (v, w)
                    continue
                common = graph.adjacency[v] & graph.adjacency[w]
                cells = math.prod(n_levels[q] for q in (v, w, *members(common)))
                if common.bit_count() + 2 > largest_clique or cells > MOST_CELLS or not graph.can_add(v, w):
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


def merged(
    gamma: NDArray[np.int8], weight: NDArray[np.float64], teaching: Teaching | None
) -> tuple[NDArray[np.int8], NDArray[np.float64], Teaching | None]:
    """Equal vectors put together, under each set of rules."""
    mask = np.zeros(len(gamma), dtype=np.uint32) if teaching is None else teaching.mask
    said = weight > 0
    rows = np.column_stack([gamma[said].astype(np.int64), mask[said].astype(np.int64)])
    distinct, member = np.unique(rows, axis=0, return_inverse=True)
    total = np.bincount(member.ravel(), weight[said], minlength=len(distinct)).astype(np.float64)
    told = None if teaching is None else Teaching(distinct[:, -1].astype(np.uint32), teaching.rules)
    return np.ascontiguousarray(distinct[:, :-1]).astype(np.int8), total, told


class Tables:
    """Marginal likelihoods of small tables, each counted where none of the fields asked about is missing."""

    def __init__(
        self,
        gamma: NDArray[np.int8],
        weight: NDArray[np.float64],
        teaching: Teaching | None,
        n_levels: Sequence[int],
    ) -> None:
        self._gamma, self._weight, self._teaching = gamma, weight, teaching
        self._n_levels = n_levels
        self._known: dict[tuple[int, int, int], float] = {}

    def bayes_factor(self, common: int, v: int, w: int) -> float:
        """Log Bayes factor of joining v and w, whose common neighbours are given."""
        key = (common, v, w)
        if key not in self._known:
            table = counted((v, w, *members(common)), self._gamma, self._weight, self._n_levels, self._teaching)
            self._known[key] = (
                _score(table) + _score(table.sum(axis=(0, 1))) - _score(table.sum(axis=1)) - _score(table.sum(axis=0))
            )
        return self._known[key]


def counted(
    involved: Sequence[int],
    gamma: NDArray[np.int8],
    weight: NDArray[np.float64],
    n_levels: Sequence[int],
    teaching: Teaching | None = None,
) -> NDArray[np.float64]:
    """Expected pairs by the levels of some fields, of patterns that lack none of them and may speak of them."""
    there = weight > 0
    for q in involved:
        there &= gamma[:, q] >= 0
    if teaching is not None:
        there &= teaching.rows(involved)
    shape = tuple(n_levels[q] for q in involved)
    cell = np.ravel_multi_index(tuple(gamma[there, q].astype(np.int64) for q in involved), shape)
    return np.bincount(cell, weight[there], minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)


def _score(table: NDArray[np.float64]) -> float:
    """Log marginal likelihood of a table whose cells share `PRECISION` evenly; 0 for a table over no field."""
    if table.ndim == 0:
        return 0.0
    prior = PRECISION / table.size
    occupied = table[table > 0]
    return float(
        gammaln(PRECISION) - gammaln(PRECISION + table.sum()) + (gammaln(prior + occupied) - gammaln(prior)).sum()
    )
