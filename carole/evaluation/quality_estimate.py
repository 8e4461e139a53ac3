"""An estimate of the links' precision and recall, with its interval and what it supposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.classes import wrong

CONFIDENCE = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Interval:
    """An estimate in [0, 1], and the ends of its interval of confidence `CONFIDENCE`."""

    value: float
    lower: float
    upper: float

    def excludes(self, claim: float) -> bool:
        """Whether a claim lies outside."""
        return not self.lower <= claim <= self.upper


@dataclass(frozen=True)
class QualityEstimate:
    """How good the links are, by one method.

    Attributes
    ----------
    method
        Which: a check field, decoys, or a bootstrap of the fitted model.
    precision
        Share of the links that are true.
    recall
        Share of the matches among the compared pairs that are linked; None where the method does not give it.
    observations
        What the interval rests on: links in doubt that were checked, decoys, or replicates.
    supposes
        What must hold for the interval to be right.
    """

    method: Literal["check_field", "decoys", "bootstrap"]
    precision: Interval
    recall: Interval | None
    observations: int
    supposes: tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """What a model expects of its own links, or what is true of them in a simulation."""

    precision: float
    recall: float


def corrected_claim(claim: float, claimed: NDArray[np.float64], true: NDArray[np.float64]) -> Interval:
    """A claim corrected by what the same claim was worth in simulations.

    Parameters
    ----------
    claim : float
        Of the real links, in [0, 1].
    claimed, true : ndarray of float64, shape (n_replicates,)
        What the refitted model claimed in each simulation, and what was true in it.

    Returns
    -------
    Interval
        The claim less the mean excess of claims over truth, between the claim less the k-th largest and the k-th
        smallest excess. If the excess of the real claim is exchangeable with the simulated ones, it lies between those
        with probability (n + 1 - 2 k) / (n + 1), whatever their distribution; k is the largest for which this is at
        least `CONFIDENCE`. With 39 replicates k is 1.

    Raises
    ------
    GemelError
        ``PARAMETER`` with fewer than 39 replicates.
    """
    n = len(claimed)
    k = int((n + 1) * (1 - CONFIDENCE) / 2 + 1e-9)
    if k < 1 or claimed.shape != true.shape:
        raise wrong("at least 39 replicates, each with a claim and a truth", f"{len(claimed)} and {len(true)}")
    excess = np.sort(claimed - true)
    value, lower, upper = np.clip([claim - excess.mean(), claim - excess[n - k], claim - excess[k - 1]], 0, 1)
    return Interval(float(value), float(lower), float(upper))
