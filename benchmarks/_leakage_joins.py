"""Joins that an attacker could make of rows: what Carole would know of them, or what collusion would bring.

`shared_rows` is what Carole would know if rows had one pseudonym under all rules (the positive control of chaining);
`recognised_groups` is what she can infer from tags: rows that agree on two rules are the same group under both, and are
recognised by how many they are and how similar to each other. `joined_rows` joins rows by combinations of category
codes, and `dictionary_attack` has the seed: whoever has it signs every public value and looks the signatures up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gemel.common.keys.derivation import FieldKeys
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage.held_back import Joins, offsets
from gemel.custodian.leakage.pairs import paired_signatures
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise

_LARGEST_GROUP = 4
_TOLERANCE = 0.15


def size_alignment(sizes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Blocking key taken for each block by its size alone: the largest block has the commonest key.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_blocks,)
        Rows of the blocks.
    shares : ndarray of float64, shape (n_keys,)
        Share of the public that has each possible blocking key.

    Returns
    -------
    ndarray of int64, shape (n_blocks,)
        Index into `shares`, ``UNKNOWN`` where there are more blocks than keys.
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

    Notes
    -----
    A group is described by its size and, for every field, by the mean similarity of its rows. Two groups are taken for
    one when each is the other's nearest, and near; they join where all rows of the group have one signature.
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
    """All ordered pairs of different rows of a group, as two arrays of rows.

    Parameters
    ----------
    group : ndarray of int64, shape (n_rows,)
        From 0.
    sizes : ndarray of int64, shape (n_groups,)
        Rows of each.
    """
    order = np.argsort(group, kind="stable")
    size = np.repeat(sizes, sizes)  # of the block of each row, in that order
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = np.repeat(np.arange(len(group)), size)
    other = np.repeat(start, size) + np.arange(len(one)) - np.repeat(np.cumsum(size) - size, size)
    apart = one != other
    return order[one[apart]], order[other[apart]]
