"""One assessment of a file: every measure that can be computed, what it means, and the records of highest risk.

The result is a dictionary that is written as JSON and put on the report's page. It holds key values of single records,
and is as confidential as the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tryst.common.documents.result_warning import by_severity
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.progress import Progress
from tryst.risk.identification import wording
from tryst.risk.identification.bayesian_matching import Method
from tryst.risk.identification.calibrated_risk import CalibratedRisk, calibrated_risk
from tryst.risk.identification.file_level import FileMeasures, file_dis, file_measures
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.loglinear import LogLinearRisk
from tryst.risk.identification.measure_entry import entry, plain
from tryst.risk.identification.misclassification import misclassification_risk
from tryst.risk.identification.modelled_assessment import heaviest_graphs, log_linear, modelled
from tryst.risk.identification.perturbation import swapping_matrix
from tryst.risk.identification.record_risk import chances, highest_risk_records, histogram
from tryst.risk.identification.risk_reduction import reduce_risk
from tryst.risk.identification.strategies import Frequencies, attacks
from tryst.risk.identification.suda_ranking import SudaScores, suda_scores

_ALL_SIZES = 10  # keys up to which minimal uniques of all sizes are looked for


def assess(
    file: KeyFile,
    *,
    max_msu: int | None = None,
    models: Method = "default",
    seed: int = 1,
    weights: NDArray[np.float64] | None = None,
    swapped: Mapping[str, float] | None = None,
    selected: float | None = None,
    records: bool = True,
    progress: Progress = lambda stage, fraction: None,
) -> dict[str, Any]:
    """Assess a file.

    Parameters
    ----------
    file
        The records.
    max_msu
        Largest minimal sample unique; by default any for up to 10 keys, 4 for more.
    models
        Search for the decomposable models of the modelling intruder.
    seed
        Of that search.
    weights
        Survey weights, where records were not sampled alike.
    swapped
        Key variables whose values were swapped, and the share of records that were.
    selected
        Expected correct matches, as a share of the records, that a recoding should bring about; by default half, where
        the search is short.
    records
        List the records of highest risk with their key values.
    progress
        Called with each stage as it begins.

    Returns
    -------
    dict
        Ready for JSON; a measure that could not be computed is absent, and ``left_out`` gives the reason.
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
    progress("file measures", 0.0)
    _counted(file, found)
    progress("special uniques", 0.0)
    maximum = max_msu if max_msu is not None else (file.n_keys if file.n_keys <= _ALL_SIZES else 4)
    suda = suda_scores(file, max_size=maximum)
    found["suda"] = _suda(file, suda)
    progress("calibrated risk", 0.0)
    calibrated = _attempt(found, "calibrated risk", lambda: _calibrated(file, found, weights, seed))
    progress("decomposable models", 0.0)
    matching = _attempt(found, "modelled matching", lambda: modelled(file, found, models, seed))
    progress("log-linear models", 0.0)
    graphs = heaviest_graphs(matching)
    loglinear = _attempt(found, "log-linear risk", lambda: log_linear(file, found, weights, graphs))
    if matching is not None:
        progress("what would lower the risk", 0.0)
        _attempt(found, "recoding", lambda: reduce_risk(matching, found, selected))
    if swapped:
        progress("misclassification", 0.0)
        _attempt(found, "misclassification", lambda: _perturbed(file, found, swapped, loglinear))
    own = chances(file, calibrated, loglinear, matching)
    found["histogram"] = histogram(own)
    found["measures"] = sorted(found["measures"], key=lambda measure: not measure["relied_on"])
    found["highest_risk_records"] = highest_risk_records(file, suda, loglinear, own) if records else []
    found["records_listed"] = records
    found["seed"] = seed
    found["warnings"] = [warning.plain() for warning in by_severity(found["warnings"])]
    return found


