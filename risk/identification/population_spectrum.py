r"""How many people of the population share a combination, from how often combinations occur: Pitman's sampling formula.

Says nothing about which combinations are which, and needs no model of the key variables: two parameters follow from the
numbers of combinations that occur once, twice, and so on. With n records seen, the next person has a combination with f
records with probability :math:`(f - \alpha)/(\theta + n)`, and else a new one. A combination with f records has grown
to F when all N people are seen; F - f is then beta-binomial.

Totals over a file come out well where a model of the key variables is wrong; the risk of a single record does not,
because all with one frequency have the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import gammaln

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)
_LARGE = 2_000  # frequency from which 1/F is taken at the mean of F
_EWENS = 1e-7  # |alpha| below which it is 0
_LOWEST = -50.0  # alpha: all combinations are about equally common
_STEP = 1e-3
_CENTRE, _WIDTH = -0.7, 1.0
"""Prior of log(1 - alpha), which a file with few pairs needs: alpha is .5, and within -2.6 and .93 with 95 %."""
_EDGES = np.array([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100])  # least frequency of each group by which a fit is judged


@dataclass(frozen=True)
class Spectrum:
    """How often combinations occur.

    `frequency` (int64, shape (n_frequencies,)): 1, 2, ...; all different; `number` (float64, shape (n_frequencies,)):
    combinations with each; positive, not necessarily whole.
    """

    frequency: Integers = field(repr=False)
    number: Floats = field(repr=False)

    @classmethod
    def of(cls, counts: Integers) -> Spectrum:
        """From the number of records of each combination; those of none are left out."""
        there, number = np.unique(counts[counts > 0], return_counts=True)
        return cls(there.astype(np.int64), number.astype(np.float64))

    @classmethod
    def of_records(cls, frequency: Integers) -> Spectrum:
        """From the frequency of each record's combination, where some of its records may be left out."""
        there, number = np.unique(frequency, return_counts=True)
        return cls(there.astype(np.int64), number / there)

    @property
    def records(self) -> float:
        return float(self.frequency @ self.number)

    @property
    def combinations(self) -> float:
        return float(self.number.sum())


@dataclass(frozen=True)
class Pitman:
    r"""Pitman's sampling formula with its parameters.

    `alpha`, `theta`: :math:`\alpha < 1`. Positive: ever new combinations come; negative: there are
    :math:`-\theta/\alpha` of them.
    """

    alpha: float
    theta: float
    records: float

    def alone(self, population: float) -> float:
        """Probability that a combination with one record has one person of `population` people."""
        n, N = self.records, max(population, self.records)
        a, b = self.theta + n, self.theta + n - 1 + self.alpha
        if b <= 0:
            return 1.0 if n == N else 0.0
        return min(float(np.exp(gammaln(b + N - n) - gammaln(b) - gammaln(a + N - n) + gammaln(a))), 1.0)

    def reciprocal(self, f: ArrayLike, population: float) -> Floats:
        r"""E[1/F] of combinations with f records, F people of `population`.

        F - f is taken to be negative binomial, which the beta-binomial is but for terms of the order f/n:
        :math:`E[1/F] = \int_0^1 t^{f-1} (1 + s (1 - t))^{\alpha - f} dt` with :math:`s = (N - n)/(\theta + n)`, by
        Gauss and Legendre's rule in the logarithm of the second factor.
        """
        sizes = np.asarray(f, dtype=np.float64)
        n = self.records
        s = max(population - n, 0.0) / (self.theta + n)
        if s == 0.0:
            return np.asarray(1.0 / sizes)
        u = (_NODES + 1.0) / 2.0 * np.log1p(s)
        t = np.clip(1.0 - np.expm1(u) / s, 1e-300, 1.0)
        small = np.minimum(sizes, _LARGE)
        powers = (small[..., None] - 1.0) * np.log(t) + (1.0 - small[..., None] + self.alpha) * u
        found = np.exp(powers) @ _WEIGHTS * np.log1p(s) / (2.0 * s)
        return np.minimum(np.where(sizes > _LARGE, 1.0 / (sizes + s * (sizes - self.alpha)), found), 1.0)


@dataclass(frozen=True)
class PitmanFit:
    """The formula fitted to a spectrum, and formulas near it that show how far it may be wrong.

    `best`: of the greatest likelihood, with a weak prior; `spectrum`: what it was fitted to.
    """

    best: Pitman
    spectrum: Spectrum = field(repr=False)

    @cached_property
    def dispersion(self) -> float:
        """How much farther than by chance the spectrum is from the formula's: chi-squared over its degrees, at least 1.

        Standard errors are multiplied by its root, as of a quasi-likelihood.
        """
        if not self.near:
            return 1.0
        observed = _grouped(self.spectrum.frequency, self.spectrum.number)
        frequency = np.arange(1, int(min(self.best.records, _EDGES[-1] - 1)) + 1)
        expected = _grouped(frequency, expected_number(self.best, frequency))
        whole = observed[:-1], expected[:-1]  # the last group is open
        large = whole[1] >= 5.0
        degrees = int(large.sum()) - 2
        if degrees < 1:
            return 1.0
        return max(1.0, float((((whole[0] - whole[1]) ** 2 / np.maximum(whole[1], 1.0))[large]).sum()) / degrees)

    @cached_property
    def near(self) -> tuple[tuple[Pitman, Pitman], ...]:
        """For each of two independent directions, the formulas a standard error to both sides."""
        return _near(self.best, self.spectrum)


