"""Expected beside observed pattern counts: where the model does not describe the pairs.

Dependent fields (a suburb beside its postcode) agree together more often than independence allows. Such patterns then
occur far more often than expected, and their match probabilities are overconfident.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.kernels import summed
from tryst.carole.fellegi_sunter.model import Model
from tryst.carole.fellegi_sunter.patterns import MISSING, PatternCounts


@dataclass(frozen=True)
class PatternFit:
    """Observed and expected counts of comparison patterns, masks added up.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_distinct, n_fields)
        Distinct comparison vectors.
    observed : ndarray of int64, shape (n_distinct,)
    expected : ndarray of float64, shape (n_distinct,)
        Given how many pairs lack which fields: what is missing is not modelled.
    residual : ndarray of float64, shape (n_distinct,)
        Signed root of the deviance: above 3, a pattern occurs more often than chance explains.
    """

    gamma: NDArray[np.int8]
    observed: NDArray[np.int64]
    expected: NDArray[np.float64]
    residual: NDArray[np.float64]

    def worst(self, n: int) -> NDArray[np.int64]:
        """Positions of the `n` patterns with the greatest residuals, greatest first."""
        return np.argsort(-np.abs(self.residual), kind="stable")[:n].astype(np.int64)


def pattern_fit(model: Model, patterns: PatternCounts) -> PatternFit:
    """Compare observed pattern counts with those the model expects.

    Parameters
    ----------
    model : Model
    patterns : PatternCounts
        Of all pairs. Blocked pairs are selected by their agreement, which the model does not describe.

    Returns
    -------
    PatternFit

    Notes
    -----
    O(n_patterns * n_fields), and a sort.
    """
    gamma, member = np.unique(patterns.gamma, axis=0, return_inverse=True)
    observed = np.bincount(member.ravel(), weights=patterns.count, minlength=len(gamma)).astype(np.int64)
    # Pairs with the same fields missing form one table, of which the model gives the cell probabilities.
    _, table = np.unique(gamma == MISSING, axis=0, return_inverse=True)
    pairs = np.bincount(table.ravel(), weights=observed)
    expected = pairs[table.ravel()] * (
        model.p * _likelihood(gamma, model.m) + (1 - model.p) * _likelihood(gamma, model.u)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(observed > 0, np.log(observed / expected), 0.0)
        deviance = 2 * (np.where(observed > 0, observed * log_ratio, 0.0) - (observed - expected))
    residual = np.sign(observed - expected) * np.sqrt(np.maximum(deviance, 0.0))
    return PatternFit(gamma, observed, expected, residual)


def _likelihood(gamma: NDArray[np.int8], distribution: NDArray[np.float64]) -> NDArray[np.float64]:
    """Product over fields of the probability of the field's level; missing ones contribute 1."""
    with np.errstate(divide="ignore"):
        table = np.hstack([np.log(distribution), np.zeros((len(distribution), 1))])
    return np.asarray(np.exp(summed(np.ascontiguousarray(gamma), table)))
