"""Several key sets of one file: what an intruder may know in each, assessed alike and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gemel.common.errors import ErrorCode, GemelError


def check_key_sets(key_sets: Sequence[Sequence[str]]) -> None:
    """Refuse a key set that is given twice, in whatever order."""
    seen: set[frozenset[str]] = set()
    for number, keys in enumerate(key_sets, 1):
        if frozenset(keys) in seen:
            raise GemelError(
                ErrorCode.PARAMETER,
                "two key sets are of the same variables",
                where="--keys",
                got=f"set {number}: {', '.join(keys)}",
                remedy="give each set once",
            )
        seen.add(frozenset(keys))


def check_changed(names: Sequence[str], key_sets: Sequence[Sequence[str]]) -> None:
    """Refuse a swapped or misclassified variable that is in no key set."""
    unknown = [name for name in names if not any(name in keys for keys in key_sets)]
    if unknown:
        raise GemelError(
            ErrorCode.PARAMETER,
            f"there is no key variable {', '.join(unknown)}",
            where="--swapped, --theta",
            remedy=f"the key variables are: {', '.join(dict.fromkeys(k for keys in key_sets for k in keys))}",
        )


def compared(assessments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The assessments of all key sets with a comparison, ready for JSON.

    Parameters
    ----------
    assessments
        Each as `file_assessment.assess` returns it, of the same records.

    Returns
    -------
    dict
        ``scenarios``, the assessments; ``comparison``, a row for each with its keys and main figures; a figure that was
        not computed is null.
    """
    return {"scenarios": list(assessments), "comparison": [_row(each) for each in assessments]}


def _row(found: Mapping[str, Any]) -> dict[str, Any]:
    measures = {m["name"]: m["value"] for m in found["measures"]}
    models = found.get("privacy_models")
    individual = found.get("individual_risk")
    return {
        "keys": [key["name"] for key in found["file"]["keys"]],
        "combinations": found["file"]["combinations"],
        "uniques": found["file"]["uniques"],
        "violate_3_anonymity": None
        if models is None
        else next(v["records"] for v in models["violations"] if v["k"] == 3),
        "dis": measures.get("DIS"),
        "calibrated_tau2": measures.get("tau2, calibrated"),
        "tau2": measures.get("tau2"),
        "modelled": measures.get("Pr(CM), modelled"),
        "cm_given_um": measures.get("Pr(CM | UM)"),
        "expected_reidentifications": None if individual is None else individual["expected_reidentifications"],
    }
