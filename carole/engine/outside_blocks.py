"""Comparison vectors of pairs that blocking leaves out, from a random sample: what two strangers have in common.

The candidates are counted exactly. The others are the bulk of all pairs, and a sample of a few million of them
tells how their levels go together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tryst.carole.blocking import Part

SAMPLES = (1 << 23, 1 << 20, 1 << 17)
"""Pairs drawn of the whole product: the first number whose comparison vectors memory holds."""

Mark = Callable[[NDArray[np.int32], NDArray[np.int32], int, NDArray[np.uint32]], None]


class RandomPairs:
    """Random pairs of the whole product, with the blocking rules they happen to satisfy as their mask.

    Parameters
    ----------
    n_a, n_b : int
        Rows of the two files.
    mark : callable
        Writes the rules that given pairs satisfy: `mark` of a source of blocked pairs.
    n_pairs : int
        Pairs to draw, with replacement.
    seed : int
        The same pairs for the same seed, whatever the threads.
    """

    def __init__(self, n_a: int, n_b: int, mark: Mark, n_pairs: int, seed: int) -> None:
        self._n_a, self._n_b = n_a, n_b
        self._mark = mark
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
        row_a[:n] = rng.integers(0, self._n_a, n, dtype=np.int32)
        row_b[:n] = rng.integers(0, self._n_b, n, dtype=np.int32)
        self._mark(row_a, row_b, n, mask)
        return n
