"""Calibrated chances of all records of a file together: their mean and the largest, with intervals.

The intervals of `records` are of the sample uniques. A limit on a file is on all of its records, those with company
among them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from gemel.common.errors import GemelError
from gemel.risk.arrays import Floats, Mask
from gemel.risk.identification.calibration.records import (
    LEVEL,
    CalibratedRisk,
    Estimate,
    calibrated_risk,
    expected_reciprocal_with_company,
    fractions_of_cells,
)
from gemel.risk.identification.file_level import file_dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.lattice_search import Node
from gemel.risk.protection.key_table import KeyTable

_DRAWS = 400
_LOOKED_AT = 1_000  # cells of the largest chances, among which the largest upper end is sought


def over_every_record(
    found: CalibratedRisk, file: KeyFile, right: Floats, weights: Floats | None = None
) -> tuple[Estimate, Estimate] | None:
    """Mean and largest chance of a correct match with someone who agrees; None where no law was fitted.

    Parameters
    ----------
    right : ndarray of float64, shape (n_records,)
        Probability that each record's keys are its true ones, which multiplies its chance.

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
    rng = np.random.default_rng(1)
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
    ends = (1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0
    mean, top = float((found.of_records * right).mean()), float((chance * greatest).max())
    low, high = np.quantile(means, ends)
    lows, highs = np.quantile(largest, ends, axis=0) * greatest[order]
    return (
        Estimate(mean, min(mean, float(low)), max(mean, float(high))),
        Estimate(top, min(top, float(lows.max())), max(top, float(highs.max()))),
    )


# Calibrated risk of a file before and after its protection: `identification.calibration`, where it can be computed.
#
# The calibration needs every record in one combination, so missing and suppressed values agree with each other here and
# with nothing else, whatever the policy takes them to mean: a reading on the safe side. Where keys were redrawn or
# swapped, a record's chance is multiplied by the probability that the published keys are its true ones (Shlomo 2009,
# equation 8: the calibration sees the perturbed combinations, whose people it estimates).
#
# A policy without k is judged by the upper ends of these chances too: E[1/F | f] by the counts alone follows from f and
# the sampling fraction, and takes no notice of what the keys are. Where no law can be fitted the end is 1/f, the chance
# if everyone who agrees with a record were in the file.

_NO_UNIQUES = "no record is unique, and the law of their company is fitted to those that are"
_NOT_CONVERGED = "the law of the calibration was not fitted"


@dataclass(frozen=True)
class UpperEnds:
    """Upper ends of the chances of a correct match."""

    correct_matches: float
    record_risk: float
    by: Literal["calibrated", "bound"]
    why: str = ""


@dataclass(frozen=True)
class Calibrated:
    """Calibrated risk of a file."""

    document: dict[str, Any]
    upper: UpperEnds


def calibrated(
    table: KeyTable, node: Node, suppressed: Mask, fraction: float, weights: Floats | None, unchanged: Floats | None
) -> Calibrated:
    """Calibrated risk of a file as it is published.

    Parameters
    ----------
    table, node, suppressed
        The keys, their levels, and which values are not published.
    weights : ndarray of float64, shape (n_records,), optional
        Survey weights.
    unchanged : ndarray of float64, shape (n_records,), optional
        Probability that each record's published keys are its true ones.

    Notes
    -----
    That of `calibrated_risk` and `over_every_record`.
    """
    values = table.values(node, suppressed)
    file = KeyFile.from_columns(values, fraction, missing="level", missing_values=())
    right = np.ones(file.n_records) if unchanged is None else unchanged
    chances = right / file.counts[file.of_record]

    def bound(why: str) -> UpperEnds:
        return UpperEnds(float(chances.mean()), float(chances.max()), "bound", why)

    try:
        found = calibrated_risk(file, weights=weights)
    except GemelError as error:
        return Calibrated({"why": str(error)}, bound(str(error)))
    # The interval is of the combinations as they are seen; that they are the true ones is known exactly.
    total = float(found.correct.sum())
    share = float((found.correct * right[found.uniques]).sum()) / total if total else 1.0
    tau2 = Estimate(*(share * end for end in (found.tau2.value, found.tau2.low, found.tau2.high)))
    document = {
        "uniques": len(found.uniques),
        "tau2": asdict(tau2),
        "correct_matches": float((found.of_records * right).mean()),
        "warnings": [warning.code for warning in found.warnings(file_dis(file))],
    }
    every = over_every_record(found, file, right, weights) if found.converged else None
    if every is None:
        return Calibrated(document, bound(_NO_UNIQUES if found.converged else _NOT_CONVERGED))
    mean, largest = every
    return Calibrated(document, UpperEnds(mean.high, largest.high, "calibrated"))
