"""Pairs as a check field sees them: how alike their other fields are, and whether they agree in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.classes import wrong

FAR, NEAR, SAME, MISSING = 0, 1, 2, -1
"""Likeness of two values: dissimilar, similar but different, equal, not compared."""


@dataclass(frozen=True)
class CheckedPairs:
    """Pairs, how alike their fields are, and whether they agree in the check field.

    Parameters
    ----------
    likeness : ndarray of int8, shape (n_pairs, n_fields)
        `FAR`, `NEAR`, `SAME` or `MISSING` of each field of the model.
    agrees : ndarray of int8, shape (n_pairs,)
        1 or 0 of the check field; `MISSING` where a record lacks it.
    """

    likeness: NDArray[np.int8]
    weight: NDArray[np.float64]
    agrees: NDArray[np.int8]

    def __post_init__(self) -> None:
        if self.likeness.ndim != 2 or self.agrees.shape != self.likeness.shape[:1]:
            raise wrong("one agreement per row of likenesses", f"{self.likeness.shape} and {self.agrees.shape}")

    @property
    def differing(self) -> NDArray[np.int64]:
        """Fields in which each pair differs at all: int64, shape (n_pairs,)."""
        return np.asarray(((self.likeness == FAR) | (self.likeness == NEAR)).sum(axis=1), dtype=np.int64)

    def rows(self, selected: NDArray[np.bool_]) -> CheckedPairs:
        """Some of the pairs."""
        return CheckedPairs(self.likeness[selected], self.weight[selected], self.agrees[selected])
