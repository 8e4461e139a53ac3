"""Which distinct values of a field are compared with which: a relation, and the ways to form one.

A multibit tree finds exactly the pairs of values above a minimum similarity. Canopies are simpler and looser:
values around some that were picked at random. Both are found between distinct values, of which there are far fewer than
rows; two rows are candidates when their values are related.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit

from gemel.carole.comparison.kernels import disagreeing_bits, popcount
from gemel.common.arrays import I32, I64, U64
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import FieldSignatures

# A tree over signatures that finds all signatures within some number of disagreeing bits of a given one.
#
# Each node holds the bits that all signatures below it have in common. A query that disagrees with more of them than
# allowed stops there. Nodes are split at the bit that divides a sample of their signatures most evenly. The result is
# exact whatever the tree; only the time depends on it, from one walk down the tree when the allowed number is small to
# all pairs when it is near half of the bits.


LEAF = 8
"""Maximum number of signatures in a leaf, which are compared one by one."""

LOOKED_AT = 64
"""Signatures sampled from a node to choose its splitting bit."""

_QUERIES = 256


def _within(signatures: U64, queries: U64, allowed: int, maximum: int, progress: StageProgress) -> tuple[I64, I32]:
    """For each query the signatures with at most `allowed` disagreeing bits; stops soon after `maximum` in all.

    `signatures` (uint64, shape (n, words)): distinct; `queries` (uint64, shape (n_queries, words)). Returns `first`
    (int64, shape (n_queries + 1,)) and `found` (int32): ascending positions ``found[first[i]:first[i + 1]]`` for query
    i. The tree is built in O(n * depth * words) and n/4 nodes of two signatures each, at most twice that.
    """
    signatures, queries = np.ascontiguousarray(signatures), np.ascontiguousarray(queries)
    tree = _build(signatures)
    count = np.zeros(len(queries), dtype=np.int64)
    found = [np.empty(0, dtype=np.int32)]
    room = np.empty(max(len(signatures), 1), dtype=np.int32)
    for start in range(0, len(queries), _QUERIES):
        for i in range(start, min(start + _QUERIES, len(queries))):
            count[i] = _search(queries[i], allowed, signatures, *tree, room)
            found.append(np.sort(room[: count[i]]))
        progress(min(1.0, (start + _QUERIES) / len(queries)))
        if count.sum() > maximum:
            break
    return np.concatenate([[0], count.cumsum()]), np.concatenate(found)


_Tree = tuple[I32, I64, I64, I64, U64, U64]


@njit(nogil=True, cache=True)
def _build(signatures: U64) -> _Tree:
    """Order of the signatures; each node's first and end in it and its right child (0: a leaf; the left one follows
    the node); the bits in common and their values."""
    n, words = signatures.shape
    order = np.arange(n).astype(np.int32)
    room = max(1, 2 * n)
    first = np.zeros(room, dtype=np.int64)
    end = np.zeros(room, dtype=np.int64)
    right = np.zeros(room, dtype=np.int64)
    common = np.zeros((room, words), dtype=np.uint64)
    value = np.zeros((room, words), dtype=np.uint64)
    stack = [(0, n, -1)]
    nodes = 0
    while len(stack) > 0:
        lo, hi, parent = stack.pop()
        node = nodes
        nodes += 1
        if parent >= 0:
            right[parent] = node
        first[node] = lo
        end[node] = hi
        for w in range(words):
            every = ~np.uint64(0)
            some = np.uint64(0)
            for k in range(lo, hi):
                every &= signatures[order[k], w]
                some |= signatures[order[k], w]
            common[node, w] = ~(every ^ some)
            value[node, w] = every
        if hi - lo <= LEAF:
            continue
        looked_at = min(LOOKED_AT, hi - lo)
        best = looked_at + 1
        split_word = 0
        split_bit = np.uint64(0)
        for w in range(words):
            for bit in range(64):
                ones = 0
                for k in range(lo, lo + looked_at):
                    ones += int((signatures[order[k], w] >> np.uint64(bit)) & np.uint64(1))
                if ones != 0 and ones != looked_at and abs(2 * ones - looked_at) < best:
                    best = abs(2 * ones - looked_at)
                    split_word = w
                    split_bit = np.uint64(bit)
        middle = lo
        for k in range(lo, hi):
            if (signatures[order[k], split_word] >> split_bit) & np.uint64(1) == 0:
                order[k], order[middle] = order[middle], order[k]
                middle += 1
        # The left child is taken next, and so follows its parent.
        stack.append((middle, hi, node))
        stack.append((lo, middle, -1))
    return order, first[:nodes], end[:nodes], right[:nodes], common[:nodes], value[:nodes]


@njit(nogil=True, cache=True)
def _search(
    query: U64, allowed: int, signatures: U64, order: I32, first: I64, end: I64, right: I64, common: U64, value: U64,
    out: I32,
) -> int:  # fmt: skip
    """Write the signatures within `allowed` disagreeing bits of one, in no order; return their number."""
    n = 0
    words = len(query)
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        minimum = np.uint64(0)
        for w in range(words):
            minimum += popcount((query[w] ^ value[node, w]) & common[node, w])
        if minimum > allowed:
            continue
        if right[node] > 0:
            stack.append(right[node])
            stack.append(node + 1)
            continue
        for k in range(first[node], end[node]):
            if disagreeing_bits(query, signatures[order[k]]) <= allowed:
                out[n] = order[k]
                n += 1
    return n


BYTES_EACH = 8 + 4 + 8
"""Memory of a pair of values: its code while they are gathered, then its place and the pairs of rows up to it."""


@dataclass(frozen=True)
class ValuePairs:
    """Pairs of a distinct value of A with one of B.

    `first`: int64, shape (n_values_a + 1,): A's value i has the partners ``partner[first[i]:first[i + 1]]``; `partner`:
    int32: values of B, ascending for each of A.
    """

    first: I64
    partner: I32


def disagreements_allowed(bits: int, minimum: float, randomised_response: float = 0.0) -> int:
    """Greatest number of disagreeing bits at which the estimated similarity is at least `minimum`.

    ``(2n/M - 1)/c >= s`` is ``M - n <= M (1 - cs)/2``, where ``c = (1 - 2r)^2`` for bits randomised with probability r;
    decided in exact arithmetic for the decimal numbers that `minimum` and `randomised_response` print as.
    """
    return int(bits * (1 - (1 - 2 * Fraction(str(randomised_response))) ** 2 * Fraction(str(minimum))) / 2)


def similar_pairs(
    a: FieldSignatures,
    b: FieldSignatures,
    minimum: float,
    maximum: int,
    progress: StageProgress,
    randomised_response: float = 0.0,
) -> ValuePairs:
    """All pairs of values whose estimated similarity is at least `minimum`, by a multibit tree over B's.

    Raises MEMORY if there are more than `maximum`.

    References
    ----------
    .. [1] Kristensen, Nielsen and Pedersen, A tree-based method for the rapid screening of chemical fingerprints,
       Algorithms for Molecular Biology 5, 2010. doi:10.1186/1748-7188-5-9
    """
    allowed = disagreements_allowed(a.bits, minimum, randomised_response)
    first, partner = _within(b.signatures, a.signatures, allowed, maximum, progress)
    if len(partner) > maximum:
        raise _too_many(maximum)
    return ValuePairs(first, partner)


def canopy_pairs(
    a: FieldSignatures, b: FieldSignatures, tight: float, loose: float, seed: int, maximum: int,
    progress: StageProgress, randomised_response: float = 0.0,
) -> ValuePairs:  # fmt: skip
    """Pairs of values that lie in a common canopy; MEMORY if there are more than `maximum`.

    A value that is still free is picked at random; all values of estimated similarity `loose` or more to it form a
    canopy, and those of `tight` or more, itself included, are no longer free. This is repeated until none is free.

    Notes
    -----
    O(canopies * distinct values * bits / 64), and the sum over canopies of A's values times B's.

    References
    ----------
    .. [1] McCallum, Nigam and Ungar, Efficient clustering of high-dimensional data sets, KDD 2000.
       doi:10.1145/347090.347123
    """
    values = np.ascontiguousarray(np.concatenate([a.signatures, b.signatures]))
    near, far = (disagreements_allowed(a.bits, similarity, randomised_response) for similarity in (tight, loose))
    free = np.ones(len(values), dtype=np.bool_)
    found: list[I64] = []
    waiting, distinct = 0, np.empty(0, dtype=np.int64)
    for picked, centre in enumerate(np.random.default_rng(seed).permutation(len(values))):
        if not free[centre]:
            continue
        distance = _distances(values, values[centre])
        free[distance <= near] = False
        inside = np.flatnonzero(distance <= far)
        in_a, in_b = inside[inside < a.n_distinct], inside[inside >= a.n_distinct] - a.n_distinct
        if len(in_a) * len(in_b) > maximum:
            raise _too_many(maximum)
        found.append((in_a[:, None] * b.n_distinct + in_b).ravel())
        waiting += len(found[-1])
        # Canopies overlap: repeated pairs are dropped from time to time, so that they do not accumulate.
        if waiting > len(distinct) + (1 << 20):
            distinct, found, waiting = np.unique(np.concatenate([distinct, *found])), [], 0
            if len(distinct) > maximum:
                raise _too_many(maximum)
        progress((picked + 1) / len(values))
    distinct = np.unique(np.concatenate([distinct, *found]))
    if len(distinct) > maximum:
        raise _too_many(maximum)
    value_a, value_b = np.divmod(distinct, max(1, b.n_distinct))
    first = np.concatenate(([0], np.cumsum(np.bincount(value_a, minlength=a.n_distinct))))
    return ValuePairs(first.astype(np.int64), value_b.astype(np.int32))


@njit(nogil=True, cache=True)
def _distances(values: U64, centre: U64) -> I64:
    out = np.zeros(len(values), dtype=np.int64)
    for i in range(len(values)):
        out[i] = disagreeing_bits(values[i], centre)
    return out


def _too_many(maximum: int) -> GemelError:
    what = f"more than {maximum:,} pairs of values are similar, the most that memory allows"
    remedy = "require more similarity in the blocking rule, or grant more memory"
    return GemelError(ErrorCode.MEMORY, what, where="resources.memory_bytes", remedy=remedy)
