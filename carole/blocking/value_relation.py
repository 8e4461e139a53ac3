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
from numpy.typing import NDArray

from gemel.carole.blocking.multibit_tree import MultibitTree
from gemel.carole.comparison.kernels import popcount
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import FieldSignatures

BYTES_EACH = 8 + 4 + 8
"""Memory of a pair of values: its code while they are gathered, then its place and the pairs of rows up to it."""


@dataclass(frozen=True)
class ValuePairs:
    """Pairs of a distinct value of A with one of B.

    Attributes
    ----------
    first
        int64, shape (n_values_a + 1,): A's value i has the partners ``partner[first[i]:first[i + 1]]``.
    partner
        int32: values of B, ascending for each of A.
    """

    first: NDArray[np.int64]
    partner: NDArray[np.int32]


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

    Raises
    ------
    GemelError
        MEMORY if there are more than `maximum`.

    References
    ----------
    .. [1] Kristensen, Nielsen and Pedersen, A tree-based method for the rapid screening of chemical fingerprints,
       Algorithms for Molecular Biology 5, 2010. doi:10.1186/1748-7188-5-9
    """
    tree = MultibitTree(b.signatures)
    first, partner = tree.within(
        a.signatures, disagreements_allowed(a.bits, minimum, randomised_response), maximum, progress
    )
    if len(partner) > maximum:
        raise _too_many(maximum)
    return ValuePairs(first, partner)


def canopy_pairs(
    a: FieldSignatures, b: FieldSignatures, tight: float, loose: float, seed: int, maximum: int,
    progress: StageProgress, randomised_response: float = 0.0,
) -> ValuePairs:  # fmt: skip
    """Pairs of values that lie in a common canopy.

    A value that is still free is picked at random; all values of estimated similarity `loose` or more to it form a
    canopy, and those of `tight` or more, itself included, are no longer free. This is repeated until none is free.

    Parameters
    ----------
    a, b : FieldSignatures
    tight, loose : float
        Similarities, ``loose <= tight``.
    seed : int
        Of the order of picking.
    maximum : int
        Pairs that memory allows.
    randomised_response : float
        Probability with which each bit was randomised, in both files.

    Raises
    ------
    GemelError
        MEMORY if there are more.

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
    found: list[NDArray[np.int64]] = []
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
def _distances(values: NDArray[np.uint64], centre: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Disagreeing bits of each value with one."""
    out = np.zeros(len(values), dtype=np.int64)
    for i in range(len(values)):
        for w in range(values.shape[1]):
            out[i] += popcount(values[i, w] ^ centre[w])
    return out


def _too_many(maximum: int) -> GemelError:
    return GemelError(
        ErrorCode.MEMORY,
        f"more than {maximum:,} pairs of values are similar, the most that memory allows",
        where="resources.memory_bytes",
        remedy="require more similarity in the blocking rule, or grant more memory",
    )
