"""Marginal likelihoods of decomposable models under hyper-Dirichlet priors."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import MAX_VARIABLES, Graph, lowest
from gemel.risk.models.junction_trees import JunctionTree

# A table's score is the log of T11's equation 13 with every cell's parameter equal to alpha / (declared cells):
#
#     log G(alpha) - log G(alpha + n) + sum over occupied cells of [log G(lambda + n_i) - log G(lambda)]
#
# Records are numbered by their cell in mixed radix, renumbered through a hash table whenever the numbers would outgrow
# what was counted, and so never by a full table. Counts that are small whole numbers are tallied first: most
# cells of a sparse table hold one or two records, and the tally needs one logarithm for each different count.

TALLIED = 64
MISSES, LOOKUPS, STORED = 0, 1, 2
_GOLDEN = -7046029254386353131  # 2**64 / golden ratio, odd, as a signed number
_SPAN_LIMIT = 2**61


class Data(NamedTuple):
    """What is counted: the distinct cells column by column, their counts, and the prior."""

    columns: Codes  # (n_variables, n_cells)
    counts: Floats  # (n_cells,)
    levels: Integers  # (n_variables,)
    precision: float
    whole: bool


class Work(NamedTuple):
    """Scratch space of a counting, and the cache of scores: one owner at a time."""

    keys: Integers  # (n_cells,)
    slot_keys: Integers  # power of two, at least 2 n_cells
    slot_numbers: Integers
    sums: Floats  # (max(4 n_cells, 1024),)
    cached_sets: Integers  # power of two; -1 is free
    cached_scores: Floats
    tally: Integers  # MISSES, LOOKUPS, STORED


def data_arrays(cells: Codes, counts: Floats, levels: tuple[int, ...], precision: float) -> Data:
    whole = bool((counts == np.floor(counts)).all() and counts.max() < 2**52)
    columns = np.ascontiguousarray(cells.T, dtype=np.int32)
    return Data(columns, np.ascontiguousarray(counts), np.array(levels, dtype=np.int64), float(precision), whole)


def work_arrays(n_cells: int, cache: int) -> Work:
    """Fresh scratch space and an empty cache of `cache` (a power of two) places."""
    slots = 1 << max(4, (2 * n_cells - 1).bit_length())
    return Work(
        np.zeros(n_cells, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(max(4 * n_cells, 1024)),
        np.full(cache, -1, dtype=np.int64),
        np.zeros(cache),
        np.zeros(3, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _renumber(work):  # type: ignore[no-untyped-def]  # compiled
    """Replace the keys by numbers 0, 1, ... in order of first occurrence; how many there are."""
    slot_keys, slot_numbers, keys = work.slot_keys, work.slot_numbers, work.keys
    mask = len(slot_keys) - 1
    shift = 0
    while mask >> shift:
        shift += 1
    slot_numbers[:] = -1
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        slot = ((key * _GOLDEN) >> (64 - shift)) & mask
        while slot_numbers[slot] >= 0 and slot_keys[slot] != key:
            slot = (slot + 1) & mask
        if slot_numbers[slot] < 0:
            slot_numbers[slot] = found
            slot_keys[slot] = key
            found += 1
        keys[i] = slot_numbers[slot]
    return found


@njit(cache=True, nogil=True)
def count_table(data, work, variables):  # type: ignore[no-untyped-def]  # compiled
    """Count the cells over a set of variables into `work.sums`; returns (entries used, declared cells)."""
    keys = work.keys
    keys[:] = 0
    span, declared = 1, 1.0
    left = variables
    while left:
        v = lowest(left)
        left &= left - 1
        n = data.levels[v]
        if span > _SPAN_LIMIT // n:
            span = _renumber(work)
        column = data.columns[v]
        for i in range(len(keys)):
            keys[i] = keys[i] * n + column[i]
        span *= n
        declared *= n
    if span > len(work.sums):
        span = _renumber(work)
    work.sums[:span] = 0.0
    for i in range(len(keys)):
        work.sums[keys[i]] += data.counts[i]
    return span, declared


@njit(cache=True, nogil=True)
def count_and_score(data, work, variables):  # type: ignore[no-untyped-def]  # compiled
    """The log marginal likelihood of the table over a set of variables, counted afresh. O(cells * |set|)."""
    if variables == 0:
        return 0.0
    span, declared = count_table(data, work, variables)
    prior = data.precision / declared
    base = math.lgamma(prior)
    total, score = 0.0, 0.0
    tally = np.zeros(TALLIED, dtype=np.int64)
    for i in range(span):
        count = work.sums[i]
        if count > 0.0:
            total += count
            if data.whole and count < TALLIED:
                tally[int(count)] += 1
            else:
                score += math.lgamma(prior + count) - base
    rising = 0.0
    last = TALLIED - 1
    while last > 0 and tally[last] == 0:
        last -= 1
    for count in range(1, last + 1):
        rising += math.log(prior + (count - 1))
        if tally[count]:
            score += tally[count] * rising
    return score + math.lgamma(data.precision) - math.lgamma(data.precision + total)


@njit(cache=True, nogil=True)
def table_score(data, work, variables):  # type: ignore[no-untyped-def]  # compiled
    """The same from the cache, counted only where it is not there. The cache must have a free place."""
    if variables == 0:
        return 0.0
    mask = len(work.cached_sets) - 1
    slot = ((variables * _GOLDEN) >> 32) & mask
    work.tally[LOOKUPS] += 1
    while work.cached_sets[slot] != variables:
        if work.cached_sets[slot] < 0:
            work.cached_sets[slot] = variables
            work.cached_scores[slot] = count_and_score(data, work, variables)
            work.tally[MISSES] += 1
            work.tally[STORED] += 1
            break
        slot = (slot + 1) & mask
    return work.cached_scores[slot]


@njit(cache=True, nogil=True)
def is_full(work):  # type: ignore[no-untyped-def]  # compiled
    """Whether the cache must grow, or be emptied, before the next move."""
    return 2 * work.tally[STORED] + 32 > len(work.cached_sets)


@njit(cache=True, nogil=True)
def move_score(data, work, rest, v, w):  # type: ignore[no-untyped-def]  # compiled
    """The log Bayes factor for adding edge (v, w) where S = `rest` is the rest of its clique (equation 12)."""
    both = rest | (1 << v) | (1 << w)
    return (
        table_score(data, work, both)
        + table_score(data, work, rest)
        - table_score(data, work, rest | (1 << v))
        - table_score(data, work, rest | (1 << w))
    )


@njit(cache=True, nogil=True)
def copy_cache(old_sets, old_scores, new_sets, new_scores):  # type: ignore[no-untyped-def]  # compiled
    """Put all entries of one cache into another, which has room."""
    mask = len(new_sets) - 1
    for i in range(len(old_sets)):
        if old_sets[i] >= 0:
            slot = ((old_sets[i] * _GOLDEN) >> 32) & mask
            while new_sets[slot] >= 0:
                slot = (slot + 1) & mask
            new_sets[slot] = old_sets[i]
            new_scores[slot] = old_scores[i]


class HyperDirichlet:
    """Scores of sets of variables and of decomposable graphs, each table counted once and remembered.

    `precision`: total prior precision alpha of the hyper-Dirichlet prior, all cells of the full table equal;
    `cache_limit`: most places of the cache (16 bytes each, half of them used); a full one is emptied.

    A table that is not in the cache costs O(occupied cells * its variables), however many cells it declares. One
    instance serves one thread.
    """

    def __init__(self, counts: SparseCounts, precision: float = 1.0, cache_limit: int = 2**24) -> None:
        if not (precision > 0 and math.isfinite(precision)):
            raise parameter("precision", "the prior precision must be positive", str(precision))
        if len(counts.names) > MAX_VARIABLES:
            raise parameter("counts", f"the search takes at most {MAX_VARIABLES} variables", str(len(counts.names)))
        if cache_limit < 1024:
            raise parameter("cache_limit", "the cache needs at least 1024 places", str(cache_limit))
        self.counts = counts
        self.precision = float(precision)
        self.cache_limit = cache_limit
        self.data = data_arrays(counts.cells, counts.counts, counts.levels, precision)
        self.work = work_arrays(len(counts.counts), 1024)

    def __len__(self) -> int:
        return len(self.counts.names)

    @property
    def tables_counted(self) -> int:
        """How many tables have been counted: lookups the cache could not answer."""
        return int(self.work.tally[MISSES])

    def make_room(self) -> None:
        """Make the cache twice as large, with the same entries; where that would pass its limit, empty it."""
        places, tally = len(self.work.cached_sets), self.work.tally.copy()
        if 2 * places > self.cache_limit:
            tally[STORED] = 0
            self.work = self.work._replace(cached_sets=np.full(places, -1, dtype=np.int64), tally=tally)
            return
        sets: NDArray[Any] = np.full(2 * places, -1, dtype=np.int64)
        scores = np.zeros(2 * places)
        copy_cache(self.work.cached_sets, self.work.cached_scores, sets, scores)
        self.work = self.work._replace(cached_sets=sets, cached_scores=scores, tally=tally)

    def table(self, variables: int) -> float:
        """Log marginal likelihood of the table over a set of variables."""
        if variables >> len(self):
            raise parameter("variables", "unknown variable", bin(variables))
        if is_full(self.work):
            self.make_room()
        return float(table_score(self.data, self.work, variables))

    def graph(self, graph: Graph) -> float:
        """Log marginal likelihood of a decomposable model."""
        if len(graph) != len(self):
            raise parameter(
                "graph", "the graph must have the data's variables", f"{len(graph)} nodes for {len(self)} variables"
            )
        tree = JunctionTree.of(graph)
        return math.fsum([*(self.table(c) for c in tree.cliques), *(-self.table(s) for s in tree.separators)])
