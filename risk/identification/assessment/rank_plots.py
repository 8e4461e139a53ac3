"""Comparing scores by how they rank: Copas's logit rank plot, and the area under the ROC curve.

Both show how well a score separates events (sample uniques that are population unique, say) from the rest, and not
whether its values are probabilities: they do not change under a monotone transformation of the score.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from gemel.common.errors import ErrorCode, GemelError, parameter

_RIDGE = 1e-3  # of a window in which only one kind occurs: keeps its logit finite
_STEPS = 100


@dataclass(frozen=True, eq=False)
class LogitRankPlot:
    """The smoothed logit of the event's probability against the logit of the score's rank.

    Parameters
    ----------
    t : ndarray of float64, shape (n_points,)
        Logits of relative ranks.
    logit : ndarray of float64, shape (n_points,)
        Smoothed logit of the probability at each.
    slope
        Of one logistic regression over all ranks: the better score is steeper; 0 is no better than chance.
    """

    t: NDArray[np.float64] = field(repr=False)
    logit: NDArray[np.float64] = field(repr=False)
    slope: float

    @property
    def probability(self) -> NDArray[np.float64]:
        """The smoothed probability at each point."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.logit)))


def logit_rank_plot(scores: ArrayLike, events: ArrayLike, points: int = 99, h: float = 0.1) -> LogitRankPlot:
    r"""Copas's plot.

    Parameters
    ----------
    scores : array of float, shape (n,)
        Greater is riskier; equal scores share their mean rank.
    events : array of bool, shape (n,)
        Whether the event took place.
    points
        Number of points, m.
    h
        Standard deviation of the smoothing window in the middle, as a share of all ranks.

    Notes
    -----
    At :math:`t = \log(j/(m + 1 - j))` a logistic regression on the logit ranks :math:`t_i`, weighted by
    :math:`\exp(-(t - t_i)^2/(2 h_t^2))` with :math:`h_t = h / (4 \Psi(t)(1 - \Psi(t)))`, gives the value
    :math:`a_t + b_t t`. Where a window holds events only, or none, a weak ridge keeps the value finite.

    References
    ----------
    .. [1] Copas, The effectiveness of risk scores: the logit rank plot, Applied Statistics 48, 1999.
    """
    s, y = _pairs(scores, events)
    if points < 1 or not h > 0:
        raise parameter("logit_rank_plot", "points and h must be positive")
    share = rankdata(s) / (len(s) + 1.0)
    t_all = np.log(share / (1.0 - share))
    ranks, which = np.unique(t_all, return_inverse=True)  # equal scores are one point with a weight
    number = np.bincount(which).astype(np.float64)
    happened = np.bincount(which, weights=y).astype(np.float64)
    j = np.arange(1, points + 1)
    t = np.log(j / (points + 1.0 - j))
    width = h / (4.0 * (j / (points + 1.0)) * (1.0 - j / (points + 1.0)))
    logit = np.empty(points)
    for k in range(points):
        weight = np.exp(-0.5 * ((t[k] - ranks) / width[k]) ** 2)
        logit[k], _ = _regression(ranks - t[k], weight * number, weight * happened)
    _, slope = _regression(ranks, number, happened)
    return LogitRankPlot(t, logit, slope)


def auc(scores: ArrayLike, events: ArrayLike) -> float:
    """Area under the ROC curve: the chance that an event scores higher than a non-event, ties counting half.

    NaN where there are only events, or none.
    """
    s, y = _pairs(scores, events)
    n1 = float(y.sum())
    n0 = len(y) - n1
    if n1 == 0 or n0 == 0:
        return float("nan")
    return float((rankdata(s)[y > 0].sum() - n1 * (n1 + 1.0) / 2.0) / (n1 * n0))


def _pairs(scores: ArrayLike, events: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(events, dtype=np.float64)
    if s.ndim != 1 or s.shape != y.shape or not len(s):
        raise GemelError(
            ErrorCode.PARAMETER, "one score and one event are needed for each record", got=f"{s.shape} and {y.shape}"
        )
    if not np.isfinite(s).all() or not np.isin(y, (0.0, 1.0)).all():
        raise parameter("scores, events", "scores must be finite, and events yes or no")
    return s, y


def _regression(
    x: NDArray[np.float64], trials: NDArray[np.float64], events: NDArray[np.float64]
) -> tuple[float, float]:
    """Logistic regression of events among trials on x by Newton's method with halved steps: intercept and slope."""
    a, b = 0.0, 0.0

    def value(a: float, b: float) -> float:
        eta = a + b * x
        likelihood = (events * eta - trials * np.logaddexp(0.0, eta)).sum()
        return float(likelihood - 0.5 * _RIDGE * (a * a + b * b))

    now = value(a, b)
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(a + b * x, -500, 500)))
        residual, curve = events - trials * p, trials * p * (1.0 - p)
        g0, g1 = residual.sum() - _RIDGE * a, (residual * x).sum() - _RIDGE * b
        h00, h01, h11 = curve.sum() + _RIDGE, (curve * x).sum(), (curve * x * x).sum() + _RIDGE
        det = h00 * h11 - h01 * h01
        da, db = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        step = 1.0
        while (reached := value(a + step * da, b + step * db)) < now and step > 1e-8:
            step /= 2.0
        a, b = a + step * da, b + step * db
        if reached - now < 1e-10:
            break
        now = reached
    return float(a), float(b)
