"""Levels as limits on the number of disagreeing bits, so that kernels compare small integers only."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def disagreement_limits(bits: int, bounds: Sequence[float], randomised_response: float = 0.0) -> NDArray[np.int16]:
    """Largest number of disagreeing bits with which a pair still exceeds each bound but the last.

    Parameters
    ----------
    bits : int
        Length of the signatures, at most 8192.
    bounds : sequence of float
        Inclusive upper bounds of the levels, ascending, the last of them 1.
    randomised_response : float
        Probability with which each bit was randomised on either side.

    Returns
    -------
    ndarray of int16, shape (len(bounds) - 1,)
        A pair with `d` disagreeing bits has level `sum(d <= limits)`. A bound that no pair can exceed has
        a limit of -1.

    Notes
    -----
    `(2n/M - 1)/c > s`, where `c = (1 - 2r)**2`, is `n > M(1 + cs)/2`, decided in fractions.
    """
    contrast = (1 - 2 * Fraction(str(randomised_response))) ** 2
    limits = []
    for bound in bounds[:-1]:
        smallest_above = math.floor(bits * (1 + contrast * Fraction(str(bound))) / 2) + 1
        limits.append(max(-1, bits - smallest_above))
    return np.array(limits, dtype=np.int16)


def levels_by_disagreement(bits: int, bounds: Sequence[float], randomised_response: float = 0.0) -> NDArray[np.int8]:
    """Level of each possible number of disagreeing bits; shape (bits + 1,)."""
    disagreeing = np.arange(bits + 1)
    limits = disagreement_limits(bits, bounds, randomised_response)
    levels: NDArray[np.int8] = (disagreeing[:, None] <= limits).sum(axis=1).astype(np.int8)
    return levels
