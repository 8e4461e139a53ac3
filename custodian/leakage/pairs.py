"""Pairs of rows inside blocks, and how similar each pair is in every field: in signatures, and in clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np

from gemel.common.arrays import F32, I32, I64, U8
from gemel.custodian.leakage.view import FieldView, PublicValues

EQUAL = np.float32(1.0)
ABSENT = np.float32(-9.0)
ALMOST = np.float32(0.999)
"""Largest similarity of values that differ: with randomised response an estimate may exceed 1."""
BINS = 128
"""Steps from 0 to 1 in which similarities in clear are compared: finer than any signature can distinguish."""
EQUAL_BIN, ABSENT_BIN = BINS + 1, BINS + 2
_PAIRS = 1 << 17


@dataclass(frozen=True)
class Fingerprints:
    """What every two rows of a block have in common: whether each field is equal, or how similar it is, but no value.

    `one` and `other` are the rows, `block` theirs, from 0: int64, shape (n_pairs,). `similar`, float32 of shape
    (n_pairs, n_fields), is below 1, or ``EQUAL``, or ``ABSENT`` where either lacks the value; `times` the pairs of the
    block that have the same two signatures, and so the same noise; None: each has its own.
    """

    one: I64
    other: I64
    block: I64
    similar: F32
    times: F32 | None = None

    def binned(self) -> U8:
        """The similarities in ``BINS`` classes, then `EQUAL_BIN` and `ABSENT_BIN`; of the shape of `similar`."""
        near = np.clip(np.rint(self.similar * BINS), 0, BINS)
        absent = self.similar == ABSENT
        found: U8 = np.where(absent, ABSENT_BIN, np.where(self.similar == EQUAL, EQUAL_BIN, near))
        return found.astype(np.uint8)


def fingerprints_of_signatures(block: I64, fields: Sequence[tuple[FieldView, I64]]) -> Fingerprints:
    """Fingerprints of all pairs of rows in one block, as Carole sees them; `block` from 0, or -1, of shape (n_rows,).

    `fields` are per field the signatures, which are of one block each, and each row's among them (-1: missing).
    """
    one, other = pairs_within(block)
    columns, times = [], []
    for view, codes in fields:
        first, second = codes[one], codes[other]
        columns.append(_where_both(first, second, partial(_equal_or_similar, view)))
        kind = np.minimum(first, second) * (view.n_values + 1) + np.maximum(first, second)
        _, place, number = np.unique(kind, return_inverse=True, return_counts=True)
        times.append(number[place].astype(np.float32))
    return Fingerprints(one, other, block[one], np.stack(columns, axis=1), np.stack(times, axis=1))


def fingerprints_in_clear(block: I64, fields: Sequence[tuple[PublicValues, I64]]) -> Fingerprints:
    """Fingerprints of all pairs of people in one block, by whoever has their values; `block` from 0, or -1, by person.

    `fields` are per field the values there are, and each one's among them (-1: missing).
    """
    one, other = pairs_within(block)
    columns = [_where_both(codes[one], codes[other], partial(paired_values, public)) for public, codes in fields]
    return Fingerprints(one, other, block[one], np.stack(columns, axis=1))


def _where_both(first: I64, second: I64, similar: Callable[[I64, I64], F32]) -> F32:
    """The similarities of pairs of values, ``ABSENT`` where either is missing."""
    column = np.full(len(first), ABSENT, dtype=np.float32)
    both = (first >= 0) & (second >= 0)
    column[both] = similar(first[both], second[both])
    return column


def _equal_or_similar(view: FieldView, one: I64, other: I64) -> F32:
    return np.where(one == other, EQUAL, np.minimum(paired_signatures(view, one, other), ALMOST))


def pairs_within(block: I64) -> tuple[I64, I64]:
    """All pairs of rows of one block (from 0; -1: in none), each once, as two arrays of rows; block by block.

    Examples
    --------
    >>> one, other = pairs_within(np.array([0, 1, 0, 0, -1]))
    >>> list(zip(one.tolist(), other.tolist()))
    [(0, 2), (0, 3), (2, 3)]
    """
    order = np.argsort(block, kind="stable")
    order = order[block[order] >= 0]
    sizes = np.bincount(block[order], minlength=0)
    size = np.repeat(sizes, sizes)  # of the block of each row, in that order
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    after = size - 1 - (np.arange(len(order)) - start)  # rows of the block that come after each
    one = np.repeat(np.arange(len(order)), after)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(after) - after, after)
    return order[one], order[other]


def paired_signatures(view: FieldView, one: I64, other: I64) -> F32:
    """Estimated similarity of signatures given in pairs, shape (n_pairs,); see `FieldView.similarity`."""
    differ = np.empty(len(one), dtype=np.float32)
    for start in range(0, len(one), _PAIRS):
        part = slice(start, start + _PAIRS)
        apart = view.signatures[one[part]] ^ view.signatures[other[part]]
        differ[part] = np.bitwise_count(apart).sum(axis=1, dtype=np.int64)
    scale = (1.0 - 2.0 * view.randomised_response) ** 2
    return ((1.0 - 2.0 * differ / view.bits) / scale).astype(np.float32)


def paired_values(public: PublicValues, one: I64, other: I64) -> F32:
    """Jaccard similarity of values given in pairs, shape (n_pairs,)."""
    tokens = public.tokens
    tokens.sort_indices()
    return _jaccard(tokens.indptr, tokens.indices, one, other)


@numba.njit(cache=True, nogil=True)
def _jaccard(start: I32, tokens: I32, one: I64, other: I64) -> F32:
    similar = np.empty(len(one), dtype=np.float32)
    for pair in range(len(one)):
        first, first_end = start[one[pair]], start[one[pair] + 1]
        second, second_end = start[other[pair]], start[other[pair] + 1]
        total = first_end - first + second_end - second
        common = 0
        while first < first_end and second < second_end:
            if tokens[first] == tokens[second]:
                common += 1
                first += 1
                second += 1
            elif tokens[first] < tokens[second]:
                first += 1
            else:
                second += 1
        similar[pair] = np.float32(common) / np.float32(total - common)
    return similar
