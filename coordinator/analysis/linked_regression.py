r"""A regression line between a variable of one file and a variable of the other, over the pairs of one drawn linkage.

Draws are made without knowing x and y. In a false link they have nothing to do with each other, so that the slope over
a draw's pairs is too small by the share of false links, in every draw alike: Rubin's rules do not mend a bias. But how
probable each link is, is known. With x and y taken from their means and P the probability of a pair's link,

.. math:: \hat\beta = \sum x y / \sum P x^2

has the right mean. Its variance within the draw is that of a slope were the draw's links the truth,

.. math:: U = \hat\sigma^2 / \sum x^2, \quad
          \hat\sigma^2 = \frac{\sum (y - \hat\beta x)^2 - \sum (1 - P)(s_y^2 + \hat\beta^2 x^2)}{\sum P - 2},

the squares that false links add being taken off; what they make uncertain is in the variance between draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import GemelError, parameter
from gemel.coordinator.analysis.rubin import Combined, combined

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
        raise _wrong("x, y and a link probability of each of at least four pairs", f"{len(x)}, {len(y)}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise _wrong("finite numbers", "others, such as a missing value")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise _wrong("link probabilities from 0 to 1", "others")
    x, y = x - x.mean(), y - y.mean()
    weight = float((probability * x * x).sum())
    true_links = float(probability.sum()) - 2
    if weight <= 0 or true_links <= 0:
        raise _wrong("an x that varies, and more than two true links", "neither or one of them")
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


def _wrong(expected: str, got: str) -> GemelError:
    return parameter(
        "regression",
        f"expected {expected}",
        got,
        "leave out pairs that lack a value, and join x, y and link_probability to the draws",
    )
