"""One assessment of a file: every measure that can be computed, what it means, and the records of highest risk.

The result is a dictionary that is written as JSON and put on the report's page. It holds key values of single records,
and is as confidential as the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tryst.common.documents.result_warning import by_severity, result_warning
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.progress import Progress
from tryst.risk.identification import wording
from tryst.risk.identification.bayesian_matching import BayesianMatching, Method, bayesian_matching, fit_models
from tryst.risk.identification.beside_keys import BesideKeys
from tryst.risk.identification.calibration import CalibratedRisk, calibrated_risk
from tryst.risk.identification.file_level import FileMeasures, file_dis, file_measures
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.loglinear import LogLinearRisk, log_linear_risk
from tryst.risk.identification.misclassification_matrices import Perturbation, misclassification_document
from tryst.risk.identification.model_attacks import ModelAttack, attack_on, best_cells, cost_matched
from tryst.risk.identification.model_choice import choose_model
from tryst.risk.identification.record_risk import chances, highest_risk_records, histogram
from tryst.risk.identification.risk_reduction import reduce_risk
from tryst.risk.identification.special_uniques import BothScores
from tryst.risk.identification.strategies import Frequencies, attacks

_ALL_SIZES = 10  # keys up to which minimal uniques of all sizes are looked for
_CELLS = 2**21  # of a log-linear model
_MODELS = 8  # log-linear models on the path


def assess(
    file: KeyFile,
    *,
    max_msu: int | None = None,
    models: Method = "default",
    seed: int = 1,
    weights: NDArray[np.float64] | None = None,
    perturbation: Perturbation | None = None,
    selected: float | None = None,
    records: bool = True,
    beside: BesideKeys | None = None,
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
    perturbation
        How key values came to be wrong, where they were swapped or misclassified.
    selected
        Expected correct matches, as a share of the records, that a recoding should bring about; by default half, where
        the search is short.
    records
        List the records of highest risk with their key values.
    beside
        Columns of the records that are no keys.
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
    special = BothScores.of(file, maximum)
    found["special_uniques"] = special.document(file)
    progress("calibrated risk", 0.0)
    calibrated = _attempt(found, "calibrated risk", lambda: _calibrated(file, found, weights, seed))
    progress("log-linear models", 0.0)
    loglinear = _attempt(found, "log-linear risk", lambda: _log_linear(file, found, weights))
    progress("decomposable models", 0.0)
    matching = _attempt(found, "modelled matching", lambda: _modelled(file, found, models, seed))
    if matching is not None:
        progress("what would lower the risk", 0.0)
        _attempt(found, "recoding", lambda: reduce_risk(matching, found, selected))
    if perturbation:
        progress("misclassification", 0.0)
        _attempt(found, "misclassification", lambda: _perturbed(file, found, perturbation, loglinear))
    own = chances(file, calibrated, loglinear, matching)
    found["histogram"] = histogram(own)
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
    except TrystError as error:
        if error.code not in (ErrorCode.PARAMETER, ErrorCode.MEMORY):
            raise
        found["left_out"].append({"what": what, "why": str(error)})
        return None


def _entry(words: wording.Words, value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {**asdict(words), "value": _plain(value), "low": low, "high": high}


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _counted(file: KeyFile, found: dict[str, Any]) -> None:
    """Measures from counts, and the strategies where the population is known."""
    measures: FileMeasures | None = _attempt(found, "file measures", lambda: file_measures(file))
    if measures is None:
        return
    dis = measures.dis
    found["measures"].append(_entry(wording.DIS, dis.value, dis.low, dis.high))
    for words, value in (
        (wording.PU, measures.pu),
        (wording.PU_GIVEN_SU, measures.pu_given_su),
        (wording.CM_GIVEN_UM, measures.cm_given_um),
        (wording.CM_GIVEN_SU, measures.cm_given_su),
    ):
        if value is not None:
            found["measures"].append(_entry(words, value))
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
                    "cost": _plain(a.cost),
                    "cost_replaced": _plain(a.cost_replaced),
                    "efficiency": a.efficiency,
                }
                for number, a in tried.items()
            ]


def _calibrated(file: KeyFile, found: dict[str, Any], weights: NDArray[np.float64] | None, seed: int) -> CalibratedRisk:
    risk = calibrated_risk(file, weights=weights, seed=seed)
    found["calibrated"] = risk.summary()
    found["warnings"] += risk.warnings(file_dis(file))
    for words, e in ((wording.CALIBRATED_TAU1, risk.tau1), (wording.CALIBRATED_TAU2, risk.tau2)):
        found["measures"].append(_entry(words, e.value, e.low, e.high))
    return risk


def _log_linear(file: KeyFile, found: dict[str, Any], weights: NDArray[np.float64] | None) -> LogLinearRisk:
    if weights is not None:
        models = [log_linear_risk(file, "independence", weights=weights, limit=_CELLS)]
        models.append(log_linear_risk(file, "two-way", weights=weights, limit=_CELLS))
        chosen = len(models) - 1  # no criterion is known for unequal weights
    else:
        choice = choose_model(file, max_models=_MODELS, limit=_CELLS)
        models, chosen = list(choice.models), choice.chosen
    best = models[chosen]
    found["log_linear"] = {
        "weighted": weights is not None,
        "chosen": chosen,
        "models": [
            {
                "model": m.model,
                "tau1": m.tau1,
                "tau2": m.tau2,
                "B1": _plain(m.B1),
                "B2": _plain(m.B2),
                "converged": m.converged,
                "deviation": m.fit.deviation,
                "cells": len(m.fit.cells),
            }
            for m in models
        ],
    }
    if not best.converged:
        found["warnings"].append(result_warning("log_linear_not_converged", deviation=best.fit.deviation))
    found["measures"] += [_entry(wording.TAU1, best.tau1), _entry(wording.TAU2, best.tau2)]
    return best


def _modelled(file: KeyFile, found: dict[str, Any], method: Method, seed: int) -> BayesianMatching:
    fitted = fit_models(file, method, np.random.default_rng(seed))
    matching = bayesian_matching(file, fitted)
    measures = matching.measures
    found["warnings"] += fitted.warnings()
    found["modelled"] = {
        "search": fitted.search.method,
        "models": len(fitted.average.models),
        "estimate": fitted.estimate,
        **asdict(measures),
        "attacks": _model_attacks(matching),
    }
    found["measures"] += [_entry(wording.BAYESIAN, measures.cm), _entry(wording.GREATEST, measures.greatest)]
    return matching


def _model_attacks(matching: BayesianMatching) -> list[dict[str, Any]]:
    """What the modelling intruder does with his ranking: claimed, and true where the population is known."""
    own = matching.file.counts == 1
    tried: list[tuple[str, str, ModelAttack]] = [
        ("the ten likeliest combinations, a record of them looked for", "from_sample", best_cells(matching))
    ]
    if own.any():
        sizes = matching.file.population_sizes
        people = float(sizes[own].sum() if sizes is not None else matching.expected_count[own].sum())
        every = attack_on(matching, np.flatnonzero(own))
        smallest = cost_matched(matching, people, by_true_counts=sizes is not None)
        tried += [
            ("people until one matches any sample unique", "from_population", every),
            ("the same search for the combinations that models expect to be smallest", "from_population", smallest),
        ]
    return [
        {
            "name": name,
            "combinations": len(found.cells),
            "claimed": getattr(found.claimed, chance),
            "claimed_cost": _plain(getattr(found.claimed, f"cost_{chance}")),
            "true": None if found.true is None else getattr(found.true, chance),
            "cost": None if found.true is None else _plain(getattr(found.true, f"cost_{chance}")),
        }
        for name, chance, found in tried
    ]


def _perturbed(
    file: KeyFile, found: dict[str, Any], perturbation: Perturbation, loglinear: LogLinearRisk | None
) -> None:
    own = found["misclassification"] = misclassification_document(file, perturbation, loglinear)
    best = own["tau"] if own["tau"] is not None else own["tau_estimated"]
    if best is not None:
        found["measures"].append(_entry(wording.MISCLASSIFIED, best))
