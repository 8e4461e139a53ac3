"""Calibrated risk of a file before and after its protection: `identification.calibration`, where it can be computed.

The calibration needs every record in one combination, so missing and suppressed values agree with each other here and
with nothing else, whatever the policy takes them to mean: a reading on the safe side. Where keys were redrawn or
swapped, a record's chance is multiplied by the probability that the published keys are its true ones (Shlomo 2009,
equation 8: the calibration sees the perturbed combinations, whose people it estimates).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tryst.common.errors import TrystError
from tryst.risk.identification.calibration.records import Estimate, calibrated_risk
from tryst.risk.identification.file_level import file_dis
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.protection.candidate import Candidate, Setting
from tryst.risk.protection.key_table import KeyTable


def calibrated_document(table: KeyTable, setting: Setting, candidate: Candidate) -> dict[str, Any]:
    """Calibrated risk ready for JSON, or ``{"why": ...}`` where a file does not support it.

    Parameters
    ----------
    table, setting
        The keys, as they are published at the candidate's node.
    candidate
        The file as it was, or its protection.

    Returns
    -------
    dict
        ``uniques``, sample uniques; ``tau2``, expected correct matches if each of them is matched once, with its
        interval; ``correct_matches``, mean chance over all records; ``warnings``, codes.
    """
    values = table.values(candidate.node, candidate.suppressed)
    file = KeyFile.from_columns(values, setting.fraction, missing="level", missing_values=())
    try:
        found = calibrated_risk(file, weights=setting.weights)
    except TrystError as error:
        return {"why": str(error)}
    kept = setting.unchanged(candidate.node, candidate.suppressed)
    right = np.ones(file.n_records) if kept is None else kept
    # The interval is of the combinations as they are seen; that they are the true ones is known exactly.
    share = _share(found.correct, right[found.uniques])
    tau2 = Estimate(*(share * end for end in (found.tau2.value, found.tau2.low, found.tau2.high)))
    return {
        "uniques": len(found.uniques),
        "tau2": asdict(tau2),
        "correct_matches": float((found.of_records * right).mean()),
        "warnings": [warning.code for warning in found.warnings(file_dis(file))],
    }


def _share(chances: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """What is left of a sum of chances when each is multiplied."""
    total = float(chances.sum())
    return float((chances * right).sum()) / total if total else 1.0
