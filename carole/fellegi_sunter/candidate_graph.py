"""Candidate pairs as a bipartite graph, arranged by connected component for what is computed on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components


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