def fit_pitman(spectrum: Spectrum) -> PitmanFit:
    """Maximum likelihood with a weak prior of alpha.

    `spectrum`: with at least one record. Where all combinations occur once the likelihood has no maximum: everybody is
    then taken to be alone. Where there is one combination, everybody is taken to have it.

    Refused: PARAMETER without records.

    References
    ----------
    .. [1] Pitman, Exchangeable and partially exchangeable random partitions, Probability Theory and Related Fields 102,
       1995. doi:10.1007/BF01213386
    .. [2] Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment, Journal of Official
       Statistics 17, 2001.
    """
    n, K = spectrum.records, spectrum.combinations
    if not n > 0:
        raise parameter("spectrum", "there is no record", f"{n:g} records")
    if K <= 1.0 + 1e-9:
        return PitmanFit(Pitman(0.0, 0.0, n), spectrum)
    if spectrum.number[spectrum.frequency > 1].sum() <= 1e-9 * K:
        return PitmanFit(Pitman(1.0 - 1e-9, 1.0, n), spectrum)
    best, value = None, np.inf
    for alpha in (0.5, -0.5):
        start = np.array([np.log1p(-alpha), np.log(K)])
        found = minimize(_loss, start, args=(spectrum,), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8})
        if found.fun < value:
            best, value = found.x, float(found.fun)
    assert best is not None  # noqa: S101 - the likelihood at a start is finite
    return PitmanFit(Pitman(*_parameters(best, K), n), spectrum)


def _parameters(x: Floats, K: float) -> tuple[float, float]:
    alpha = max(1.0 - float(np.exp(x[0])), _LOWEST)
    minimum = -alpha if alpha >= 0 else -alpha * K
    return alpha, minimum + float(np.exp(x[1]))


def _loss(x: Floats, spectrum: Spectrum) -> float:
    if not -30.0 < x[0] < 10.0 or not -20.0 < x[1] < 40.0:
        return 1e300
    prior = (float(x[0]) - _CENTRE) ** 2 / (2.0 * _WIDTH**2)
    return prior - log_likelihood(*_parameters(x, spectrum.combinations), spectrum)


def expected_number(formula: Pitman, frequency: Integers) -> Floats:
    """Expected number of combinations with each frequency, among the formula's own number of records."""
    n, alpha, theta, s = formula.records, formula.alpha, formula.theta, np.minimum(frequency, formula.records)
    choose = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)
    own = gammaln(s - alpha) - gammaln(1 - alpha)
    rest = gammaln(theta + alpha + n - s) - gammaln(theta + alpha) - gammaln(theta + n) + gammaln(theta + 1)
    return np.asarray(np.exp(choose + own + rest))


def _grouped(frequency: Integers, number: Floats) -> Floats:
    group = np.searchsorted(_EDGES, frequency, side="right") - 1
    return np.bincount(group, number, len(_EDGES)).astype(np.float64)


def log_likelihood(alpha: float, theta: float, spectrum: Spectrum) -> float:
    """Of a spectrum, up to a constant that hangs on the spectrum alone."""
    n, K = spectrum.records, spectrum.combinations
    if abs(alpha) < _EWENS:
        new = (K - 1.0) * np.log(theta)
    elif alpha > 0:
        new = (K - 1.0) * np.log(alpha) + gammaln(theta / alpha + K) - gammaln(theta / alpha + 1.0)
    else:
        cells = -theta / alpha
        new = (K - 1.0) * np.log(-alpha) + gammaln(cells) - gammaln(cells - K + 1.0)
    again = spectrum.number @ (gammaln(spectrum.frequency - alpha) - gammaln(1.0 - alpha))
    return float(new - gammaln(theta + n) + gammaln(theta + 1.0) + again)


def _near(best: Pitman, spectrum: Spectrum) -> tuple[tuple[Pitman, Pitman], ...]:
    K = spectrum.combinations
    minimum = -best.alpha if best.alpha >= 0 else -best.alpha * K
    if best.theta - minimum <= 0 or best.alpha > 1 - 1e-8:
        return ()
    x = np.array([np.log1p(-best.alpha), np.log(best.theta - minimum)])
    curvature = np.empty((2, 2))
    steps = np.eye(2) * _STEP
    for i in range(2):
        for j in range(2):
            corners = [_loss(x + p * steps[i] + q * steps[j], spectrum) * p * q for p in (1, -1) for q in (1, -1)]
            curvature[i, j] = sum(corners) / (4 * _STEP**2)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    found = []
    for value, vector in zip(values, vectors.T, strict=True):
        # A direction in which the likelihood is flat says nothing: it goes as far as such numbers can.
        length = min(1.0 / np.sqrt(max(value, 1e-12)), 5.0)
        below, above = (Pitman(*_parameters(x + way * length * vector, K), best.records) for way in (-1.0, 1.0))
        found.append((below, above))
    return tuple(found)
