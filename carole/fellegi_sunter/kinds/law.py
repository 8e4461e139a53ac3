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
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from gemel.carole.fellegi_sunter.kinds.relatives import Relatives
from gemel.carole.fellegi_sunter.model import MISSING
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from gemel.common.arrays import F64, I8, U32, Flags
from gemel.risk.models.graphs import Graph, empty_graph, mask_of, members

MIN_GAIN = 3.0
"""Minimum log Bayes factor of an edge: odds of twenty."""

PRECISION = 1.0
"""Total prior precision of a table."""

LARGEST_CODE = 1 << 60
"""Number of a vector above which distinct ones are numbered anew, before another field would overflow it."""

SELDOM = 0.1
"""Share of a class's pairs that reach a level seldom."""

MAX_CELLS = 1 << 17
"""Maximum number of cells of a clique's table."""


class EstimationMask(NamedTuple):
    """Which blocked patterns may identify which fields among matches.

    A rule's pairs agree on its own fields, so dependence of fields is estimated from pairs of rules that involve none
    of them. Otherwise "found by one of two rules" would look like dependence of their fields.

    `mask` (uint32, shape (n_patterns,)); `rules`: None: every pattern identifies every field.
    """

    mask: U32
    rules: Sequence[RuleFields]

    def rows(self, involved: Sequence[int]) -> Flags:
        """Patterns of some rule that involves none of these fields."""
        if not self.rules:
            return np.ones(len(self.mask), dtype=np.bool_)
        bits = sum(1 << r for r, rule in enumerate(self.rules) if not set(rule.fields) & set(involved))
        return np.asarray((self.mask & np.uint32(bits)) != 0)


@dataclass(frozen=True)
class Edge:
    """Two fields that depend on each other given match status, and the evidence for it."""

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
    return Structure(empty_graph(n_fields))


def choose(
    gamma: I8,
    weight: F64,
    fields: Sequence[FieldLevels],
    largest_clique: int,
    scale: float = 1.0,
    min_gain: float = MIN_GAIN,
) -> Structure:
    """Choose the graph by steepest ascent from independence.

    `gamma` (int8, shape (n_patterns, n_fields)). `weight` (float64, shape (n_patterns,)): expected pairs of the class
    by pattern. `scale`: pairs that a sampled one stands for. Scores weigh that many as one, so that sampling error does
    not look like dependence.

    O(n_patterns) per table; about n_fields^2 tables at first and few in every later step.
    """
    n_levels = [field.n_levels for field in fields]
    tables = Tables(gamma, weight, n_levels, None, scale)
    graph = empty_graph(len(fields))
    gains: dict[tuple[int, int], float] = {}
    seen = {graph.adjacency}
    while True:
        best, move = min_gain, None
        for v, w in combinations(range(len(fields)), 2):
            common = graph.adjacency[v] & graph.adjacency[w]
            if graph.has_edge(v, w):
                # An edge without support is removed, and a new one needs `min_gain`: this prevents cycles.
                if graph.can_delete(v, w) and -tables.bayes_factor(common, v, w) > max(best - min_gain, 0.0):
                    best, move = min_gain - tables.bayes_factor(common, v, w), (v, w)
                continue
            cells = math.prod(n_levels[q] for q in (v, w, *members(common)))
            if common.bit_count() + 2 > largest_clique or cells > MAX_CELLS or not graph.can_add(v, w):
                continue
            if tables.bayes_factor(common, v, w) > best:
                best, move = tables.bayes_factor(common, v, w), (v, w)
        # Tables of other fields lack other pairs, so that gains around a circle need not sum to nothing.
        if move is None or graph.toggled(*move).adjacency in seen:
            break
        if graph.has_edge(*move):
            gains.pop(move)
        else:
            gains[move] = best
        graph = graph.toggled(*move)
        seen.add(graph.adjacency)
    edges = sorted((Edge(pair, gain) for pair, gain in gains.items()), key=lambda edge: -edge.gain)
    return Structure(graph, tuple(edges))


