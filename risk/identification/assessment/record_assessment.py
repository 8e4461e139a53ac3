"""The assessment of records by one or several key sets: what `gemel risk identify` and `gemel.risk.identify` do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gemel.common.frames import Records
from gemel.common.progress import Progress
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.assessment.scenarios import check_changed, check_key_sets, compared
from gemel.risk.identification.coding import Missing
from gemel.risk.identification.matching.bayesian_matching import Method
from gemel.risk.identification.misclassification.matrices import Perturbation
from gemel.risk.identification.reader import read_beside, read_key_file, read_weights
from gemel.risk.identification.survey_weights import implied_fraction
from gemel.risk.record_table import record_table


@dataclass(frozen=True)
class BesideColumns:
    """Names of columns beside the keys, as `read_beside` has them, and the records before protection."""

    sensitive: Sequence[str] = ()
    ordinal: Sequence[str] = ()
    unit: str | None = None
    unit_keys: Sequence[str] = ()
    numeric: Sequence[str] = ()
    original: Records | None = field(default=None, repr=False)


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
    progress: Progress = lambda stage, fraction: None,
) -> dict[str, Any]:
    """Assess records by each key set, and compare the assessments where there are several.

    Parameters
    ----------
    records, population
        Files or tables; see `record_table`.
    key_sets
        What an intruder may know.
    fraction
        Sampling fraction; by default that of the population, or what the weights imply.
    weights
        Column of survey weights.
    beside
        Columns beside the keys.
    perturbation, max_msu, models, target, listed, seed, progress
        As for `assess`, where `target` is `selected` and `listed` is `records`.

    Returns
    -------
    dict
        As of `assess`, or of `compared`.
    """
    columns = beside or BesideColumns()
    changed = perturbation or Perturbation()
    table = record_table(records, "records")
    people = None if weights is None else read_weights(table, weights)
    fraction_from: Literal["given", "population", "weights"] = "given"
    if fraction is None and population is not None:
        fraction_from = "population"
    elif fraction is None and people is not None:
        fraction, fraction_from = implied_fraction(people, f"{table}, column {weights}"), "weights"
    known = read_beside(
        table,
        sensitive=columns.sensitive,
        ordinal=columns.ordinal,
        unit=columns.unit,
        unit_keys=columns.unit_keys,
        fraction_from=fraction_from,
        numeric=columns.numeric,
        original=columns.original,
        labels_of=[name for names in key_sets for name in names],
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
