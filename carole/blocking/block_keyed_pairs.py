"""The pairs of block-keyed mode, in which each rule has its own rows and a record is a different row under each rule.

The rows of all rules are concatenated. A rule's blocks hold rows of that rule only, and the keys of the other
rules are tags, equal within a block where two rows agree on the other rule too. So a pair is written by the first rule
that it satisfies, with all rules it satisfies, although it is not known which rows are the same record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tryst.carole.blocking.candidates import CandidatePairs


class BlockKeyedPairs(CandidatePairs):
    """The pairs within the blocks of each rule, each pair under the first rule it satisfies.

    Parameters
    ----------
    keys_a, keys_b : sequence of ndarray of uint64
        Per rule the keys of all of A's and of B's rows: digests of blocks in the rule's own rows, tags in the others.
    starts_a, starts_b : sequence of int
        Where each rule's own rows begin, and where the last rule's rows end.

    Raises
    ------
    TrystError
        PARAMETER as for `CandidatePairs`.
    """

    def __init__(
        self,
        keys_a: Sequence[NDArray[np.uint64]],
        keys_b: Sequence[NDArray[np.uint64]],
        starts_a: Sequence[int],
        starts_b: Sequence[int],
    ) -> None:
        own_a = [_only(keys, starts_a, rule) for rule, keys in enumerate(keys_a)]
        own_b = [_only(keys, starts_b, rule) for rule, keys in enumerate(keys_b)]
        super().__init__(own_a, own_b)
        self._keys_a = np.ascontiguousarray(np.stack(keys_a, axis=1))
        self._keys_b = np.ascontiguousarray(np.stack(keys_b, axis=1))


def _only(keys: NDArray[np.uint64], starts: Sequence[int], rule: int) -> NDArray[np.uint64]:
    """The keys of a rule's own rows; none elsewhere."""
    own = np.zeros_like(keys)
    own[starts[rule] : starts[rule + 1]] = keys[starts[rule] : starts[rule + 1]]
    return own
