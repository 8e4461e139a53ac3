"""What a candidate pair is, without any regard for speed; the streamed form is tested against it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NO_KEY = 0
"""The key of a row without a blocking key; it matches nothing, itself included."""


def candidate_pairs(
    keys_a: Sequence[NDArray[np.uint64]], keys_b: Sequence[NDArray[np.uint64]]
) -> dict[tuple[int, int], int]:
    """Every pair of rows that satisfies at least one rule, with the rules it satisfies as a bit mask.

    Parameters
    ----------
    keys_a, keys_b : sequence of ndarray of uint64
        Per rule the keys of A's and of B's rows. Rule r is bit r of the mask.
    """
    pairs: dict[tuple[int, int], int] = {}
    for rule, (in_a, in_b) in enumerate(zip(keys_a, keys_b, strict=True)):
        for i, key_a in enumerate(in_a.tolist()):
            for j, key_b in enumerate(in_b.tolist()):
                if key_a == key_b != NO_KEY:
                    pairs[i, j] = pairs.get((i, j), 0) | 1 << rule
    return pairs
