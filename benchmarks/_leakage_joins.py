"""Joins that an attacker could make of rows: what Carole would know of them, or what collusion would bring.

`shared_rows` is what Carole would know if rows had one pseudonym under all rules (the positive control of chaining);
`recognised_groups` is what she can infer from tags: rows that agree on two rules are the same group under both, and are
recognised by how many they are and how similar to each other. `joined_rows` joins rows by combinations of category
codes, and `dictionary_attack` has the seed: whoever has it signs every public value and looks the signatures up.

Node embeddings: encoded rows or values described by their surroundings, and looked up in a population in clear.

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

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from gemel.common.keys.derivation import FieldKeys
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage.held_back import Joins, offsets
from gemel.custodian.leakage.pairs import paired_signatures
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.similarity_graph import grown_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise

_LARGEST_GROUP = 4
_TOLERANCE = 0.15


def size_alignment(sizes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Blocking key taken for each block by its size alone: the largest block has the key of the largest share.

    `UNKNOWN` where there are more blocks than keys.
    """
    guesses = np.full(len(sizes), UNKNOWN, dtype=np.int64)
    ranked = np.argsort(-sizes, kind="stable")[: len(shares)]
    guesses[ranked] = np.argsort(-shares, kind="stable")[: len(ranked)]
    return guesses


def shared_rows(sets: Sequence[SignatureSet], field: str, orders: Mapping[str, NDArray[np.int64]]) -> Joins:
    """The joins if rows had one pseudonym under all rules: a row's signatures under two rules are equal."""
    first = offsets(sets, field)
    n = 1 + max((int(orders[part.rule].max()) for part in sets if part.n_rows), default=-1)
    held = np.full((len(sets), n), -1, dtype=np.int64)
    for place, part in enumerate(sets):
        codes = part.fields[field].codes
        here = codes >= 0
        held[place, orders[part.rule][here]] = codes[here] + first[place]
    pairs = []
    for later in range(1, len(sets)):
        for earlier in range(later):
            both = (held[earlier] >= 0) & (held[later] >= 0)
            pairs.append(np.column_stack([held[earlier][both], held[later][both]]))
    return np.unique(np.concatenate(pairs), axis=0) if pairs else np.empty((0, 2), dtype=np.int64)


def recognised_groups(sets: Sequence[SignatureSet], field: str) -> Joins:
    """The joins that tags allow: groups of two to four rows that agree on two rules, recognised under both.

    A group is described by its size and, for every field, by the mean similarity of its rows. Two groups are taken
    for one when each is the other's nearest, and near; they join where all rows of the group have one signature.
    """
    first = offsets(sets, field)
    found = [np.empty((0, 2), dtype=np.int64)]
    for later in range(1, len(sets)):
        for earlier in range(later):
            mine, one = _groups(sets[earlier], sets[later].rule, field)
            theirs, other = _groups(sets[later], sets[earlier].rule, field)
            if len(one) and len(other):
                apart, nearest = cKDTree(theirs).query(mine, p=np.inf)
                _, back = cKDTree(mine).query(theirs, p=np.inf)
                same = (back[nearest] == np.arange(len(one))) & (apart < _TOLERANCE)
                same &= (one >= 0) & (other[nearest] >= 0)
                pairs = np.column_stack([one[same] + first[earlier], other[nearest][same] + first[later]])
                found.append(pairs.astype(np.int64))
    return np.concatenate(found)


