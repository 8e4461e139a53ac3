"""Latent classes of non-matches: households, neighbours, and whatever else makes two people look alike.

Most pairs of two people have nothing in common but by chance. A few have much: a family shares surname, address and
telephone, neighbours share street and postcode. Each such kind is a class with its own distribution of every field and
independent fields; the rest are strangers. Without these classes a household is nearer to a match than to a stranger,
and where few people are in both files it takes the match class's place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.dependence.kernels import class_expectation
from gemel.carole.fellegi_sunter.kernels import summed
from gemel.carole.fellegi_sunter.u import shares

PRIOR = 1.0
"""Pseudo-pairs of the prior of each distribution of levels, spread evenly."""

SMALLEST = 1e-6
"""Lower bound of a class's size, in pairs."""

STEPS = 30
"""EM steps between two estimates of the strangers."""

TOLERANCE = 1e-4
"""Relative change of the classes' sizes at which these steps end."""


@dataclass(frozen=True)
class KinClasses:
    """Classes of pairs of two people who have something in common.

    Parameters
    ----------
    levels : ndarray of float64, shape (n_classes, n_fields, n_levels)
        P(level in a field | class).
    shares : ndarray of float64, shape (n_classes + 1,)
        Of each class among non-matches; the last is that of the strangers.
    """

    levels: NDArray[np.float64]
    shares: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.levels)

    def log_probability(self, gamma: NDArray[np.int8], strangers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log probability of comparison vectors among all non-matches, shape (n_patterns,).

        Parameters
        ----------
        gamma : ndarray of int8, shape (n_patterns, n_fields)
        strangers : ndarray of float64, shape (n_patterns,)
            Log probability of each among strangers.
        """
        if not len(self):
            return strangers
        with np.errstate(divide="ignore"):
            total = np.log(self.shares[-1]) + strangers
            for levels, share in zip(log_tables(self.levels), self.shares, strict=False):
                total = np.logaddexp(total, np.log(share) + summed(np.ascontiguousarray(gamma), levels))
        return np.asarray(total)


def log_tables(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms with a last column of 0 for a missing level: shape (n_classes, n_fields, n_levels + 1)."""
    with np.errstate(divide="ignore"):
        return np.concatenate([np.log(levels), np.zeros((*levels.shape[:2], 1))], axis=2)


def updated(
    classes: KinClasses,
    gamma: NDArray[np.int8],
    others: NDArray[np.float64],
    strangers: NDArray[np.float64],
    valid: NDArray[np.bool_],
    left_out: float = 0.0,
    steps: int = STEPS,
) -> tuple[KinClasses, NDArray[np.float64]]:
    """Estimate the classes again, from non-matches and a distribution of strangers.

    Parameters
    ----------
    classes : KinClasses
        Where estimation starts.
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    others : ndarray of float64, shape (n_patterns,)
        Expected non-matches by pattern.
    strangers : ndarray of float64, shape (n_patterns,)
        Log probability of each pattern among strangers.
    valid : ndarray of bool, shape (n_fields, n_levels)
        Which entries are levels.
    left_out : float
        Strangers that have no pattern here.
    steps : int
        EM steps at most; with 0 the classes stay as they are.

    Returns
    -------
    KinClasses
    ndarray of float64, shape (n_patterns,)
        Share of strangers among the non-matches of each pattern.

    Notes
    -----
    O(steps * n_patterns * n_classes * n_fields).
    """
    if not len(classes):
        return classes, np.ones(len(gamma))
    identified = np.zeros(len(gamma), dtype=np.uint64)
    pairs = np.zeros_like(classes.levels)
    sizes = np.zeros(len(classes) + 1)
    posterior = np.empty((len(gamma), len(classes) + 1))
    for step in range(steps + 1):
        with np.errstate(divide="ignore"):
            log_shares = np.log(classes.shares)
        class_expectation(
            gamma, others, identified, log_tables(classes.levels), log_shares, strangers, 0, pairs, sizes, posterior
        )
        if step == steps:
            break
        sizes[-1] += left_out
        new = np.maximum(sizes, SMALLEST) / np.maximum(sizes, SMALLEST).sum()
        moved = float(np.abs(np.log(new / classes.shares)).max())
        classes = KinClasses(np.stack([shares(one, valid, PRIOR) for one in pairs]), new)
        if moved < TOLERANCE:
            break
    return classes, np.ascontiguousarray(posterior[:, -1])
