r"""Rubin's rules: one estimate and one interval from the estimates of M drawn linkages.

With estimates Q_k and their variances U_k,

.. math:: \bar Q = \sum Q_k / M,\quad T = \bar U + (1 + 1 / M) B,

B being the variance of the Q_k: what is uncertain within a linkage, and what is uncertain about the linkage.

A regression of a variable of one file on a variable of the other, over the pairs of a drawn linkage, is corrected
first: draws are made without knowing x and y. In a false link they have nothing to do with each other, so that the
slope over a draw's pairs is too small by the share of false links, in every draw alike: Rubin's rules do not mend a
bias. But how probable each link is, is known. With x and y taken from their means and P the probability of a pair's
link,

.. math:: \hat\beta = \sum x y / \sum P x^2

has the right mean. Its variance within the draw is that of a slope were the draw's links the truth,

.. math:: U = \hat\sigma^2 / \sum x^2, \quad
          \hat\sigma^2 = \frac{\sum (y - \hat\beta x)^2 - \sum (1 - P)(s_y^2 + \hat\beta^2 x^2)}{\sum P - 2},

the squares that false links add being taken off; what they make uncertain is in the variance between draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from gemel.common.errors import GemelError, parameter


@dataclass(frozen=True)
class Combined:
    """An estimate combined over draws.

    Parameters
    ----------
    estimate : float
    variance : float
        Total.
    within, between : float
        Mean variance within a draw, and variance of the estimates between draws.
    degrees : float
        Degrees of freedom of Student's t.
    draws : int
    """

    estimate: float
    variance: float
    within: float
    between: float
    degrees: float
    draws: int

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    @property
    def share_of_linkage(self) -> float:
        """Share of the variance that is due to not knowing the linkage."""
        return (1 + 1 / self.draws) * self.between / self.variance if self.variance > 0 else 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        half = float(student.ppf(0.5 + level / 2, self.degrees)) * self.standard_error
        return self.estimate - half, self.estimate + half


def combined(estimates: Sequence[float], variances: Sequence[float], complete_degrees: float = math.inf) -> Combined:
    """Combine the estimates of several draws by Rubin's rules.

    Parameters
    ----------
    estimates, variances : sequence of float
        One of each draw; a variance is the square of a standard error.
    complete_degrees : float
        Degrees of freedom that the analysis would have were the linkage known, such as n - 2 of a regression line.

    Raises
    ------
    GemelError
        PARAMETER if there are fewer than two draws, or a figure is not finite, or a variance negative.

    References
    ----------
    .. [1] Rubin, Multiple imputation for nonresponse in surveys, 1987, section 3.3.
    .. [2] Barnard and Rubin, Small-sample degrees of freedom with multiple imputation, Biometrika 86, 1999.
       doi:10.1093/biomet/86.4.948

    Examples
    --------
    >>> found = combined([1.0, 1.2, 1.1], [0.04, 0.05, 0.03])
    >>> round(found.estimate, 3), round(found.variance, 4), round(found.share_of_linkage, 3)
    (1.1, 0.0533, 0.25)
    """
    q, u = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if len(q) != len(u) or len(q) < 2:
        raise _wrong_draws("an estimate and a variance of each of at least two draws", f"{len(q)} and {len(u)}")
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()) or not complete_degrees > 0:
        raise _wrong_draws("finite estimates, variances of at least 0 and positive degrees of freedom", "others")
    m = len(q)
    within, between = float(u.mean()), float(q.var(ddof=1))
    total = within + (1 + 1 / m) * between
    share = (1 + 1 / m) * between / total if total > 0 else 0.0
    old = (m - 1) / share**2 if share > 0 else math.inf
    observed = math.inf
    if math.isfinite(complete_degrees):
        observed = (complete_degrees + 1) / (complete_degrees + 3) * complete_degrees * (1 - share)
    inverse = (0.0 if math.isinf(old) else 1 / old) + (0.0 if math.isinf(observed) else 1 / max(observed, 1e-9))
    return Combined(float(q.mean()), total, within, between, 1 / inverse if inverse else math.inf, m)


def _wrong_draws(expected: str, got: str) -> GemelError:
    return parameter("combine", f"expected {expected}", got, "estimate the same figure from each draw")


MIN_SHARE = 0.05
"""Smallest residual variance, as a share of the plain one: it must not come out negative."""


@dataclass(frozen=True)
class Slope:
    """A slope, its variance and its degrees of freedom."""

    estimate: float
    variance: float
    degrees: float


def linked_slope(x: NDArray[np.float64], y: NDArray[np.float64], probability: NDArray[np.float64]) -> Slope:
    """Slope of y on x over the pairs of a draw.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n_pairs,)
        The variables of the pairs' two records.
    probability : ndarray of float64, shape (n_pairs,)
        Link probability of each pair; 1 throughout gives the least-squares slope.

    Notes
    -----
    Supposes that errors of the linkage have nothing to do with x and y. O(n_pairs).

    References
    ----------
    .. [1] Lahiri and Larsen, Regression analysis with linked data, JASA 100, 2005. doi:10.1198/016214504000001277
    .. [2] Chambers, Regression analysis of probability-linked data, Official Statistics Research Series 4, 2009.
    """
    if not len(x) == len(y) == len(probability) or len(x) < 4:
        raise _wrong_pairs("x, y and a link probability of each of at least four pairs", f"{len(x)}, {len(y)}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise _wrong_pairs("finite numbers", "others, such as a missing value")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise _wrong_pairs("link probabilities from 0 to 1", "others")
    x, y = x - x.mean(), y - y.mean()
    weight = float((probability * x * x).sum())
    true_links = float(probability.sum()) - 2
    if weight <= 0 or true_links <= 0:
        raise _wrong_pairs("an x that varies, and more than two true links", "neither or one of them")
    slope = float((x * y).sum()) / weight
    squares = float(((y - slope * x) ** 2).sum())
    of_false_links = float(((1 - probability) * (float((y * y).mean()) + slope**2 * x * x)).sum())
    variance = max(squares - of_false_links, MIN_SHARE * squares) / true_links
    return Slope(slope, variance / float((x * x).sum()), true_links)


def combined_slope(
    draw: NDArray[np.floating], x: NDArray[np.float64], y: NDArray[np.float64], probability: NDArray[np.float64]
) -> Combined:
    """Slope of y on x over the pairs of each draw, combined by Rubin's rules.

    Parameters
    ----------
    draw : ndarray, shape (n_drawn_links,)
        Number of each link's draw.
    x, y, probability : ndarray of float64, shape (n_drawn_links,)
        As for `linked_slope`.
    """
    slopes = []
    for k in np.unique(draw):
        mine = draw == k
        slopes.append(linked_slope(x[mine], y[mine], probability[mine]))
    degrees = float(np.mean([slope.degrees for slope in slopes])) if slopes else 1.0
    return combined([slope.estimate for slope in slopes], [slope.variance for slope in slopes], degrees)


def _wrong_pairs(expected: str, got: str) -> GemelError:
    return parameter(
        "regression",
        f"expected {expected}",
        got,
        "leave out pairs that lack a value, and join x, y and link_probability to the draws",
    )
