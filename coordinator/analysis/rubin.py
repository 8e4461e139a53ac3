r"""Rubin's rules: one estimate and one interval from the estimates of M drawn linkages.

With estimates Q_k and their variances U_k,

.. math:: \bar Q = \sum Q_k / M,\quad T = \bar U + (1 + 1 / M) B,

B being the variance of the Q_k: what is uncertain within a linkage, and what is uncertain about the linkage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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
        """Square root of the variance."""
        return math.sqrt(self.variance)

    @property
    def share_of_linkage(self) -> float:
        """Share of the variance that is due to not knowing the linkage."""
        return (1 + 1 / self.draws) * self.between / self.variance if self.variance > 0 else 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval."""
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
        raise _wrong("an estimate and a variance of each of at least two draws", f"{len(q)} and {len(u)}")
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()) or not complete_degrees > 0:
        raise _wrong("finite estimates, variances of at least 0 and positive degrees of freedom", "others")
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


def _wrong(expected: str, got: str) -> GemelError:
    return parameter("combine", f"expected {expected}", got, "estimate the same figure from each draw")
