r"""How far tau may be from the truth if the model is right, and the criterion from 0.

tau-hat less tau has two uncorrelated parts. What the file does not tell: given the sample, F_j - f_j is Poisson
whatever was fitted, which leaves :math:`\sum_j p_j (1 - p_j)` with p = P(F = 1), or the sum of the variances of 1/F,
over sample uniques. And what the fit adds: to first order the variance of :math:`\sum_j d_j \, \delta \log \mu_j` with
:math:`d_j = L_j h_r'(L_j)` over sample uniques.

The criterion is :math:`\sum_j a_j (f_j - \mu_j) + b_j \{(f_j - \mu_j)^2 - f_j\}`. Skinner and Shlomo's variance,
:math:`\sum_j a_j^2 \mu_j + 2 b_j^2 \mu_j^2`, takes the means for fixed; of the first part the fit absorbs what it can
express, and only the rest varies. Its expectation where the model is right is not 0 but
:math:`-\sum_j b_j \mu_j^2 v_j` (see `criterion`).

References
----------
.. [1] Skinner and Shlomo, JASA 103, 2008, sections 3 and 4. doi:10.1198/016214507000001328
.. [2] Lauritzen, Graphical Models, 1996, section 4.4: the variance of a decomposable fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, hstack
from scipy.sparse.linalg import lsqr

from gemel.risk.identification.loglinear.closed_form import ClosedForm, Visited
from gemel.risk.identification.loglinear.criterion import coefficients, h1, h2, h2_first, second_moment
from gemel.risk.identification.loglinear.fitting import Fit
from gemel.risk.models.counts import distinct_rows

Vector = NDArray[np.float64]

_ENTRIES = 2**20  # of a design matrix
_ROUNDS = 100  # of least squares


@dataclass(frozen=True)
class TauPrecision:
    """Standard deviations under the model, for tau1 and tau2."""

    tau: tuple[float, float]
    criterion: tuple[float, float]
    criterion_bias: tuple[float, float]
    drawn: tuple[float, float]

    def interval(self, r: int, tau: float, number: float, level: float = 0.95) -> tuple[float, float]:
        """The normal interval of tau1 (r = 1) or tau2 (r = 2) around `tau`, within 0 and the `number` of uniques."""
        from scipy.special import ndtri

        half = float(ndtri(0.5 + level / 2.0)) * self.tau[r - 1]
        return max(0.0, tau - half), min(number, tau + half)


def unforeseeable(L: Vector) -> tuple[float, float]:
    """Variances that a known model leaves, for sample uniques whose expected others are `L`."""
    p, m = h1(L), h2(L)
    return float((p * (1.0 - p)).sum()), float(np.maximum(second_moment(L) - m * m, 0.0).sum())


def gradients(means: Vector, counts: Vector, fraction: float) -> tuple[Vector, Vector]:
    """The d of the module's text for tau1 and tau2; 0 but for sample uniques."""
    L = (1.0 - fraction) / fraction * means
    own = counts == 1
    return np.where(own, -L * np.exp(-L), 0.0), np.where(own, L * h2_first(L), 0.0)


def of_closed_form(
    form: ClosedForm, cells: Visited, counts: Vector, fraction: float, drawn: tuple[float, float]
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


def of_fit(
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


def _projection(fit: Fit, generators: list[tuple[int, ...]], levels: tuple[int, ...]) -> Callable[[Vector], float]:
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

    def explained(values: Vector) -> float:
        target = root * values
        rest = lsqr(design, target, atol=1e-7, btol=1e-7, iter_lim=_ROUNDS)[3]
        return max(0.0, float(target @ target) - float(rest) ** 2)

    return explained
