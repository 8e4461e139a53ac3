"""The risk of single records: by every method, as a histogram, and those of highest risk with what makes them so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.calibration.records import CalibratedRisk
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching
from gemel.risk.identification.matching.population_law import expected_reciprocal
from gemel.risk.identification.special_uniques.both_scores import BothScores

_SHOWN = 50  # records of highest risk listed
_BINS = 20


def chances(
    file: KeyFile,
    calibrated: CalibratedRisk | None,
    loglinear: LogLinearRisk | None,
    matching: BayesianMatching | None,
) -> dict[str, NDArray[np.float64]]:
    """Chance of a correct match of each record, by every way there is."""
    found = {}
    if calibrated is not None:
        found["calibrated"] = calibrated.of_records
    if matching is not None:
        found["modelled"] = matching.of_records
    if loglinear is not None:
        found["log-linear"] = expected_reciprocal(file.counts, loglinear.outside)[file.of_record]
        found["log-linear"][loglinear.uniques] = loglinear.correct  # where averaged, not by the mean alone
    F = file.population_sizes
    if F is not None:
        found["true"] = 1.0 / F[file.of_record]
    return found


def histogram(by_way: dict[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Shares of the records by their chance of a correct match, and of records at or above each chance."""
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    series = {}
    for name, chance in by_way.items():
        number, _ = np.histogram(np.clip(chance, 0.0, 1.0), edges)
        share = number / len(chance)
        series[name] = {
            "share": share.tolist(),
            "at_or_above": np.cumsum(share[::-1])[::-1].tolist(),
        }
    return {"edges": edges.tolist(), "series": series}


def highest_risk_records(
    file: KeyFile, special: BothScores, loglinear: LogLinearRisk | None, by_way: dict[str, NDArray[np.float64]]
) -> list[dict[str, Any]]:
    """The sample uniques most likely to be matched correctly, and what makes them stand out.

    Where the population is known the truth ranks them, and what is claimed ranks those of equal truth.
    """
    uniques, scores = file.uniques, special.is_scores
    ranked = next((by_way[k] for k in ("calibrated", "modelled", "log-linear") if k in by_way), scores.dis_scores)
    true = by_way.get("true", np.zeros(file.n_records))
    order = uniques[np.lexsort((-scores.scores[uniques], -ranked[uniques], -true[uniques]))][:_SHOWN]
    own = {int(r): k for k, r in enumerate(uniques)}
    F = file.population_sizes
    listed = []
    for record in order.tolist():
        values = file.described(file.codes[record])
        small = scores.minimal_uniques.of_record(record)[:5]
        listed.append(
            {
                "record": record + 1,
                "values": values,
                "special": [{k: values[k] for k in keys} for keys in small],
                **special.of_record(file, record),
                "calibrated": float(by_way["calibrated"][record]) if "calibrated" in by_way else None,
                "modelled": float(by_way["modelled"][record]) if "modelled" in by_way else None,
                "log_linear": float(loglinear.correct[own[record]]) if loglinear is not None else None,
                "population": int(F[file.of_record[record]]) if F is not None else None,
            }
        )
    return listed
