"""Node embeddings: encoded rows or values described by their surroundings, and looked up in a population in clear.

The attacker holds people in clear who overlap with the encoded file, and forms the same graphs of them herself.

Under block keys (`row_embedding`, `nearest_rows`) a graph is a block. Every row is embedded by its structure alone: how
many rows its block has and, in each compared field, with how many of them it is equal and how similar the most similar
ones are; then the mean of the others' descriptions. An encoded row is taken for the nearest plain one. Nothing can be
carried from one block to the next, so this is where it ends.

In open mode (`embedded_alignment`) a field is one graph, whose nodes are the values. A value is embedded by its count,
by how similar it is to values of each order of commonness, and by the mean of its neighbours' descriptions; the
commonest are matched one to one at the least total distance. The surest of these become landmarks: from then on a value
is embedded by its similarities to them, and matched again, with more landmarks each time. It is the positive control.

References
----------
.. [1] Heimann, Shen, Safavi and Koutra, REGAL: representation learning-based graph alignment, CIKM 2018.
   doi:10.1145/3269206.3271788
.. [2] Vidanage, Christen, Ranbaduge and Schnell, A graph matching attack on privacy-preserving record linkage, CIKM
   2020. doi:10.1145/3340531.3411931
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks._leakage_joins import ordered_pairs_within
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.similarity_graph import grow, grown_anchors, growth_rounds, one_to_one
from gemel.custodian.leakage.view import FieldView, PublicValues

NEAREST = 4
"""Block mates whose similarity describes a row, in each field."""

ALIKE = 0.999
"""Similarity from which two values count as equal."""

GRAPH = 2000
"""Commonest values of a field that are embedded in its graph."""

FIRST = 400
"""Of these, the commonest ones that are matched by their embeddings."""

_EDGE = 0.2
_DISCOUNT = 0.5
_ROWS = 500

PairSimilarity = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Similarities of values given in pairs, as two arrays of one length."""


def row_embedding(
    block: NDArray[np.int64], fields: Sequence[tuple[PairSimilarity, NDArray[np.int64]]]
) -> NDArray[np.float32]:
    """Embed the rows of blocks by what is around them.

    Parameters
    ----------
    block : ndarray of int64, shape (n_rows,)
        Which block each row is in.
    fields
        Per compared field the similarity of its values, and each row's value (-1: missing).

    Returns
    -------
    ndarray of float32, shape (n_rows, n_features)
        Comparable between graphs: no coordinate depends on which rows or values there are.

    Notes
    -----
    O(sum of squared block sizes).
    """
    n = len(block)
    _, place, sizes = np.unique(block, return_inverse=True, return_counts=True)
    one, other = ordered_pairs_within(place, sizes)
    columns: list[NDArray[np.float64]] = [np.log2(sizes[place])]
    for similarity, codes in fields:
        both = (codes[one] >= 0) & (codes[other] >= 0)
        row = one[both]
        similar = similarity(codes[row], codes[other[both]]).astype(np.float64)
        equal = np.bincount(row, weights=similar > ALIKE, minlength=n)
        columns.append(np.where(codes >= 0, np.log1p(equal), -1.0))
        order = np.lexsort((-similar, row))
        row, similar = row[order], similar[order]
        rank = np.arange(len(row)) - np.searchsorted(row, np.arange(n))[row]
        maximum = np.zeros((n, NEAREST))
        near = rank < NEAREST
        maximum[row[near], rank[near]] = similar[near]
        columns.extend(maximum.T)
    around = []
    for column in columns:
        total = np.bincount(place, weights=column, minlength=len(sizes))
        around.append(_DISCOUNT * (total[place] - column) / np.maximum(1, sizes[place] - 1))
    return np.column_stack([*columns, *around]).astype(np.float32)


def nearest_rows(encoded: NDArray[np.float32], plain: NDArray[np.float32]) -> NDArray[np.int64]:
    """The plain row whose embedding is nearest to that of each encoded row, -1 where there is none.

    Notes
    -----
    O(n_encoded * n_plain * n_features) in matrix products: with so many features, trees are slower. Of equally near
    ones the first is taken, so the plain rows should be in no order that carries information.
    """
    nearest = np.full(len(encoded), -1, dtype=np.int64)
    if not len(plain):
        return nearest
    half = (0.5 * (plain.astype(np.float64) ** 2).sum(axis=1)).astype(np.float32)
    for start in range(0, len(encoded), _ROWS):
        fit = encoded[start : start + _ROWS] @ plain.T
        fit -= half
        nearest[start : start + _ROWS] = fit.argmax(axis=1)
    return nearest


def value_embedding(similar: NDArray[np.float32], counts: NDArray[np.float64]) -> NDArray[np.float32]:
    """Embed the values of a field by their place in its similarity graph.

    Parameters
    ----------
    similar : ndarray of float32, shape (n, n)
        Their similarities; the diagonal is not looked at.
    counts : ndarray of float64, shape (n,)
        How often each is met, or is expected.

    Returns
    -------
    ndarray of float32, shape (n, n_features)
    """
    common = np.log2(counts + 0.5)
    near = np.where(similar > _EDGE, similar, 0).astype(np.float32)
    np.fill_diagonal(near, 0.0)
    order = np.clip(common, 0, 15).astype(np.int64)
    by_order = np.stack([near[:, order == size].sum(axis=1) for size in range(16)], axis=1)
    maximum = np.zeros((len(near), NEAREST))
    ranked = -np.sort(-near, axis=1)[:, :NEAREST]
    maximum[:, : ranked.shape[1]] = ranked
    own = np.column_stack([3.0 * common, 2.0 * np.log1p(by_order), maximum])  # counts lead where there are many
    around = near / np.maximum(near.sum(axis=1, keepdims=True), 1e-6)
    return np.concatenate([own, _DISCOUNT * (around @ own)], axis=1).astype(np.float32)


def embedded_alignment(view: FieldView, public: PublicValues, maximum: int | None = None) -> NDArray[np.int64]:
    """Align a field of open mode with a population in clear by node embeddings.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        A public value, ``UNKNOWN`` where none is claimed; one to one.
    """
    guesses = np.full(view.n_values, UNKNOWN, dtype=np.int64)
    order = view.commonest_first()[:maximum]
    if not len(order):
        return guesses
    expected = public.shares * view.counts.sum()
    graph, names = order[:GRAPH], np.arange(min(GRAPH, len(public)))
    encoded = value_embedding(view.similarity(graph, graph), view.counts[graph].astype(np.float64))[:FIRST]
    plain = value_embedding(public.similarity(names, names), expected[names])[: 2 * FIRST]
    apart = (encoded**2).sum(axis=1)[:, None] - 2.0 * encoded @ plain.T + (plain**2).sum(axis=1)
    row, name = linear_sum_assignment(apart)
    known, named = graph[row], names[name]
    for rows, columns in growth_rounds(len(order), len(public)):
        attacked = order[:rows]
        best, margin = grow(view, attacked, public, np.arange(columns), expected, known, named)
        kept = one_to_one(best, margin)
        chosen = grown_anchors(kept, margin)
        known, named = attacked[chosen], best[chosen]
    guesses[attacked[kept]] = best[kept]
    return guesses