def coarse(gamma: I8, weight: F64, n_levels: Sequence[int]) -> I8:
    """Comparison vectors with three levels at most: the lower, the higher, and the top level.

    The higher ones are the upper half, and those that the class rarely reaches: strangers' names depend on each other
    where they are somewhat alike.
    """
    n = np.asarray(n_levels, dtype=np.int8)
    top, middle = np.minimum(n - 1, 2), n // 2
    for q, size in enumerate(n_levels):
        there = gamma[:, q] >= 0
        reached = np.bincount(gamma[there, q], weight[there], minlength=size)[::-1].cumsum()[::-1]
        seldom = np.flatnonzero(reached[1:] <= SELDOM * reached[0])
        middle[q] = min(int(middle[q]), 1 + int(seldom[0]) if len(seldom) else size)
    few = np.where(gamma == n - 1, top, np.minimum((gamma >= middle).astype(np.int8), np.maximum(top - 1, 0)))
    return np.where(gamma < 0, np.int8(-1), few).astype(np.int8)


class Tables:
    """Gains of joining two fields, from small tables of three levels, counted where none of their fields is missing."""

    def __init__(
        self, gamma: I8, weight: F64, n_levels: Sequence[int], estimation_mask: EstimationMask | None, scale: float
    ) -> None:
        mask, rules = (np.zeros(len(gamma), dtype=np.uint32), ()) if estimation_mask is None else estimation_mask
        weighted = weight > 0
        few, mask = coarse(gamma, weight, n_levels)[weighted], np.asarray(mask, dtype=np.uint32)[weighted]
        code = np.unique(mask, return_inverse=True)[1].ravel().astype(np.int64)
        for column in few.T:
            if code.max(initial=0) > LARGEST_CODE:
                code = np.unique(code, return_inverse=True)[1].ravel().astype(np.int64)
            code = code * 4 + column + 1
        _, first, member = np.unique(code, return_index=True, return_inverse=True)
        self._gamma = np.ascontiguousarray(few[first])
        self._weight = np.bincount(member.ravel(), weight[weighted], minlength=len(first)).astype(np.float64)
        self._n_levels = [min(n, 3) for n in n_levels]
        self._estimation_mask = EstimationMask(mask[first], rules)
        self._scale = scale
        self._known: dict[tuple[int, int, int], float] = {}

    def counted(self, involved: Sequence[int]) -> F64:
        """Expected pairs by the levels of some fields."""
        return counted(involved, self._gamma, self._weight, self._n_levels, self._estimation_mask)

    def bayes_factor(self, common: int, v: int, w: int) -> float:
        key = (common, v, w)
        if key not in self._known:
            self._known[key] = _gain(self.counted((v, w, *members(common))) / self._scale)
        return self._known[key]


def counted(
    involved: Sequence[int], gamma: I8, weight: F64, n_levels: Sequence[int], estimation_mask: EstimationMask | None
) -> F64:
    """Expected pairs by the levels of some fields, of patterns that lack none of them and may identify them."""
    there = weight > 0
    for q in involved:
        there &= gamma[:, q] >= 0
    if estimation_mask is not None:
        there &= estimation_mask.rows(involved)
    shape = tuple(n_levels[q] for q in involved)
    cell = np.ravel_multi_index(tuple(gamma[there, q].astype(np.int64) for q in involved), shape)
    return np.bincount(cell, weight[there], minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)


def _gain(table: F64) -> float:
    """Log Bayes factor of joining the fields of the first two axes, given those of the others."""
    return _score(table) + _score(table.sum(axis=(0, 1))) - _score(table.sum(axis=1)) - _score(table.sum(axis=0))


def _score(table: F64) -> float:
    """Log marginal likelihood of a table whose cells share `PRECISION` evenly; 0 for a table over no field."""
    if table.ndim == 0:
        return 0.0
    prior = PRECISION / table.size
    occupied = table[table > 0]
    return float(
        gammaln(PRECISION) - gammaln(PRECISION + table.sum()) + (gammaln(prior + occupied) - gammaln(prior)).sum()
    )


