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

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack
from scipy.sparse.linalg import lsqr
from scipy.special import expi, ndtri

from gemel.risk.arrays import Floats
from gemel.risk.identification.loglinear.fitting import ClosedForm, Fit, Visited
from gemel.risk.models.counts import distinct_rows


def h1(L: Floats) -> Floats:
    """P(F = 1 | f = 1)."""
    return np.exp(-L)


def h2(L: Floats) -> Floats:
    """E[1/F | f = 1], 1 where L is 0."""
    return _by_series(L, lambda x: -np.expm1(-x) / x, (1.0, -1 / 2, 1 / 6, -1 / 24))


def h2_first(L: Floats) -> Floats:
    return _by_series(L, lambda x: (np.exp(-x) * (x + 1) - 1) / x**2, (-1 / 2, 1 / 3, -1 / 8, 1 / 30))


def h2_second(L: Floats) -> Floats:
    return _by_series(
        L, lambda x: (2 - np.exp(-x) * (x * x + 2 * x + 2)) / x**3, (1 / 3, -1 / 4, 1 / 10, -1 / 36, 1 / 168)
    )


def second_moment(L: Floats) -> Floats:
    """E[1/F^2 | f = 1]: with `h2`, the variance of 1/F that no model can take away."""
    euler = float(np.euler_gamma)

    def plainly(x: Floats) -> Floats:
        near = np.minimum(x, 40.0)
        far = np.maximum(x, 40.0)
        exact: Floats = np.exp(-near) * (expi(near) - np.log(near) - euler) / near
        asymptotic = (1 + 1 / far + 2 / far**2 + 6 / far**3 + 24 / far**4 + 120 / far**5) / far**2
        return np.where(x < 40.0, exact, asymptotic)

    return _by_series(L, plainly, (1.0, -3 / 4, 11 / 36, -25 / 288))


def averaged_h1(L: Floats, spread: Floats) -> Floats:
    """`h1` averaged over a gamma law of L with mean `L` and squared coefficient of variation `spread`."""
    return np.exp(-_log1p_over(spread * L, spread))


def averaged_h2(L: Floats, spread: Floats) -> Floats:
    """`h2` averaged over the same law: the integral of ``(1 + spread L t)^(-1/spread)`` over t in 0 to 1."""
    v = np.where(np.abs(spread - 1.0) < 1e-6, 1.0 + 1e-6, spread)
    x = v * L
    whole = -np.expm1((1.0 - 1.0 / np.maximum(v, 1e-9)) * np.log1p(x)) / np.where(L > 0, L * (1.0 - v), 1.0)
    return np.where(L < 1e-6, 1.0, np.where(v < 1e-6, h2(L), whole))


def _log1p_over(x: Floats, spread: Floats) -> Floats:
    """log(1 + x)/spread, which is x/spread for a spread of 0."""
    safe = np.where(spread > 1e-9, spread, 1.0)
    return np.where(spread > 1e-9, np.log1p(x) / safe, x / np.maximum(spread, 1e-300))


def _by_series(L: Floats, plainly: Callable[[Floats], Floats], coefficients: tuple[float, ...]) -> Floats:
    """A function whose plain form cancels near 0: there, its first terms."""
    small = L < 1e-3
    safe = np.where(small, 1.0, L)
    near = np.zeros_like(L)
    for coefficient in reversed(coefficients):
        near = near * L + coefficient
    return np.where(small, near, plainly(safe))


