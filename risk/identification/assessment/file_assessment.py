"""One assessment of a file: every measure that can be computed, what it means, and the records of highest risk.

The result is a dictionary that is written as JSON and put on the report's page. It holds key values of single records,
and is as confidential as the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from gemel.common.documents.result_warning import by_severity
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Floats, finite
from gemel.risk.identification.assessment.beside_keys import BesideKeys
from gemel.risk.identification.assessment.modelled_assessment import heaviest_graphs, log_linear, modelled
from gemel.risk.identification.assessment.wording import CALIBRATED_TAU2, entry
from gemel.risk.identification.calibration.records import CalibratedRisk, calibrated_risk
from gemel.risk.identification.file_level import file_dis, population_measures
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, Method, expected_reciprocal
from gemel.risk.identification.matching.risk_reduction import reduce_risk
from gemel.risk.identification.misclassification import Perturbation, misclassification_document
from gemel.risk.identification.strategies import Frequencies, attacks
from gemel.risk.identification.suda_ranking import BothScores

_SHOWN = 50  # records of highest risk listed
_BINS = 20


def chances(
    file: KeyFile, calibrated: CalibratedRisk | None, loglinear: LogLinearRisk | None, matching: BayesianMatching | None
) -> dict[str, Floats]:
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


def histogram(by_way: dict[str, Floats]) -> dict[str, Any]:
    """Shares of the records by their chance of a correct match, and of records at or above each chance."""
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    series = {}
    for name, chance in by_way.items():
        number, _ = np.histogram(np.clip(chance, 0.0, 1.0), edges)
        share = number / len(chance)
        series[name] = {"share": share.tolist(), "at_or_above": np.cumsum(share[::-1])[::-1].tolist()}
    return {"edges": edges.tolist(), "series": series}


def highest_risk_records(
    file: KeyFile, special: BothScores, loglinear: LogLinearRisk | None, by_way: dict[str, Floats]
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


_ALL_SIZES = 10  # keys up to which minimal uniques of all sizes are looked for


def assess(
    file: KeyFile,
    *,
    max_msu: int | None = None,
    models: Method = "default",
    seed: int = 1,
    weights: Floats | None = None,
    perturbation: Perturbation | None = None,
    selected: float | None = None,
    records: bool = True,
    beside: BesideKeys | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Assess a file.

    `max_msu`: largest minimal sample unique; by default any for up to 10 keys, 4 for more; `selected`: expected correct
    matches, as a share of the records, that a recoding should bring about; by default half, where the search is short.

    The result is ready for JSON; a measure that could not be computed is absent, and ``left_out`` gives the reason.
    """
    found: dict[str, Any] = {"warnings": file.warnings(), "left_out": [], "measures": []}
    found["file"] = {
        "records": file.n_records,
        "keys": [{"name": n, "levels": k} for n, k in zip(file.names, file.levels, strict=True)],
        "fraction": file.fraction,
        "population": round(file.population_total),
        "population_known": file.population_sizes is not None,
        "combinations": len(file.cells),
        "uniques": len(file.uniques),
        "missing": file.missing,
    }

    def stage(words: str, what: str, make: Callable[[], Any]) -> Any:
        progress(words, 0.0)
        return _attempt(found, what, make)

    progress("file measures", 0.0)
    _counted(file, found, weights)
    progress("special uniques", 0.0)
    maximum = max_msu if max_msu is not None else (file.n_keys if file.n_keys <= _ALL_SIZES else 4)
    special = BothScores.of(file, maximum)
    found["special_uniques"] = special.document(file)
    calibrated = stage("calibrated risk", "calibrated risk", lambda: _calibrated(file, found, weights, seed))
    matching = stage("decomposable models", "modelled matching", lambda: modelled(file, found, models, seed))
    graphs = heaviest_graphs(matching)
    loglinear = stage("log-linear models", "log-linear risk", lambda: log_linear(file, found, weights, graphs))
    if matching is not None:
        stage("what would lower the risk", "recoding", lambda: reduce_risk(matching, found, selected))
    if perturbation:
        stage("misclassification", "misclassification", lambda: _perturbed(file, found, perturbation, loglinear))
    own = chances(file, calibrated, loglinear, matching)
    found["histogram"] = histogram(own)
    found["measures"] = sorted(found["measures"], key=lambda measure: not measure["relied_on"])
    found["highest_risk_records"] = highest_risk_records(file, special, loglinear, own) if records else []
    found["records_listed"] = records
    (beside if beside is not None else BesideKeys()).assess(file, weights, own | special.scores, found, _attempt)
    found["seed"] = seed
    found["warnings"] = [warning.plain() for warning in by_severity(found["warnings"])]
    return found


def _attempt(found: dict[str, Any], what: str, make: Callable[[], Any]) -> Any:
    """Run one part; where it has no meaning for this file, or too much to do, note the reason and go on."""
    try:
        return make()
    except GemelError as error:
        if error.code not in (ErrorCode.PARAMETER, ErrorCode.MEMORY):
            raise
        found["left_out"].append({"what": what, "why": str(error)})
        return None


def _counted(file: KeyFile, found: dict[str, Any], weights: Floats | None) -> None:
    tried = _attempt(found, "file measures", lambda: (file_dis(file, weights=weights), population_measures(file)))
    if tried is None:
        return
    dis, measures = tried
    found["measures"].append(entry("DIS", dis.value, (dis.low, dis.high)))
    found["measures"] += [entry(name, value) for name, value in measures.items()]
    if file.population_sizes is not None:
        strategies = _attempt(found, "matching strategies", lambda: attacks(Frequencies.of(file)))
        if strategies is not None:
            found["strategies"] = [
                {
                    "number": number,
                    **asdict(a),
                    "cost": finite(a.cost),
                    "cost_replaced": finite(a.cost_replaced),
                    "efficiency": a.efficiency,
                }
                for number, a in strategies.items()
            ]


def _calibrated(file: KeyFile, found: dict[str, Any], weights: Floats | None, seed: int) -> CalibratedRisk:
    risk = calibrated_risk(file, weights=weights, seed=seed)
    found["calibrated"] = risk.summary()
    found["warnings"] += risk.warnings(file_dis(file, weights=weights))
    for name, e in (("tau1, calibrated", risk.tau1), (CALIBRATED_TAU2, risk.tau2)):
        found["measures"].append(entry(name, e.value, (e.low, e.high)))
    found["measures"].append(entry("tau2, at most", risk.largest.tau2))
    return risk


def _perturbed(
    file: KeyFile, found: dict[str, Any], perturbation: Perturbation, loglinear: LogLinearRisk | None
) -> None:
    own = found["misclassification"] = misclassification_document(file, perturbation, loglinear)
    best = own["tau"] if own["tau"] is not None else own["tau_estimated"]
    if best is not None:
        estimated = own["tau"] is None and any(not m["relied_on"] for m in found["measures"] if m["name"] == "tau2")
        found["measures"].append(entry("tau, with misclassification", best, relied_on=not estimated))
