"""Precision, recall and F1: of the decision, and of the best threshold given the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.classes import check_matches, tied_classes


@dataclass(frozen=True)
class Quality:
    """Quality of a set of links.

    Parameters
    ----------
    links : int
        Pairs linked.
    true_links : int
        Links that are matches.
    matches : int
        Matches between the two files, those that blocking lost included.
    """

    links: int
    true_links: int
    matches: int

    @property
    def precision(self) -> float:
        """Share of links that are matches; 1 where nothing is linked, as nothing is linked wrongly."""
        return self.true_links / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """Share of matches that are linked; 1 where there is none to find."""
        return self.true_links / self.matches if self.matches else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.true_links / (self.links + self.matches) if self.links + self.matches else 1.0


@dataclass(frozen=True)
class BestThreshold:
    """The threshold with the greatest F1, which requires the truth, and the quality of linking at it."""

    threshold: float
    quality: Quality


def quality(is_match: NDArray[np.bool_], n_matches: int) -> Quality:
    """Quality of links.

    Parameters
    ----------
    is_match : ndarray of bool, shape (n_links,)
        Whether each link is a match.
    n_matches : int
        Matches between the two files.
    """
    true_links = int(np.count_nonzero(is_match))
    check_matches(n_matches, true_links)
    return Quality(len(is_match), true_links, n_matches)


def best_threshold(probability: NDArray[np.float64], is_match: NDArray[np.bool_], n_matches: int) -> BestThreshold:
    """Threshold at which linking every pair of at least that probability gives the greatest F1.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_pairs,)
    is_match : ndarray of bool, shape (n_pairs,)
    n_matches : int
        Matches between the two files.

    Returns
    -------
    BestThreshold
        The highest threshold among equals; 1 where there is no pair.

    Raises
    ------
    GemelError
        ``PARAMETER`` if the inputs disagree.
    """
    classes = tied_classes(probability, is_match)
    if len(probability) == 0:
        return BestThreshold(1.0, Quality(0, 0, n_matches))
    links, true_links = np.cumsum(classes.pairs), np.cumsum(classes.matches)
    check_matches(n_matches, float(true_links[-1]))
    best = int(np.argmax(true_links / (links + n_matches)))
    return BestThreshold(float(classes.probability[best]), Quality(int(links[best]), int(true_links[best]), n_matches))