def coefficients(means: Floats, fraction: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The a and b of the module's formula: for B1 and for B2, shape (n_cells,) each."""
    c = (1.0 - fraction) / fraction
    L = c * means
    weight = means * np.exp(-means)
    one = np.exp(-L)
    return (
        (weight * c * one, weight * c * c * one / 2.0),
        (-weight * c * h2_first(L), weight * c * c * h2_second(L) / 2.0),
    )


def error_terms(means: Floats, observed: Floats, fraction: float) -> list[Floats]:
    """What each cell adds to B1 and to B2, shape (n_cells,) each."""
    off = observed - means
    return [a * off + b * (off**2 - observed) for a, b in coefficients(means, fraction)]


def minimum_error(means: Floats, observed: Floats, fraction: float) -> tuple[float, float]:
    r"""Criteria B1 and B2 of a fit, over all cells of positive mean.

    References
    ----------
    .. [1] Skinner and Shlomo, Assessing identification risk in survey microdata using log-linear models, JASA 103,
       2008. doi:10.1198/016214507000001328
    """
    B1, B2 = error_terms(means, observed, fraction)
    return float(B1.sum()), float(B2.sum())


# How far tau may be from the truth if the model is right, and the criterion from 0.
#
# tau-hat less tau has two uncorrelated parts. What the file does not tell: given the sample, F_j - f_j is Poisson
# whatever was fitted, which leaves :math:`\sum_j p_j (1 - p_j)` with p = P(F = 1), or the sum of the variances of
# 1/F, over sample uniques. And what the fit adds: to first order the variance of :math:`\sum_j d_j \, \delta \log
# \mu_j` with :math:`d_j = L_j h_r'(L_j)` over sample uniques.
#
# The criterion is :math:`\sum_j a_j (f_j - \mu_j) + b_j \{(f_j - \mu_j)^2 - f_j\}`. Skinner and Shlomo's variance,
# :math:`\sum_j a_j^2 \mu_j + 2 b_j^2 \mu_j^2`, takes the means for fixed; of the first part the fit absorbs what it can
# express, and only the rest varies. Its expectation where the model is right is not 0 but
# :math:`-\sum_j b_j \mu_j^2 v_j` (see `criterion`).
#
# References
# ----------
# .. [1] Skinner and Shlomo, JASA 103, 2008, sections 3 and 4. doi:10.1198/016214507000001328
# .. [2] Lauritzen, Graphical Models, 1996, section 4.4: the variance of a decomposable fit.

_ENTRIES = 2**20  # of a design matrix
_ROUNDS = 100  # of least squares


@dataclass(frozen=True)
class TauPrecision:
    """Standard deviations under the model, for tau1 and tau2."""

    tau: tuple[float, float]
    criterion: tuple[float, float]
    criterion_bias: tuple[float, float]
    drawn: tuple[float, float]

    def interval(self, r: int, taus: tuple[float, float], number: float, level: float) -> tuple[float, float]:
        """The normal interval of tau1 (r = 1) or tau2 (r = 2) around `taus`, within 0 and the `number` of uniques."""
        half = float(ndtri(0.5 + level / 2.0)) * self.tau[r - 1]
        return max(0.0, min(taus) - half), min(number, max(taus) + half)


def unforeseeable(L: Floats) -> tuple[float, float]:
    """Variances that a known model leaves, for sample uniques whose expected others are `L`."""
    p, m = h1(L), h2(L)
    return float((p * (1.0 - p)).sum()), float(np.maximum(second_moment(L) - m * m, 0.0).sum())


def gradients(means: Floats, counts: Floats, fraction: float) -> tuple[Floats, Floats]:
    """The d of the module's text for tau1 and tau2; 0 but for sample uniques."""
    L = (1.0 - fraction) / fraction * means
    own = counts == 1
    return np.where(own, -L * np.exp(-L), 0.0), np.where(own, L * h2_first(L), 0.0)


def precision_of_closed_form(
    form: ClosedForm, cells: Visited, counts: Floats, fraction: float, drawn: tuple[float, float]
) -> TauPrecision:
    """Of a decomposable model, from its margins. O(margins * n) for n occupied and visited cells."""
    own = counts == 1
    left = unforeseeable((1.0 - fraction) / fraction * form.means[own])
    tau = [math.sqrt(left[r] + form.variance(d)) for r, d in enumerate(gradients(form.means, counts, fraction))]
    spread, bias = [], []
    for a, b in coefficients(cells.means, fraction):
        fixed, _ = cells.total(a * a * cells.means)
        square, _ = cells.total(2.0 * (b * cells.means) ** 2)
        spread.append(math.sqrt(square + max(0.0, fixed - form.explained(cells, a))))
        bias.append(-cells.total(b * cells.means**2 * cells.spread)[0])
    return TauPrecision((tau[0], tau[1]), (spread[0], spread[1]), (bias[0], bias[1]), drawn)


def precision_of_fit(
    fit: Fit, generators: list[tuple[int, ...]], levels: tuple[int, ...], fraction: float
) -> TauPrecision | None:
    """Of a model fitted over its whole support, by least squares on its design; None where that is too large."""
    if len(fit.means) * len(generators) > _ENTRIES:
        return None
    explained = _projection(fit, generators, levels)
    left = unforeseeable((1.0 - fraction) / fraction * fit.means[fit.observed == 1])
    tau, spread = [], []
    for r, d in enumerate(gradients(fit.means, fit.observed, fraction)):
        tau.append(math.sqrt(left[r] + explained(d / fit.means)))
    for a, b in coefficients(fit.means, fraction):
        fixed = float((a * a * fit.means).sum())
        spread.append(math.sqrt(float((2.0 * (b * fit.means) ** 2).sum()) + max(0.0, fixed - explained(a))))
    unknown = float("nan")
    return TauPrecision((tau[0], tau[1]), (spread[0], spread[1]), (unknown, unknown), (0.0, 0.0))


def _projection(fit: Fit, generators: list[tuple[int, ...]], levels: tuple[int, ...]) -> Callable[[Floats], float]:
    """How much of a function, in squares weighed by the means, the model's terms can express."""
    root = np.sqrt(fit.means)
    blocks = []
    for generator in generators:
        own = list(generator)
        first, group = distinct_rows(fit.cells[:, own], [levels[v] for v in own])
        scale = 1.0 / np.sqrt(np.bincount(group, weights=fit.means, minlength=len(first)))
        place = (np.arange(len(group)), group)
        blocks.append(csr_matrix((scale[group], place), shape=(len(group), len(first))))
    design = diags(root) @ hstack(blocks, format="csr")

    def explained(values: Floats) -> float:
        target = root * values
        rest = lsqr(design, target, atol=1e-7, btol=1e-7, iter_lim=_ROUNDS)[3]
        return max(0.0, float(target @ target) - float(rest) ** 2)

    return explained
