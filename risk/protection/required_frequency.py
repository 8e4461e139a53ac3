"""How many records must agree for the chance of a right match, E[1/F | f], to be low enough.

The chance is that of individual risk (`expected_reciprocal_of_sampled`): 1/f where everyone is in the file, and falling
in f. The sampling fraction is that of the file, or by weights f over the sum of the weights of the records that agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled


def required_frequencies(risk: ArrayLike, pi: ArrayLike, maximum: int) -> NDArray[np.int64]:
    """The smallest f at which E[1/F | f] is at most `risk`; `maximum` + 1 where none up to it is."""
    limit, p = np.broadcast_arrays(np.asarray(risk, dtype=np.float64), np.asarray(pi, dtype=np.float64))
    low, high = np.ones(p.shape, dtype=np.int64), np.full(p.shape, maximum + 1, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        enough = expected_reciprocal_of_sampled(middle, p) <= limit
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    return low


def required_frequency(risk: float, pi: float, maximum: int) -> int:
    """`required_frequencies` of one risk and fraction."""
    return int(required_frequencies(risk, pi, maximum))
