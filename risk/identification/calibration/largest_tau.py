r"""The largest tau that a file's own counts allow, whatever the law of the crowds behind its combinations.

Calibrated risk takes a combination's people to follow a gamma law. A sample cannot tell: where a fifth of the
combinations are of a single person and the others of a hundred, and no key tells which, a sample of one per cent looks
as a gamma law's does. What it does tell are two moments of the people behind sample uniques. With Y the other records
of a record's combination, Poisson of mean nu,

.. math:: E[\nu \mid Y = 0] = 2 n_2 / n_1, \qquad E[\nu^2 \mid Y = 0] = 6 n_3 / n_1,

n_r being the combinations of r records. P(F = 1) = exp(-c nu) and E[1/F] = (1 - exp(-c nu))/(c nu) are convex and
falling, and with these moments m1 and m2 their means are greatest where nu is 0 or m2/m1, the latter with probability
m1^2/m2. That is done for strata of combinations of like predictions, each with triples enough, and summed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_TRIPLES = 100  # of a stratum
_DRAWS = 400


@dataclass(frozen=True)
class LargestTau:
    """Upper limits, with the confidence that they were asked for."""

    tau1: float
    tau2: float


def largest_tau(
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    predicted: NDArray[np.float64],
    c: NDArray[np.float64],
    confidence: float,
    rng: np.random.Generator,
) -> LargestTau:
    """Upper limits of tau1 and tau2.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_cells,)
        Records of each combination; units, where these were sampled whole.
    weights : ndarray of float64, shape (n_cells,)
        Records that count, as in `fit_crowding`.
    predicted : ndarray of float64, shape (n_cells,)
        What orders the combinations into strata.
    c : ndarray of float64, shape (n_cells,)
        People outside the sample for each in it.
    confidence
        One-sided.
    rng
        For what the numbers of pairs and triples leave open: each is drawn 400 times from its posterior.
    """
    order = np.argsort(predicted, kind="stable")
    triples = np.cumsum((sizes[order] == 3) * weights[order] / 3.0)
    stratum = np.minimum(triples // _TRIPLES, max(0.0, triples[-1] // _TRIPLES - 1.0))
    drawn = np.zeros((2, _DRAWS))
    for s in np.unique(stratum):
        own = order[stratum == s]
        n1, n2, n3 = (float(weights[own][sizes[own] == r].sum()) / r for r in (1, 2, 3))
        if n1 == 0:
            continue
        pairs, threes = rng.gamma(n2 + 0.5, size=_DRAWS), rng.gamma(n3 + 0.5, size=_DRAWS)
        outside = float(c[own][sizes[own] == 1].mean())
        drawn += n1 * np.stack(greatest_means(2.0 * pairs / n1, 6.0 * threes / n1, outside))
    tau1, tau2 = np.quantile(drawn, confidence, axis=1)
    return LargestTau(float(tau1), float(tau2))


def greatest_means(
    m1: NDArray[np.float64], m2: NDArray[np.float64], c: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Greatest P(F = 1) and E[1/F] of sample uniques whose nu has mean m1 and mean square m2."""
    square = np.maximum(m2, m1 * m1)  # moments that no law has are drawn too
    with_company = m1 * m1 / square
    outside = np.maximum(c * square / m1, 1e-12)
    alone = 1.0 - with_company
    return alone + with_company * np.exp(-outside), alone - with_company * np.expm1(-outside) / outside
