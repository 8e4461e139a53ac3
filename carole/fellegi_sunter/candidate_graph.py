"""Candidate pairs as a bipartite graph, arranged by connected component for what is computed on it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from gemel.common.arrays import F64, I32, I64, Ints


class CandidateGraph(NamedTuple):
    """Candidate pairs arranged for passing messages: by component, by record of A, and by record of B.

    Records that may exclude each other are near each other in memory.
    """

    order: I32  # (n_pairs,): position of each edge in the caller's arrays
    row_first: I64  # (n_rows + 1,): edges of each record of A, which are consecutive
    column_first: I64  # (n_columns + 1,): those of each record of B, in `column_edge`
    column_edge: I32  # (n_pairs,)
    edge_row: I32  # (n_pairs,): the record of A that each edge joins
    edge_column: I32  # (n_pairs,)
    component_row: I64  # (n_components + 1,): first record of A of each component
    component_column: I64  # (n_components + 1,)

    @property
    def n_edges(self) -> int:
        return len(self.order)


def candidate_graph(a: Ints, b: Ints) -> CandidateGraph:
    """Arrange candidate pairs, fewer than 2^31.

    `a`, `b` (int, shape (n_pairs,)): rows of the two files; no pair twice.

    O(n_pairs + largest row number); some 20 bytes a pair.
    """
    rows, columns = _numbered(a), _numbered(b)
    n_rows, n_columns = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    n_components, of_row, of_column = components(rows, columns, n_rows, n_columns)
    component_row, row_rank = _ranks(of_row, n_components)
    component_column, column_rank = _ranks(of_column, n_components)
    rows, columns = row_rank[rows], column_rank[columns]
    row_first, order = by_node(rows, n_rows)
    rows, columns = rows[order], columns[order]
    column_first, column_edge = by_node(columns, n_columns)
    return CandidateGraph(order, row_first, column_first, column_edge, rows, columns, component_row, component_column)


def components(row: I32, column: I32, n_rows: int, n_columns: int) -> tuple[int, I32, I32]:
    """How many connected components a bipartite graph of these edges has, and which one each row and column is in."""
    n = n_rows + n_columns
    edges = csr_matrix((np.ones(len(row), dtype=np.int8), (row, column + np.int32(n_rows))), shape=(n, n))
    n_components, label = connected_components(edges, directed=False)
    return n_components, label[:n_rows], label[n_rows:]


def by_node(node: I32, n: int) -> tuple[I64, I32]:
    """The edges of each of `n` nodes, in their order: where each node's begin, and the edges."""
    first = np.concatenate(([0], np.cumsum(np.bincount(node, minlength=n)))).astype(np.int64)
    return first, _placed(node, first[:-1].copy())


@njit(nogil=True, cache=True)
def _placed(node: I32, following: I64) -> I32:
    """Sort by counting: `following` is the next free place of each node."""
    edges = np.empty(len(node), dtype=np.int32)
    for e in range(len(node)):
        edges[following[node[e]]] = e
        following[node[e]] += 1
    return edges


def _numbered(row: Ints) -> I32:
    """The rows that occur, numbered in their order."""
    occurs = np.zeros(int(row.max(initial=-1)) + 1, dtype=np.bool_)
    occurs[row] = True
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    found: I32 = number[row]
    return found


def _ranks(label: I32, n_labels: int) -> tuple[I64, I32]:
    """Where each label's nodes begin when they are sorted by it, and the position of each node."""
    first, nodes = by_node(label, n_labels)
    rank = np.empty(len(label), dtype=np.int32)
    rank[nodes] = np.arange(len(label), dtype=np.int32)
    return first, rank


class Messages(NamedTuple):
    """Weights and messages of each edge, in the graph's order; each of shape (n_edges,)."""

    weight: F64
    to_a: F64
    to_b: F64


@dataclass(frozen=True)
class Settled:
    """How far messages have come.

    `unsettled`: records whose messages still changed when they were stopped; `worked_out`: terms worked out, some
    nanoseconds each: the cost.
    """

    expected_links: float
    unsettled: int = 0
    worked_out: float = 0.0


@dataclass(frozen=True)
class Beliefs:
    """Marginal probabilities of links.

    `probability` (float64, shape (n_pairs,)): of each link, in the order of the caller's arrays; `log_weight_sum`:
    logarithm of the summed weights of all matchings, the empty one weighing 1; where messages approximate, Bethe's.
    """

    probability: F64
    log_weight_sum: float


RANGE = 1 << 18
"""Elements of a part."""

Result = TypeVar("Result")


def ranges(first: Ints) -> list[slice]:
    """Parts of a sequence of which each has about `RANGE` of what its elements have; one at least.

    `first` (int, shape (n + 1,)): ascending from 0: where what each element has begins, and the end.
    """
    cuts = np.searchsorted(first[:-1], np.arange(0, max(int(first[-1]), 1), RANGE))
    found = [slice(begin, end) for begin, end in pairwise(np.unique([0, *cuts, len(first) - 1]).tolist())]
    return found or [slice(0, 0)]


def equal_ranges(n: int) -> list[slice]:
    """Parts of a sequence of `n` elements; one at least."""
    return [slice(begin, min(begin + RANGE, n)) for begin in range(0, max(n, 1), RANGE)]


def in_ranges(parts: list[slice], threads: int, work: Callable[[slice], Result]) -> list[Result]:
    """What work on each of some parts gives, in their order."""
    if threads == 1 or len(parts) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads, thread_name_prefix="ranges") as pool:
        return list(pool.map(work, parts))
