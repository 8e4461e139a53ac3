r"""The law of a population count F by a model, given the sample count f: F - f is Poisson (T11 chapter 7).

With K ~ Poisson(lambda) people of a combination outside the sample, the chance that a match is the right person is
:math:`E[1/(f + K)]`; `expected_reciprocal` is its closed form.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter


def expected_reciprocal(f: ArrayLike, rate: ArrayLike) -> NDArray[np.float64]:
    r"""E[1/(f + K)] for K ~ Poisson(rate).

    Parameters
    ----------
    f : array of int
        Sample counts, at least 1.
    rate : array of float
        Expected people outside the sample, not negative.

    Returns
    -------
    ndarray of float64

    Notes
    -----
    With I_f the value sought, :math:`I_1 = (1 - e^{-\lambda})/\lambda` and integration by parts of
    :math:`I_f = \int_0^1 t^{f-1} e^{-\lambda(1-t)} dt` gives :math:`\lambda I_f = 1 - (f-1) I_{f-1}`. Climbing is
    stable while f <= lambda (an error shrinks by (f-1)/lambda at each step). Otherwise Kummer's series
    :math:`I_f = \frac1f \sum_k \frac{(-\lambda)^k}{(f+1) \cdots (f+k)}` has falling terms. O(f) for each value, so O(n)
    for the cells of a file of n records.
    """
    sizes, rates = np.broadcast_arrays(np.asarray(f, dtype=np.int64), np.asarray(rate, dtype=np.float64))
    if sizes.size and (sizes.min() < 1 or not np.isfinite(rates).all() or rates.min() < 0):
        raise parameter("f, rate", "sample counts must be at least 1 and expected counts finite and not negative")
    found = np.empty(sizes.shape)
    _fill(np.ascontiguousarray(sizes).ravel(), np.ascontiguousarray(rates).ravel(), found.reshape(-1))
    return found


@njit(nogil=True, cache=True)
def _fill(f: NDArray[np.int64], rate: NDArray[np.float64], found: NDArray[np.float64]) -> None:
    for i in range(len(f)):
        found[i] = _one(f[i], rate[i])


@njit(nogil=True, cache=True)
def _one(f: int, rate: float) -> float:
    if rate == 0.0:
        return 1.0 / f
    if f <= rate or f == 1:
        value = -math.expm1(-rate) / rate
        for size in range(2, f + 1):
            value = (1.0 - (size - 1) * value) / rate
        return value
    total, term, k = 1.0, 1.0, 1
    while abs(term) > 1e-17 * total:
        term *= -rate / (f + k)
        total += term
        k += 1
    return total / f
