"""Plain forms: the expectation of a reciprocal, and what each variable contributes to a record's SUDA score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from tryst.risk.identification.suda_ranking import SudaScores, _worth


def expected_reciprocal(f: int, rate: float) -> float:
    """E[1/(f + K)] of a Poisson count K, term by term until the rest is below 1e-16."""
    maximum = int(poisson.isf(1e-16, rate)) + 2
    k = np.arange(maximum + 1)
    return float((poisson.pmf(k, rate) / (f + k)).sum())


def contributions(scored: SudaScores, record: int) -> NDArray[np.float64]:
    """For one record, the share of its score from minimal uniques with each variable, shape (n_keys,)."""
    own = scored.minimal_uniques
    at = int(np.searchsorted(own.uniques, record))
    shares = np.zeros(own.n_keys)
    if at == len(own.uniques) or own.uniques[at] != record:
        return shares
    part = slice(own.offsets[at], own.offsets[at + 1])
    worth = _worth(own.n_keys, scored.kind)[own.sizes[part]]
    if worth.sum() > 0:
        for q in range(own.n_keys):
            shares[q] = worth[own.subsets[part] >> q & 1 > 0].sum() / worth.sum()
    return shares