def _attempt(found: dict[str, Any], what: str, make: Callable[[], Any]) -> Any:
    """Run one part; where it has no meaning for this file, or too much to do, note the reason and go on."""
    try:
        return make()
    except TrystError as error:
        if error.code not in (ErrorCode.PARAMETER, ErrorCode.MEMORY):
            raise
        found["left_out"].append({"what": what, "why": str(error)})
        return None


def _counted(file: KeyFile, found: dict[str, Any]) -> None:
    """Measures from counts, and the strategies where the population is known."""
    measures: FileMeasures | None = _attempt(found, "file measures", lambda: file_measures(file))
    if measures is None:
        return
    dis = measures.dis
    found["measures"].append(entry(wording.DIS, dis.value, (dis.low, dis.high)))
    for words, value in (
        (wording.PU, measures.pu),
        (wording.PU_GIVEN_SU, measures.pu_given_su),
        (wording.CM_GIVEN_UM, measures.cm_given_um),
        (wording.CM_GIVEN_SU, measures.cm_given_su),
    ):
        if value is not None:
            found["measures"].append(entry(words, value))
    if file.population_sizes is not None:
        tried = _attempt(found, "matching strategies", lambda: attacks(Frequencies.of(file)))
        if tried is not None:
            found["strategies"] = [
                {
                    "number": number,
                    "name": a.strategy,
                    "direction": a.direction,
                    "targets": a.targets,
                    "probability": a.probability,
                    "cost": plain(a.cost),
                    "cost_replaced": plain(a.cost_replaced),
                    "efficiency": a.efficiency,
                }
                for number, a in tried.items()
            ]


def _suda(file: KeyFile, suda: SudaScores) -> dict[str, Any]:
    own = suda.minimal_uniques
    shares = sorted(
        (-float(share), name, label)
        for name, labels, own_shares in zip(file.names, file.labels, suda.by_category, strict=True)
        for label, share in zip(labels, own_shares, strict=False)
        if share > 0
    )
    by_category = [{"variable": name, "category": label, "share": -share} for share, name, label in shares]
    return {
        "minimal_uniques": len(own.subsets),
        "max_size": own.max_size,
        "complete": own.complete,
        "by_size": own.by_size.tolist(),
        "by_variable": [{"variable": n, "share": float(v)} for n, v in zip(file.names, suda.by_variable, strict=True)],
        "by_category": by_category[:20],
    }


def _calibrated(file: KeyFile, found: dict[str, Any], weights: NDArray[np.float64] | None, seed: int) -> CalibratedRisk:
    risk = calibrated_risk(file, weights=weights, seed=seed)
    found["calibrated"] = risk.summary()
    found["warnings"] += risk.warnings(file_dis(file))
    for words, e in ((wording.CALIBRATED_TAU1, risk.tau1), (wording.CALIBRATED_TAU2, risk.tau2)):
        found["measures"].append(entry(words, e.value, (e.low, e.high)))
    return risk


def _perturbed(
    file: KeyFile, found: dict[str, Any], swapped: Mapping[str, float], loglinear: LogLinearRisk | None
) -> None:
    """Risk when some variables were swapped; swapping keeps how many records have each level."""
    unknown = [n for n in swapped if n not in file.names]
    if unknown:
        raise TrystError(ErrorCode.PARAMETER, f"there is no key variable {', '.join(unknown)}", where="swapped")
    theta = {}
    for name, rate in swapped.items():
        q = file.names.index(name)
        theta[name] = swapping_matrix(np.bincount(file.codes[:, q], minlength=file.levels[q]), rate)
    risk = misclassification_risk(file, theta, loglinear)
    found["misclassification"] = {
        "swapped": dict(swapped),
        "tau": risk.tau,
        "tau_approximate": risk.tau_approximate,
        "tau_estimated": risk.tau_estimated,
    }
    best = risk.tau if risk.tau is not None else risk.tau_estimated
    if best is not None:
        estimated = risk.tau is None and any(not m["relied_on"] for m in found["measures"] if m["name"] == "tau2")
        found["measures"].append(entry(wording.MISCLASSIFIED, best, relied_on=not estimated))
