"""How far a file can tell the shape of the law behind calibrated risk, and what is claimed with one shape or another.

Each file is fitted with three shapes held fixed, log a = c0 + c1 eta, everything else free. Where their likelihoods
are nearly the same and their claims are not, the file does not say which is right: whatever is claimed is the prior's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._public_populations import ADULT, EUSILC_P, PublicPopulation
from gemel.risk.identification.calibration.crowding import ShapePrior, fit_crowding, neighbourhood
from gemel.risk.identification.calibration.records import expected_reciprocal_with_company
from gemel.risk.identification.key_file import KeyFile

SHAPES = ((1.5, 0.2), (1.5, 0.4), (1.0, 0.4))
HEAD = (
    "| file | pairs | c0, c1 | below the likeliest of the three | within 2 of it | tau1 | off | tau2 | off |"
    " 50 riskiest: claimed, true |",
    "|---|---|---|---|---|---|---|---|---|---|",
)

_STUDIES: tuple[tuple[PublicPopulation, str, tuple[float, ...]], ...] = (
    (EUSILC_P, "6 keys", (0.01, 0.02, 0.05)),
    (ADULT, "5 keys", (0.02, 0.05)),
)
_FIXED = (0.01, 0.01)  # spread of a shape that is held
_HIGHEST = 50
_NEAR = 2.0  # log-likelihood


@dataclass(frozen=True, eq=False)
class ShapedClaims:
    """One file with each shape.

    Parameters
    ----------
    pairs
        Combinations of two records.
    log_likelihoods : ndarray of float64, shape (n_shapes,)
    claimed, true : ndarray of float64, shape (n_shapes, 3)
        tau1, tau2 and the mean chance of the 50 riskiest, which differ by shape.
    """

    pairs: int
    log_likelihoods: NDArray[np.float64]
    claimed: NDArray[np.float64]
    true: NDArray[np.float64]


def shaped_claims(file: KeyFile) -> ShapedClaims:
    """Fit every shape to a file whose population is known."""
    sizes = file.population_sizes
    assert sizes is not None
    own = np.flatnonzero(file.counts == 1)
    F = sizes[own].astype(float)
    c = np.full(len(own), (1.0 - file.fraction) / file.fraction)
    predictors, counts = neighbourhood(file.table()), file.counts.astype(float)
    logs, claimed, true = [], [], []
    for shape in SHAPES:
        law = fit_crowding(predictors, counts, shape=ShapePrior(shape, _FIXED))
        mu, a = law.law(own)
        alone = (1.0 + c / (a / mu + 1.0)) ** -a
        correct = expected_reciprocal_with_company(np.ones(len(own), dtype=np.int64), mu, a, c)
        highest = np.argsort(-correct, kind="stable")[:_HIGHEST]
        logs.append(law.log_likelihood)
        claimed.append((alone.sum(), correct.sum(), correct[highest].mean()))
        true.append(((F == 1).sum(), (1.0 / F).sum(), (1.0 / F[highest]).mean()))
    return ShapedClaims(int((file.counts == 2).sum()), np.array(logs), np.array(claimed), np.array(true))


def shape_rows(samples: int, seed: int) -> Iterator[str]:
    """A line of the table for each file and shape."""
    for population, keys, fractions in _STUDIES:
        everyone = population.key_columns(keys)
        for fraction in fractions:
            seeds = [(seed, round(1000 * fraction), r) for r in range(samples)]
            found = [shaped_claims(_sample(everyone, fraction, own)) for own in seeds]
            yield from _rows(f"{population.name}, {keys}, {100 * fraction:g} %", found)


def _sample(everyone: pl.DataFrame, fraction: float, seed: tuple[int, ...]) -> KeyFile:
    chosen = np.random.default_rng(seed).choice(len(everyone), round(fraction * len(everyone)), replace=False)
    return KeyFile.from_columns(everyone[chosen].to_dict(), population=everyone.to_dict())


def _rows(name: str, found: list[ShapedClaims]) -> Iterator[str]:
    logs = np.array([claims.log_likelihoods for claims in found])
    below = logs.max(axis=1, keepdims=True) - logs
    claimed = np.mean([claims.claimed for claims in found], axis=0)
    true = np.mean([claims.true for claims in found], axis=0)
    pairs = np.mean([claims.pairs for claims in found])
    for q, (c0, c1) in enumerate(SHAPES):
        off = 100.0 * (claimed[q] / true[q] - 1.0)
        yield (
            f"| {name} | {pairs:,.0f} | {c0:g}, {c1:g} | {below[:, q].mean():.1f} |"
            f" {int((below[:, q] <= _NEAR).sum())} of {len(found)} | {true[q, 0]:.4g} | {off[0]:+.0f} % |"
            f" {true[q, 1]:.4g} | {off[1]:+.0f} % | {claimed[q, 2]:.3f}, {true[q, 2]:.3f} |"
        )
