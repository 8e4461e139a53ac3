"""Node embeddings: rows of blocks described by their surroundings, and looked up among people of a plaintext file.

The attacker holds a population in clear that overlaps the encoded file, and forms its blocks herself. Every row of a
block, encoded or plain, is embedded by its structure alone: how many rows its block has and, field by field, with how
many of them it is equal and how similar the most similar ones are; then the same of its neighbours, averaged. An
encoded row is taken for the nearest plain one.

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
from scipy.spatial import cKDTree

from risk.leakage.public import PublicValues
from risk.leakage.view import FieldView

NEAREST = 4
"""Block mates whose similarity describes a row, in each field."""

ALIKE = 0.999
"""Similarity from which two values count as equal."""

_DISCOUNT = 0.5

Similarity = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]


def row_embedding(
    block: NDArray[np.int64], fields: Sequence[tuple[Similarity, NDArray[np.int64]]], hops: int = 2
) -> NDArray[np.float32]:
    """Embed the rows of blocks by what is around them.

    Parameters
    ----------
    block : ndarray of int64, shape (n_rows,)
        Which block each row is in.
    fields
        Per field a similarity of its values, and each row's value (-1: missing).
    hops
        How often neighbours' descriptions are averaged in.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_features)
        Comparable between graphs: no coordinate depends on which rows or values there are.

    Notes
    -----
    O(sum of squared block sizes).
    """
    width = 1 + len(fields) * (NEAREST + 1)
    near = np.zeros((len(block), width), dtype=np.float32)
    order = np.argsort(block, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(block[order])) + 1) if len(order) else []
    for rows in groups:
        near[rows, 0] = np.log2(len(rows))
        if len(rows) == 1:
            continue
        for place, (similarity, codes) in enumerate(fields):
            start = 1 + place * (NEAREST + 1)
            there = np.flatnonzero(codes[rows] >= 0)
            values, of = np.unique(codes[rows[there]], return_inverse=True)
            similar = similarity(values, values)[np.ix_(of, of)]
            np.fill_diagonal(similar, 0.0)
            near[rows[there], start] = np.log1p((similar > ALIKE).sum(axis=1))
            most = -np.sort(-similar, axis=1)[:, :NEAREST]
            near[rows[there][:, None], start + 1 + np.arange(most.shape[1])] = most
    parts = [near]
    for hop in range(1, hops):
        around = np.zeros_like(near)
        for rows in groups:
            if len(rows) > 1:
                others = parts[-1][rows].sum(axis=0) - parts[-1][rows]
                around[rows] = _DISCOUNT**hop * others / (len(rows) - 1)
        parts.append(around)
    return np.concatenate(parts, axis=1)


def signature_similarity(view: FieldView) -> Similarity:
    """Similarity of a field's signatures, as `row_embedding` takes it."""
    return view.similarity


def public_similarity(public: PublicValues) -> Similarity:
    """Similarity of public values, as `row_embedding` takes it."""
    return public.similarity


def nearest_rows(encoded: NDArray[np.float32], plain: NDArray[np.float32]) -> NDArray[np.int64]:
    """The plain row whose embedding is nearest to that of each encoded row, -1 where there is none.

    Notes
    -----
    O(n log n) with a k-d tree. Of equally near ones any is taken.
    """
    if not len(plain):
        return np.full(len(encoded), -1, dtype=np.int64)
    _, nearest = cKDTree(plain).query(encoded)
    found: NDArray[np.int64] = np.asarray(nearest, dtype=np.int64)
    return found
