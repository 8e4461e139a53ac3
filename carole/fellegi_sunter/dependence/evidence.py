"""Evidence on pairs besides their comparison vectors, which estimation of m and u uses and does not change."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Evidence:
    """What else is known of pairs, for instance the Bayes factors of their values.

    Parameters
    ----------
    pattern : ndarray of int, shape (n,)
        Row of the `PatternCounts` of each pair, or class of pairs.
    bits : ndarray of float64, shape (n,)
        Binary logarithm of its Bayes factor for a match.
    count : ndarray of float64, shape (n,), optional
        Pairs of each class; None: one each.
    """

    pattern: NDArray[np.integer] = dataclass_field(repr=False)
    bits: NDArray[np.float64] = dataclass_field(repr=False)
    count: NDArray[np.float64] | None = dataclass_field(default=None, repr=False)
