"""What the model expects of its own decisions, where no truth is known.

If probabilities are calibrated, the expected precision of a set of links is the mean of their probabilities, and their
recall the sum of them over the sum of all. The model sees compared pairs only: what blocking lost is not in its
recall and is stated beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tryst.carole.evaluation.classes import wrong


@dataclass(frozen=True)
class ExpectedQuality:
    """Expected precision and recall at thresholds.

    Parameters
    ----------
    threshold : ndarray of float64, shape (n_thresholds,)
    links : ndarray of float64, shape (n_thresholds,)
        Pairs of at least that probability.
    precision : ndarray of float64, shape (n_thresholds,)
        1 where there are no links.
    recall : ndarray of float64, shape (n_thresholds,)
        Of the matches among compared pairs.
    blocking_recall : float or None
        Estimated share of all matches that are among the compared pairs; None where it cannot be told.
    """

    threshold: NDArray[np.float64]
    links: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    blocking_recall: float | None

    @property
    def overall_recall(self) -> NDArray[np.float64] | None:
        """Recall with the loss of blocking, where that is known."""
        return None if self.blocking_recall is None else self.recall * self.blocking_recall


def expected_quality(
    probability: NDArray[np.float64],
    threshold: NDArray[np.float64],
    count: NDArray[np.float64] | NDArray[np.int64] | None = None,
    matches_elsewhere: float = 0.0,
    blocking_recall: float | None = None,
) -> ExpectedQuality:
    """Expected precision and recall of linking every pair from a threshold up.

    Parameters
    ----------
    probability : ndarray of float64, shape (n,)
        Of pairs, or of classes of pairs such as comparison patterns.
    threshold : ndarray of float64, shape (n_thresholds,)
    count : ndarray, shape (n,), optional
        Pairs in each class; None: one each.
    matches_elsewhere : float
        Expected matches among compared pairs that are not listed, such as those below a floor.
    blocking_recall : float, optional
        Estimated share of all matches among the compared pairs.

    Returns
    -------
    ExpectedQuality
    """
    if np.any((probability < 0) | (probability > 1)) or np.isnan(probability).any():
        raise wrong("probabilities from 0 to 1", "others")
    pairs = np.ones(len(probability)) if count is None else np.asarray(count, dtype=np.float64)
    if pairs.shape != probability.shape:
        raise wrong("one count per probability", f"{pairs.shape} and {probability.shape}")
    order = np.argsort(-probability, kind="stable")
    links_so_far = np.concatenate(([0.0], np.cumsum(pairs[order])))
    matches_so_far = np.concatenate(([0.0], np.cumsum((pairs * probability)[order])))
    # Pairs at the threshold are linked.
    position = np.searchsorted(-probability[order], -np.asarray(threshold, dtype=np.float64), side="right")
    links, matches = links_so_far[position], matches_so_far[position]
    total = matches_so_far[-1] + matches_elsewhere
    return ExpectedQuality(
        threshold=np.asarray(threshold, dtype=np.float64),
        links=links,
        precision=np.where(links > 0, matches / np.where(links > 0, links, 1.0), 1.0),
        recall=matches / total if total > 0 else np.ones(len(links)),
        blocking_recall=blocking_recall,
    )
