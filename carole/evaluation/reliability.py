"""Calibration of match probabilities: their running sums against matches, most probable pairs first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.classes import tied_classes


@dataclass(frozen=True)
class Calibration:
    """A calibration curve: the diagonal if probabilities are calibrated.

    Parameters
    ----------
    expected, observed : ndarray of float64, shape (n_points,)
        Sum of the probabilities of the most probable pairs, and matches among them, at the end of each class of
        equal probability.
    largest_gap : float
        Greatest difference of the two, as a share of all matches observed; above 0, probabilities are too high,
        below 0 too low.
    """

    expected: NDArray[np.float64]
    observed: NDArray[np.float64]
    largest_gap: float


def calibration(probability: NDArray[np.float64], is_match: NDArray[np.bool_]) -> Calibration:
    """Cumulative probability against cumulative matches.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_pairs,)
    is_match : ndarray of bool, shape (n_pairs,)

    Returns
    -------
    Calibration

    Notes
    -----
    O(n_pairs log n_pairs). The order inside a class is arbitrary, so the curve has one point per class; its observed
    values are the expectation over the orders (Smith and Elliot 2017, figure 2).
    """
    classes = tied_classes(probability, is_match)
    expected = np.cumsum(classes.probability * classes.pairs)
    observed = np.cumsum(classes.matches)
    gap = expected - observed
    worst = float(gap[np.argmax(np.abs(gap))]) if len(gap) else 0.0
    return Calibration(expected, observed, worst / max(float(observed[-1]) if len(observed) else 0.0, 1.0))
