"""The assessment of records by one or several key sets: what `gemel risk identify` and `gemel.risk.identify` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gemel.common.errors import parameter
from gemel.common.progress import Progress, silent
from gemel.records.frames import Records
from gemel.risk.identification.assessment.beside_keys import FractionFrom
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.coding import Missing
from gemel.risk.identification.individual_risk import implied_fraction
from gemel.risk.identification.matching.bayesian_matching import Method
from gemel.risk.identification.misclassification import Perturbation
from gemel.risk.identification.reader import BesideColumns, read_beside, read_key_file, read_weights
from gemel.risk.record_table import record_table


def check_key_sets(key_sets: Sequence[Sequence[str]]) -> None:
    seen: set[frozenset[str]] = set()
    for number, keys in enumerate(key_sets, 1):
        if frozenset(keys) in seen:
            raise parameter(
                "--keys",
                "two key sets are of the same variables",
                f"set {number}: {', '.join(keys)}",
                "give each set once",
            )
        seen.add(frozenset(keys))


def check_changed(names: Sequence[str], key_sets: Sequence[Sequence[str]]) -> None:
    unknown = [name for name in names if not any(name in keys for keys in key_sets)]
    if unknown:
        raise parameter(
            "--swapped, --theta",
            f"there is no key variable {', '.join(unknown)}",
            remedy=f"the key variables are: {', '.join(dict.fromkeys(k for keys in key_sets for k in keys))}",
        )


def compared(assessments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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


def assess_records(
    records: Records,
    key_sets: Sequence[Sequence[str]],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    missing: Missing = "level",
    missing_values: Sequence[str] = ("", "NA"),
    weights: str | None = None,
    beside: BesideColumns | None = None,
    perturbation: Perturbation | None = None,
    max_msu: int | None = None,
    models: Method = "default",
    target: float | None = None,
    listed: bool = True,
    seed: int = 1,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Assess records by each key set, and compare the assessments where there are several."""
    changed = perturbation or Perturbation()
    table = record_table(records, "records")
    people = None if weights is None else read_weights(table, weights)
    fraction_from: FractionFrom = "given"
    if fraction is None and population is not None:
        fraction_from = "population"
    elif fraction is None and people is not None:
        fraction, fraction_from = implied_fraction(people, f"{table}, column {weights}"), "weights"
    known = read_beside(
        table, beside or BesideColumns(), fraction_from, labels_of=[name for names in key_sets for name in names]
    )
    check_key_sets(key_sets)
    check_changed(changed.names, key_sets)
    files = [
        read_key_file(
            table,
            names,
            fraction,
            population=population,
            missing=missing,
            missing_values=missing_values,
            perturbed=bool(changed),
        )
        for names in key_sets
    ]
    assessments = [
        assess(
            known.with_units(file),
            max_msu=max_msu,
            models=models,
            seed=seed,
            weights=people,
            perturbation=changed.only(file.names),
            selected=target,
            records=listed,
            beside=known,
            progress=progress,
        )
        for file in files
    ]
    return assessments[0] if len(assessments) == 1 else compared(assessments)
