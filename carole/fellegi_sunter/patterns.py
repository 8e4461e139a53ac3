"""Counts of comparison patterns, the only input of estimation from the pairs.

Pairs enter the E and M steps only through how often each comparison vector occurs, so the cost of estimation
does not depend on the number of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import GemelError, parameter

MISSING = -1
"""The level of a field that is missing on either side of a pair."""


@dataclass(frozen=True)
class PatternCounts:
    """How often each comparison vector occurs under each set of blocking rules.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
        Comparison levels, 0 (least similar) upwards, or ``MISSING``.
    mask : ndarray of uint32, shape (n_patterns,)
        Bit r is set when the pairs counted satisfy blocking rule r; 0 everywhere when nothing is blocked.
        A pair is counted in one row only.
    count : ndarray of int64, shape (n_patterns,)
        Number of pairs.

    Raises
    ------
    GemelError
        If the shapes disagree, a level is below ``MISSING`` or a count is negative.
    """

    gamma: NDArray[np.int8]
    mask: NDArray[np.uint32]
    count: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.gamma.ndim != 2:
            raise _wrong("gamma must have two dimensions", str(self.gamma.ndim))
        n = self.gamma.shape[0]
        if self.mask.shape != (n,) or self.count.shape != (n,):
            raise _wrong(
                f"mask and count must have shape ({n},), as gamma has {n} rows",
                f"{self.mask.shape} and {self.count.shape}",
            )
        if n and int(self.gamma.min()) < MISSING:
            raise _wrong(f"levels must be {MISSING} (missing) or more", str(int(self.gamma.min())))
        if n and int(self.count.min()) < 0:
            raise _wrong("counts must not be negative", str(int(self.count.min())))

    @property
    def n_patterns(self) -> int:
        """Number of rows."""
        return int(self.gamma.shape[0])

    @property
    def n_fields(self) -> int:
        """Number of compared fields."""
        return int(self.gamma.shape[1])

    @property
    def n_pairs(self) -> int:
        """Number of pairs counted."""
        return int(self.count.sum())


def _wrong(what: str, got: str) -> GemelError:
    return parameter("pattern counts", what, got, "count the pairs again")
