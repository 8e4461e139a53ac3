"""Calibrated chances of all records of a file together: their mean and the largest, with intervals.

The intervals of `records` are of the sample uniques. A limit on a file is on all of its records, those with company
among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.calibration.records import (
    CalibratedRisk,
    Estimate,
    expected_reciprocal_with_company,
    fractions_of_cells,
)
from gemel.risk.identification.key_file import KeyFile

_DRAWS = 400
_LOOKED_AT = 1_000  # cells of the largest chances, among which the largest upper end is sought


@dataclass(frozen=True)
class EveryRecord:
    """Chances of a correct match, if each record is matched with someone who agrees with it."""

    correct_matches: Estimate
    record_risk: Estimate


def over_every_record(
    found: CalibratedRisk,
    file: KeyFile,
    right: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    seed: int = 1,
) -> EveryRecord | None:
    """Mean and largest chance with intervals; None where no law was fitted.

    Parameters
    ----------
    found, file, weights
        What `calibrated_risk` gave, and what it was given.
    right : ndarray of float64, shape (n_records,)
        Probability that each record's keys are its true ones, which multiplies its chance.
    seed
        Of the draws behind the intervals.

    Notes
    -----
    400 draws; O(n_cells) for each. The largest upper end is sought among the thousand cells of the largest estimates.
    """
    law = found.crowding
    if law is None:
        return None
    sizes, units = file.counts, file.units_of_cells
    fraction = fractions_of_cells(file, weights)
    c = (1.0 - fraction) / fraction
    kept = np.bincount(file.of_record, right, len(sizes))
    greatest = np.zeros(len(sizes))
    np.maximum.at(greatest, file.of_record, right)
    rng = np.random.default_rng(seed)
    drawn = law.draws(_DRAWS, rng)
    every = np.arange(len(sizes))
    chance = np.zeros(len(sizes))
    chance[file.of_record] = found.of_records
    order = np.argsort(-chance * greatest, kind="stable")[:_LOOKED_AT]
    means, largest = np.empty(_DRAWS), np.empty((_DRAWS, len(order)))
    for i, parameters in enumerate(drawn):
        mu, a = law.law(every, parameters)
        rate = rng.gamma(a + units - 1.0) * c / (a / mu + 1.0)
        outside = rng.poisson(np.minimum(rate, 1e12))
        means[i] = (kept / (sizes + outside)).sum() / file.n_records
        largest[i] = expected_reciprocal_with_company(sizes[order], mu[order], a[order], c[order], units[order])
    ends = (1.0 - found.level) / 2.0, (1.0 + found.level) / 2.0
    mean, top = float((found.of_records * right).mean()), float((chance * greatest).max())
    low, high = np.quantile(means, ends)
    lows, highs = np.quantile(largest, ends, axis=0) * greatest[order]
    return EveryRecord(
        Estimate(mean, min(mean, float(low)), max(mean, float(high))),
        Estimate(top, min(top, float(lows.max())), max(top, float(highs.max()))),
    )