def _groups(part: SignatureSet, rule: str, field: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Descriptions of the groups of rows that agree on a further rule, and the signature that all rows have, or -1.

    A description is the group's size and, by field, the mean similarity of its rows that have a value; -1 if one has.
    """
    tags = part.blocks[rule]
    rows = np.flatnonzero(tags != 0)
    _, group, sizes = np.unique(tags[rows], return_inverse=True, return_counts=True)
    kept = (sizes >= 2) & (sizes <= _LARGEST_GROUP)
    rows, group = rows[kept[group]], (np.cumsum(kept) - 1)[group[kept[group]]]
    sizes = sizes[kept]
    one, other = ordered_pairs_within(group, sizes)
    described = [sizes.astype(np.float64)]
    for held in part.fields.values():
        codes = held.codes[rows].astype(np.int64)
        both = (codes[one] >= 0) & (codes[other] >= 0)
        similar = paired_signatures(
            FieldView(held.signatures, np.empty(0, dtype=np.int64)), codes[one[both]], codes[other[both]]
        )
        times = np.bincount(group[one[both]], minlength=len(sizes))
        total = np.bincount(group[one[both]], weights=similar, minlength=len(sizes))
        described.append(np.where(times > 0, total / np.maximum(times, 1), -1.0))
    codes = part.fields[field].codes[rows].astype(np.int64)
    first = np.full(len(sizes), -1, dtype=np.int64)
    first[group[::-1]] = codes[::-1]
    differs = np.bincount(group, weights=codes != first[group], minlength=len(sizes)) > 0
    return np.column_stack(described), np.where(differs, -1, first)


def joined_rows(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row of the second set that each row of the first is, where both have the combination alone; else ``UNKNOWN``."""
    joined = np.full(len(one), UNKNOWN, dtype=np.int64)
    if not len(one) or not len(other):
        return joined
    _, of = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    mine, theirs = of[: len(one)], of[len(one) :]
    alone = np.bincount(theirs, minlength=of.max() + 1)
    place = np.full(len(alone), UNKNOWN, dtype=np.int64)
    place[theirs] = np.arange(len(theirs))
    single = (np.bincount(mine, minlength=len(alone))[mine] == 1) & (alone[mine] == 1)
    joined[single] = place[mine[single]]
    return joined


def dictionary_attack(view: FieldView, public: PublicValues, keys: FieldKeys, token_key: bytes) -> NDArray[np.int64]:
    """Public value of each signature whose value is in the dictionary, ``UNKNOWN`` elsewhere; open mode's keys."""
    signed = signatures(tokenise(public.values, public.tokenisation, token_key), keys, view.bits)
    place = {row.tobytes(): index for index, row in reversed(list(enumerate(signed)))}
    return np.array([place.get(row.tobytes(), UNKNOWN) for row in view.signatures], dtype=np.int64)


def ordered_pairs_within(
    group: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ordered pairs of different rows of a group, as two arrays of rows; `sizes` are the rows of each group."""
    order = np.argsort(group, kind="stable")
    size = np.repeat(sizes, sizes)  # of the block of each row, in that order
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = np.repeat(np.arange(len(group)), size)
    other = np.repeat(start, size) + np.arange(len(one)) - np.repeat(np.cumsum(size) - size, size)
    apart = one != other
    return order[one[apart]], order[other[apart]]


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
    """Embed the rows of blocks by what is around them: float32, shape (n_rows, n_features).

    `fields` have the similarity of a compared field's values and each row's value (-1: missing). No coordinate
    depends on which rows or values there are, so that graphs can be compared. O(sum of squared block sizes).
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
    """Embed a field's values by their place in its similarity graph, of shape (n, n), and by how often each is met."""
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

    A public value for each value, one to one; `UNKNOWN` where none is claimed.
    """
    order = view.commonest_first()[:maximum]
    if not len(order):
        return np.full(view.n_values, UNKNOWN, dtype=np.int64)
    expected = public.shares * view.counts.sum()
    graph, names = order[:GRAPH], np.arange(min(GRAPH, len(public)))
    encoded = value_embedding(view.similarity(graph, graph), view.counts[graph].astype(np.float64))[:FIRST]
    plain = value_embedding(public.similarity(names, names), expected[names])[: 2 * FIRST]
    apart = (encoded**2).sum(axis=1)[:, None] - 2.0 * encoded @ plain.T + (plain**2).sum(axis=1)
    row, name = linear_sum_assignment(apart)
    return grown_alignment(view, public, order, graph[row], names[name])
