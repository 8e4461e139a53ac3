r"""The expected precision-recall curve and the area under it.

Pairs of equal probability form one class, in which the order is arbitrary, so the curve through a class is the
expectation over its orders. With T0 matches among the n0 pairs before a class of n pairs with match share h,
the expected precision after k more is :math:`(T_0 + h k) / (n_0 + k)`, while recall rises by h / T a pair. The area is

.. math:: \sum \frac{h}{T} \int_0^n \frac{T_0 + h k}{n_0 + k} dk
    = \sum \frac{h}{T} \left[ h n + (T_0 - h n_0) \log(1 + n / n_0) \right].

Trapezia between the ends of classes draw a straight line where the curve is convex, and overstate the area; they are
given beside it because published figures use them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.classes import TiedClasses, check_matches, tied_classes


@dataclass(frozen=True)
class PrecisionRecall:
    """An expected precision-recall curve.

    Parameters
    ----------
    threshold, recall, precision : ndarray of float64, shape (n_points,)
        At the end of each class of equal probability, most probable first; one point per distinct recall and
        precision.
    auc : float
        Area under the expected curve, from recall 0 to the last point; 0 where there is no match.
    auc_trapezium : float
        The same by trapezia between the points.
    """

    threshold: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    auc: float
    auc_trapezium: float


def expected_precision_recall(
    probability: NDArray[np.float64], is_match: NDArray[np.bool_], n_matches: int, n_unscored: int = 0
) -> PrecisionRecall:
    """Expected precision and recall at every threshold, and the area under them.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_pairs,)
        Match or link probabilities, or any score that rises with them.
    is_match : ndarray of bool, shape (n_pairs,)
    n_matches : int
        Matches between the two files.
    n_unscored : int
        Unscored pairs below the floor, treated as one last class that holds the remaining matches. With 0,
        matches without a score are never reached, and the curve ends before recall 1.

    Returns
    -------
    PrecisionRecall

    Notes
    -----
    O(n_pairs log n_pairs).
    """
    return curve_of(tied_classes(probability, is_match), n_matches, n_unscored)


def curve_of(classes: TiedClasses, n_matches: int, n_unscored: int = 0) -> PrecisionRecall:
    """As `expected_precision_recall`, from counted classes. O(n_classes)."""
    threshold, pairs, matches = classes.probability, classes.pairs, classes.matches
    found = float(matches.sum())
    check_matches(n_matches, found)
    if n_unscored > 0:
        threshold = np.append(threshold, -np.inf)
        pairs, matches = np.append(pairs, float(n_unscored)), np.append(matches, n_matches - found)
    if len(pairs) == 0 or n_matches == 0:
        none = np.zeros(0)
        return PrecisionRecall(none, none, none, 0.0, 0.0)
    seen, true = np.cumsum(pairs), np.cumsum(matches)
    before, true_before = seen - pairs, true - matches
    share = matches / pairs
    with np.errstate(divide="ignore"):
        stretch = np.where(before > 0, np.log1p(pairs / np.where(before > 0, before, 1.0)), 0.0)
    area = share * (share * pairs + (true_before - share * before) * stretch) / n_matches
    recall, precision = true / n_matches, true / seen
    start = np.concatenate((precision[:1], precision[:-1]))
    trapezia = matches / n_matches * (start + precision) / 2
    distinct = np.ones(len(recall), dtype=np.bool_)
    distinct[1:] = (np.diff(recall) != 0) | (np.diff(precision) != 0)
    return PrecisionRecall(
        threshold[distinct], recall[distinct], precision[distinct], float(area.sum()), float(trapezia.sum())
    )
