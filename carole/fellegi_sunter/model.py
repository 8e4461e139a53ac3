"""A fitted Fellegi-Sunter model, and its scores of comparison vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.kernels import summed
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.documents.result_warning import ResultWarning


@dataclass(frozen=True)
class History:
    """The sequence of parameters in EM, from its start to its end.

    Parameters
    ----------
    p : ndarray of float64, shape (n_states,)
    m, u : ndarray of float64, shape (n_states, n_fields, n_levels)
    log_likelihood : ndarray of float64, shape (n_states,)
        Natural logarithm, of the pairs counted.
    """

    p: NDArray[np.float64]
    m: NDArray[np.float64]
    u: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A fitted model.

    Parameters
    ----------
    fields : tuple of FieldLevels
    m, u : ndarray of float64, shape (n_fields, n_levels)
        ``m[q, k]`` is P(level k in field q | match), `u` the same for a non-match. A field with fewer levels
        than the maximum has zeros after them.
    p : float
        Share of matches among all n_a * n_b pairs.
    n_a, n_b : int
        Records in the two files.
    log_likelihood : float
        Of the pairs counted, natural logarithm.
    converged : bool
    iterations : int
        EM steps made.
    distance : float
        Extrapolated distance from the fixed point.
    identified : bool
        False if other parameters fit these counts as well.
    matches_behind_m : ndarray of float64, shape (n_fields,)
        Expected matches from which each row of `m` was estimated.
    warnings : tuple of ResultWarning
        What a user should know before relying on the numbers.
    history : History
    """

    fields: tuple[FieldLevels, ...]
    m: NDArray[np.float64]
    u: NDArray[np.float64]
    p: float
    n_a: int
    n_b: int
    log_likelihood: float
    converged: bool
    iterations: int
    distance: float
    identified: bool
    matches_behind_m: NDArray[np.float64]
    warnings: tuple[ResultWarning, ...]
    history: History

    @property
    def expected_matches(self) -> float:
        """Number of matches that p implies."""
        return self.p * self.n_a * self.n_b

    def match_weights(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Match weights of comparison vectors, in bits: see `match_weights`."""
        return match_weights(gamma, self.m, self.u)

    def match_probabilities(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Match probabilities of comparison vectors, each pair without its rivals: see `match_probabilities`."""
        return match_probabilities(gamma, self.m, self.u, self.p)


def log2_ratios(m: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log2 of m / u by field and level; 0 where both are 0, as such a level was never seen."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((m == 0) & (u == 0), 0.0, np.log2(m) - np.log2(u))


def match_weights(gamma: NDArray[np.int8], m: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Fellegi-Sunter match weight of each comparison vector, in bits.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
        Comparison levels, 0 to ``n_levels - 1``, or ``MISSING``.
    m, u : ndarray of float64, shape (n_fields, n_levels)
        ``m[q, k]`` is P(level k in field q | match); `u` for a non-match.

    Returns
    -------
    ndarray of float64, shape (n_patterns,)
        Log2 Bayes factors; a weight of 1 doubles the odds of a match.

    Notes
    -----
    Fields independent given match status, missing at random (adds 0). O(n_patterns * n_fields).

    References
    ----------
    .. [1] Fellegi and Sunter, JASA 64, 1969. doi:10.1080/01621459.1969.10501049
    """
    missing = np.zeros((m.shape[0], 1))
    weights: NDArray[np.float64] = summed(np.ascontiguousarray(gamma), np.hstack([log2_ratios(m, u), missing]))
    return weights


def match_probabilities(
    gamma: NDArray[np.int8], m: NDArray[np.float64], u: NDArray[np.float64], p: float
) -> NDArray[np.float64]:
    """Probability that a pair with each comparison vector is a match, without its rivals.

    Parameters
    ----------
    gamma, m, u
        As for `match_weights`.
    p : float
        Share of matches among all pairs, in (0, 1).

    Returns
    -------
    ndarray of float64, shape (n_patterns,)
    """
    log_odds = match_weights(gamma, m, u) * np.log(2.0) + np.log(p) - np.log1p(-p)
    return probability(log_odds)


def probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic function, without overflow."""
    small = np.exp(-np.abs(log_odds))
    return np.where(log_odds >= 0, 1.0, small) / (1.0 + small)