# The distribution of comparison vectors in one class, by a decomposable graph.
#
# Every field has a table of its levels given those of its parents. A table is estimated from pairs that lack none of
# its fields, smoothed towards the field's own distribution: where parents take levels that rarely occur together, the
# field behaves as it does elsewhere. A field missing from a pair is summed out, so that a missing value adds nothing,
# while the fields around it still depend on each other through it.


BATCH = 4096
"""Patterns with missing fields evaluated at a time."""

MAX_SUMMED = 1 << 15
"""Maximum number of cells of a sum over missing fields that is kept for all levels of the fields around them."""


_Sum = tuple[int, tuple[int, ...]]
"""Missing fields, as bits, and the families that are multiplied and summed over them."""


@dataclass(frozen=True)
class Distribution:
    """P(comparison vector | class).

    `tables`: for each of the structure's families the probabilities of the field's levels given its parents': axis 0 is
    the field, the others the parents in order; `relatives`: what is otherwise where two people are relatives.
    """

    structure: Structure
    tables: tuple[F64, ...]
    relatives: Relatives | None = None

    def log_probability(self, gamma: I8) -> F64:
        """Log probability of the present levels of each comparison vector: shape (n_patterns,)."""
        found = np.zeros(len(gamma))
        group = (gamma == MISSING) @ (np.uint64(1) << np.arange(gamma.shape[1], dtype=np.uint64))
        order = np.argsort(group, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(gamma) else ():
            found[rows] = self._of_alike(gamma[rows], int(group[rows[0]]))
        return found

    def _of_alike(self, gamma: I8, absent: int) -> F64:
        if absent not in self._plans:
            self._plans[absent] = self._planned(absent)
        total = np.zeros(len(gamma))
        for over, families in self._plans[absent]:
            if (over, families) not in self._factors:
                self._factors[over, families] = self._factor(over, families)
            around, table = self._factors[over, families]
            if table is None:
                total += self._summed_of(gamma, around, over, families)
            else:
                total += table[tuple(gamma[:, q] for q in around)]
        return total

    def _planned(self, absent: int) -> list[_Sum]:
        """What is multiplied where these fields are missing: families by themselves, and those that meet in some."""
        needed, kept = 0, []
        # From the last field back: a missing field on which no other depends sums to 1.
        for family, (v, parents) in reversed(list(enumerate(self._families))):
            if not absent >> v & 1 or needed >> v & 1:
                needed |= mask_of(parents) & absent
                kept.append(family)
        plan: list[_Sum] = []
        for family in kept:
            v, parents = self._families[family]
            over, families = mask_of((v, *parents)) & absent, [family]
            for other in [one for one in plan if one[0] & over]:
                plan.remove(other)
                over, families = over | other[0], [*families, *other[1]]
            plan.append((over, tuple(sorted(families))))
        return plan

    def _factor(self, over: int, families: tuple[int, ...]) -> tuple[tuple[int, ...], F64 | None]:
        """The fields around those summed out, and the sum's logarithm by their levels unless there are many."""
        around = tuple(members(mask_of(q for each in families for q in _involved(self._families[each])) & ~over))
        sizes = {v: len(table) for (v, _), table in zip(self._families, self.tables, strict=True)}
        if math.prod(sizes[q] for q in around) > MAX_SUMMED:
            return around, None
        axes = [*members(over), *around]
        operands: list[object] = []
        for family in families:
            operands += [self.tables[family], [axes.index(q) for q in _involved(self._families[family])]]
        return around, _log_sum(*operands, [axes.index(q) for q in around])

    @cached_property
    def _families(self) -> list[tuple[int, tuple[int, ...]]]:
        return list(self.structure.families)

    @cached_property
    def _plans(self) -> dict[int, list[_Sum]]:
        return {}

    @cached_property
    def _factors(self) -> dict[_Sum, tuple[tuple[int, ...], F64 | None]]:
        return {}

    def _summed_of(self, gamma: I8, around: Sequence[int], over: int, families: tuple[int, ...]) -> F64:
        """The logarithm of the sum for each vector, where its levels around are too many for a table."""
        axes = [-1, *members(over)]  # the first is of the vectors
        found = np.zeros(len(gamma))
        for first in range(0, len(gamma), BATCH):
            levels = gamma[first : first + BATCH]
            operands: list[object] = []
            for family in families:
                involved = _involved(self._families[family])
                there = [i for i, q in enumerate(involved) if q in around]
                moved = np.moveaxis(self.tables[family], there, range(len(there)))
                operands.append(moved[tuple(levels[:, involved[i]] for i in there)] if there else moved)
                operands.append([0] * bool(there) + [axes.index(q) for q in involved if q not in around])
            found[first : first + BATCH] = _log_sum(*operands, [0])
        return found


def _log_sum(*operands: object) -> F64:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.einsum(*operands, optimize="greedy")))  # type: ignore[call-overload]


