"""A random order that follows from a key, the same for all who have it, whatever their version of NumPy."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from gemel.common.sharing.streams import Stream

_WORDS_AT_ONCE = 1 << 16


def random_order(key: bytes, n: int) -> NDArray[np.int64]:
    """A permutation of 0 to n - 1, each as probable as any other.

    Parameters
    ----------
    key
        32 bytes, used for nothing else.

    Returns
    -------
    ndarray of int64, shape (n,)

    Notes
    -----
    The shuffle of Fisher and Yates: from the last place down, place i is exchanged with place j, drawn of 0 to i. j is
    a word of the key's stream modulo i + 1; words from the largest multiple of i + 1 on are left out, as they would
    make some j more probable. O(n).
    """
    order = np.arange(n, dtype=np.int64)
    stream = Stream(key)
    place = n - 1
    while place > 0:
        place = _shuffle(order, place, stream.words(min(place, _WORDS_AT_ONCE)))
    return order


@numba.njit(cache=True, nogil=True)
def _shuffle(order, place, words):  # type: ignore[no-untyped-def]
    """Exchange from `place` down as far as the words are enough; the place that is next."""
    for word in words:
        choices = np.uint64(place + 1)
        # 2^64 mod choices, in 64 bits.
        excess = (np.uint64(0) - choices) % choices
        if word > np.uint64(0xFFFFFFFFFFFFFFFF) - excess:
            continue
        other = np.int64(word % choices)
        order[place], order[other] = order[other], order[place]
        place -= 1
        if place == 0:
            break
    return place
