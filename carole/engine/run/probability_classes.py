"""Link probabilities as a custodian is shown them: means of stated classes, so that none stands for one pair's fields.

A custodian knows m, u and p. A link probability to the last digit, or a match weight, is then that of one comparison
pattern: which fields the other custodian holds otherwise. So the pairs of a share are put into the classes between
`BOUNDS`, and each shows the mean of its class. A class of fewer than `FEWEST` pairs, or of fewer than `MIN_VECTORS`
comparison vectors, is joined with the next. Links are decided before, by the exact numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEWEST = 20
"""Pairs that a number must be of, at least, to be shown to anyone."""

MIN_VECTORS = 4
"""Comparison vectors that the pairs of a class must have, at least."""

BOUNDS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Between the classes; a probability equal to a bound is of the class above it."""

DIGITS = 3
"""Decimals of a class's mean."""


def classed(probability: NDArray[np.float64], vector: NDArray[np.integer]) -> NDArray[np.float64]:
    """Each pair's link probability as the mean of its class.

    Parameters
    ----------
    probability : ndarray of float64, shape (n,)
        Link probabilities of the pairs of a share.
    vector : ndarray of int, shape (n,)
        The comparison vector of each, by any number.

    Returns
    -------
    ndarray of float64, shape (n,)
        Means, to `DIGITS` decimals; where all classes together are too few, of all pairs, to one decimal.

    Notes
    -----
    From the lowest class up; what is too few at the top joins the class below. O(n log n).
    """
    place = np.searchsorted(BOUNDS, probability, side="right")
    groups: list[NDArray[np.bool_]] = []
    held = np.zeros(len(probability), dtype=np.bool_)
    for k in range(len(BOUNDS) + 1):
        held = held | (place == k)
        if int(held.sum()) >= FEWEST and len(np.unique(vector[held])) >= MIN_VECTORS:
            groups.append(held)
            held = np.zeros_like(held)
    digits = DIGITS if groups else 1
    if groups:
        groups[-1] = groups[-1] | held
    elif held.any():
        groups.append(held)
    shown = np.zeros(len(probability))
    for group in groups:
        shown[group] = round(float(np.clip(probability[group], 0.0, 1.0).mean()), digits)
    return shown
