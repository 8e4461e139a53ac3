"""Comparison vectors of pairs that blocking leaves out, from a random sample: what two strangers have in common.

The candidates are counted exactly. The others are the bulk of all pairs, and a sample of a few million of them
tells how their levels go together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from carole.blocking import Part

SAMPLES = (1 << 23, 1 << 20, 1 << 17)
"""Pairs drawn of the whole product: the first number whose comparison vectors memory holds."""

IN_NO_BLOCK = np.uint32(0)


class RandomPairs:
    """Random pairs of the whole product, with the blocking rules they happen to satisfy as their mask.

    Parameters
    ----------
    keys_a, keys_b : sequence of ndarray of uint64
        Blocking keys of the rows under each rule, 0 where there is none.
    n_pairs : int
        Pairs to draw, with replacement.
    seed : int
        The same pairs for the same seed, whatever the threads.
    """

    def __init__(
        self, keys_a: Sequence[NDArray[np.uint64]], keys_b: Sequence[NDArray[np.uint64]], n_pairs: int, seed: int
    ) -> None:
        self._keys_a, self._keys_b = keys_a, keys_b
        self._seed = seed
        self.n_pairs = n_pairs

    def parts(self, size: int) -> Iterator[Part]:
        """Split the draws into parts of at most `size` pairs."""
        for start in range(0, self.n_pairs, size):
            yield Part(0, start, min(start + size, self.n_pairs))

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Draw a part's pairs; return how many there are."""
        n = part.stop - part.start
        rng = np.random.default_rng([self._seed, part.start])
        row_a[:n] = rng.integers(0, len(self._keys_a[0]), n, dtype=np.int32)
        row_b[:n] = rng.integers(0, len(self._keys_b[0]), n, dtype=np.int32)
        mask[:n] = IN_NO_BLOCK
        for rule, (a, b) in enumerate(zip(self._keys_a, self._keys_b, strict=True)):
            key = a[row_a[:n]]
            mask[:n] |= ((key == b[row_b[:n]]) & (key != 0)).astype(np.uint32) << np.uint32(rule)
        return n
