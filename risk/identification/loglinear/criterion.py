r"""Risks of a sample unique, and what a model's misfit does to their sums: the minimum-error criterion.

Skinner and Shlomo, section 3. Let :math:`\hat\tau_r = \sum_{f_j=1} h_r(L_j)`, with :math:`L_j = c \mu_j` and
c = (1 - pi)/pi. Were the fitted means fixed and the true ones :math:`\mu^*_j`, its error would be
:math:`\sum_j \mu^*_j e^{-\mu^*_j} \{h_r(c \mu_j) - h_r(c \mu^*_j)\}`; expanded to second order, with the unbiased
:math:`f_j - \mu_j` and :math:`(f_j - \mu_j)^2 - f_j` for the two powers of :math:`\mu^*_j - \mu_j`, this is

.. math:: B_r = \sum_j a_j (f_j - \mu_j) + b_j \{(f_j - \mu_j)^2 - f_j\}, \quad
          a_j = -\mu_j e^{-\mu_j} c h_r'(L_j), \quad b_j = \mu_j e^{-\mu_j} c^2 h_r''(L_j) / 2 .

Where the model is true the terms are uncorrelated, with variances :math:`a_j^2 \mu_j` and :math:`2 b_j^2 \mu_j^2`.

Two things B does not say. The means are fitted to the same counts, and a fit is nearer to them than the truth is: by
this alone B is expected to be :math:`-\sum_j b_j \mu_j^2 v_j`, v_j being the variance of the logarithm of the fitted
mean, and a rich model looks as if it overfitted less than it does. And the expansion ends at the second order, where
the population mean of a rare combination is often ten times off: on real files B has the right sign and half the size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expi

Vector = NDArray[np.float64]


def h1(L: Vector) -> Vector:
    """P(F = 1 | f = 1)."""
    return np.exp(-L)


def h2(L: Vector) -> Vector:
    """E[1/F | f = 1], 1 where L is 0."""
    return _by_series(L, lambda x: -np.expm1(-x) / x, (1.0, -1 / 2, 1 / 6, -1 / 24))


def h2_first(L: Vector) -> Vector:
    """Derivative of `h2`."""
    return _by_series(L, lambda x: (np.exp(-x) * (x + 1) - 1) / x**2, (-1 / 2, 1 / 3, -1 / 8, 1 / 30))


def h2_second(L: Vector) -> Vector:
    """Second derivative of `h2`."""
    return _by_series(
        L, lambda x: (2 - np.exp(-x) * (x * x + 2 * x + 2)) / x**3, (1 / 3, -1 / 4, 1 / 10, -1 / 36, 1 / 168)
    )


def second_moment(L: Vector) -> Vector:
    """E[1/F^2 | f = 1]: with `h2`, the variance of 1/F that no model can take away."""
    euler = float(np.euler_gamma)

    def plainly(x: Vector) -> Vector:
        near = np.minimum(x, 40.0)
        far = np.maximum(x, 40.0)
        exact: Vector = np.exp(-near) * (expi(near) - np.log(near) - euler) / near
        asymptotic = (1 + 1 / far + 2 / far**2 + 6 / far**3 + 24 / far**4 + 120 / far**5) / far**2
        return np.where(x < 40.0, exact, asymptotic)

    return _by_series(L, plainly, (1.0, -3 / 4, 11 / 36, -25 / 288))


def averaged_h1(L: Vector, spread: Vector) -> Vector:
    """`h1` averaged over a gamma law of L with mean `L` and squared coefficient of variation `spread`."""
    return np.exp(-_log1p_over(spread * L, spread))


def averaged_h2(L: Vector, spread: Vector) -> Vector:
    """`h2` averaged over the same law: the integral of ``(1 + spread L t)^(-1/spread)`` over t in 0 to 1."""
    v = np.where(np.abs(spread - 1.0) < 1e-6, 1.0 + 1e-6, spread)
    x = v * L
    whole = -np.expm1((1.0 - 1.0 / np.maximum(v, 1e-9)) * np.log1p(x)) / np.where(L > 0, L * (1.0 - v), 1.0)
    return np.where(L < 1e-6, 1.0, np.where(v < 1e-6, h2(L), whole))


def _log1p_over(x: Vector, spread: Vector) -> Vector:
    """log(1 + x)/spread, which is x/spread for a spread of 0."""
    safe = np.where(spread > 1e-9, spread, 1.0)
    return np.where(spread > 1e-9, np.log1p(x) / safe, x / np.maximum(spread, 1e-300))


def _by_series(L: Vector, plainly: Callable[[Vector], Vector], coefficients: tuple[float, ...]) -> Vector:
    """A function whose plain form cancels near 0: there, its first terms."""
    small = L < 1e-3
    safe = np.where(small, 1.0, L)
    near = np.zeros_like(L)
    for coefficient in reversed(coefficients):
        near = near * L + coefficient
    return np.where(small, near, plainly(safe))


def coefficients(means: Vector, fraction: float) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """The a and b of the module's formula: for B1 and for B2, shape (n_cells,) each."""
    c = (1.0 - fraction) / fraction
    L = c * means
    weight = means * np.exp(-means)
    one = np.exp(-L)
    return (
        (weight * c * one, weight * c * c * one / 2.0),
        (-weight * c * h2_first(L), weight * c * c * h2_second(L) / 2.0),
    )


def error_terms(means: Vector, observed: Vector, fraction: float) -> tuple[Vector, Vector]:
    """What each cell adds to B1 and to B2, shape (n_cells,) each."""
    first, second = coefficients(means, fraction)
    off = observed - means
    square = off**2 - observed
    return first[0] * off + first[1] * square, second[0] * off + second[1] * square


def minimum_error(means: Vector, observed: Vector, fraction: float) -> tuple[float, float]:
    r"""Criteria B1 and B2 of a fit, over all cells of positive mean.

    References
    ----------
    .. [1] Skinner and Shlomo, Assessing identification risk in survey microdata using log-linear models, JASA 103,
       2008. doi:10.1198/016214507000001328
    """
    B1, B2 = error_terms(means, observed, fraction)
    return float(B1.sum()), float(B2.sum())