def _involved(family: tuple[int, tuple[int, ...]]) -> tuple[int, ...]:
    return family[0], *family[1]


def estimated(
    structure: Structure,
    gamma: I8,
    weight: F64,
    alone: F64,
    n_levels: Sequence[int],
    pseudo_pairs: float = 1.0,
    sampled: F64 | None = None,
    scale: float = 1.0,
) -> Distribution:
    """The distribution with a given graph, estimated from expected numbers of pairs.

    `gamma` (int8, shape (n_patterns, n_fields)); `weight` (float64, shape (n_patterns,)): expected pairs of the class
    by pattern; `alone` (float64, shape (n_fields, n_levels)): marginal distribution of each field: that of a field
    without parents, and the one towards which the others are smoothed; `pseudo_pairs`: weight of `alone` in a field's
    distribution given its parents' levels, in pairs as they were counted; `sampled` (float64, shape (n_patterns,)): of
    the pairs of each pattern, those that sampled ones stand for; None: all were counted.

    A pseudo-pair weighs as much as a pair of the same parents' levels does on average: 1 where all of them were
    counted, `scale` where all were sampled. O(n_patterns) per field.
    """

    def mean_weight(pairs: F64, involved: tuple[int, ...]) -> F64 | float:
        if sampled is None:
            return 1.0
        total = pairs.sum(axis=0, keepdims=True)
        drawn = counted(involved, gamma, sampled, n_levels, None).sum(axis=0, keepdims=True)
        # Where no pair has these levels of the parents, one may have been missed by the sample.
        return np.where(total > 0, 1.0 + (scale - 1.0) * drawn / np.where(total > 0, total, 1.0), scale)

    def table(involved: tuple[int, ...], towards: F64) -> F64:
        pairs = counted(involved, gamma, weight, n_levels, None)
        smooth = pairs + pseudo_pairs * mean_weight(pairs, involved) * towards
        total = smooth.sum(axis=0, keepdims=True)
        return np.asarray(np.where(total > 0, smooth / np.where(total > 0, total, 1.0), 1.0 / len(smooth)))

    tables = []
    for v, parents in structure.families:
        own = alone[v, : n_levels[v]]
        if not parents:
            tables.append(own)
            continue
        towards = own.reshape(-1, *[1] * len(parents))
        if len(parents) > 1:
            # Each parent separately supplies the estimate for levels that rarely occur together.
            for i, parent in enumerate(parents):
                single = table((v, parent), own[:, None])
                shape = [1] * len(parents)
                shape[i] = n_levels[parent]
                ratio = np.divide(single, own[:, None], out=np.zeros_like(single), where=own[:, None] > 0)
                towards = towards * ratio.reshape(-1, *shape)
            towards = towards / np.maximum(towards.sum(axis=0, keepdims=True), 1e-300)
        tables.append(table((v, *parents), towards))
    return Distribution(structure, tuple(tables))
