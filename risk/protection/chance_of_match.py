r"""The chance that a record is matched rightly, from how many records agree with it: E[1/F | f].

The number F of people who agree with a record, given that f of the file do, is f plus a negative binomial number of
failures before f successes of probability pi (Benedetti and Franconi 1998; Polettini 2003). Then

.. math:: E[1/F \mid f] = \pi \int_0^1 \frac{u^{f-1}}{\pi + (1-\pi) u} du = \frac{\pi}{f}\, {}_2F_1(1, 1; f+1; 1-\pi)

which is 1/f where everyone is in the file, and falls in f. pi is the sampling fraction, or by weights f over the sum of
the weights of the records that agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import hyp2f1

from tryst.common.errors import ErrorCode, TrystError

_SERIES = 30  # f from which the series is summed: its n-th term is at most 1 over the binomial of f + n and n
_TERMS = 40


def individual_risk(f: ArrayLike, pi: ArrayLike) -> NDArray[np.float64]:
    """E[1/F | f] of each record.

    Parameters
    ----------
    f : array
        Records that agree, from 1.
    pi : array or float
        Sampling fractions, above 0 and at most 1.
    """
    n, p = np.broadcast_arrays(np.asarray(f, dtype=np.float64), np.asarray(pi, dtype=np.float64))
    if (n < 1).any() or (p <= 0).any() or (p > 1).any():
        raise TrystError(
            ErrorCode.PARAMETER,
            "frequencies are at least 1, and fractions lie above 0 and are at most 1",
            where="individual risk",
            got=f"minima {n.min():g} and {p.min():g}, largest fraction {p.max():g}",
        )
    return np.asarray(p / n * _series(n, 1.0 - p), dtype=np.float64)


def _series(f: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """2F1(1, 1; f + 1; q): SciPy's for small f, whose overflows at large f; there its own series soon converges."""
    found = np.empty(f.shape)
    small = f < _SERIES
    found[small] = hyp2f1(1.0, 1.0, f[small] + 1.0, q[small])
    term = total = np.ones(int((~small).sum()))
    for n in range(_TERMS):
        term = term * (n + 1.0) * q[~small] / (f[~small] + n + 1.0)
        total = total + term
    found[~small] = total
    return found


def required_frequencies(risk: ArrayLike, pi: ArrayLike, maximum: int) -> NDArray[np.int64]:
    """The smallest f at which E[1/F | f] is at most `risk`; `maximum` + 1 where none up to it is."""
    limit, p = np.broadcast_arrays(np.asarray(risk, dtype=np.float64), np.asarray(pi, dtype=np.float64))
    low, high = np.ones(p.shape, dtype=np.int64), np.full(p.shape, maximum + 1, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        enough = individual_risk(middle, p) <= limit
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    return low


def required_frequency(risk: float, pi: float, maximum: int) -> int:
    """`required_frequencies` of one risk and fraction."""
    return int(required_frequencies(risk, pi, maximum))
