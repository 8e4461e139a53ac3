"""The pairs of a run as the extended latent step sees them: in parts, with the pattern of each, never all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gemel.common.progress import StageProgress

Result = TypeVar("Result")

Visit = Callable[[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]], Result]
"""The function applied to a part: rows of A, rows of B, and for each pair its row of the `PatternCounts`.

The arrays are working space, valid during the call only. Calls may come from several threads at once.
"""


class Pairs(Protocol):
    """Pairs that can be visited repeatedly."""

    @property
    def n_pairs(self) -> int:
        """Their number, for progress."""

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        """Visit every part once and yield the results, in the order of the parts.

        `progress` is called with the fraction done, on the calling thread.
        """


@dataclass(frozen=True)
class ArrayPairs:
    """Pairs that are held as arrays.

    Parameters
    ----------
    row_a, row_b : ndarray of int32, shape (n_pairs,)
    pattern : ndarray of int32, shape (n_pairs,)
        Row of the `PatternCounts`.
    part : int
        Pairs of a part.
    """

    row_a: NDArray[np.int32] = field(repr=False)
    row_b: NDArray[np.int32] = field(repr=False)
    pattern: NDArray[np.int32] = field(repr=False)
    part: int = 1 << 17

    @property
    def n_pairs(self) -> int:
        """Their number."""
        return len(self.row_a)

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        """Visit the parts one after another."""
        for start in range(0, self.n_pairs, self.part):
            stop = min(start + self.part, self.n_pairs)
            yield visit(self.row_a[start:stop], self.row_b[start:stop], self.pattern[start:stop])
            progress(stop / self.n_pairs)


@dataclass(frozen=True)
class WeightedPairs:
    """Pairs with their weights as matches, from which the value model is estimated.

    Parameters
    ----------
    row_a, row_b : ndarray of int32, shape (n_pairs,)
    weight : ndarray of float64, shape (n_pairs,)
        Match probabilities, or the weight with which a pair stands for others.
    """

    row_a: NDArray[np.int32] = field(repr=False)
    row_b: NDArray[np.int32] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)

    @property
    def total(self) -> float:
        """Their expected number of matches."""
        return float(self.weight.sum())
