"""Identification risk: `gemel.risk.identify`, and the measures of single records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from gemel.common.errors import parameter
from gemel.records.frames import Records
from gemel.risk.identification.assessment.record_assessment import assess_records
from gemel.risk.identification.coding import Missing
from gemel.risk.identification.file_level import Dis, file_dis
from gemel.risk.identification.individual_risk import implied_fraction, individual_risk
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.model_choice import ModelChoice, choose_model
from gemel.risk.identification.matching.bayesian_matching import Method
from gemel.risk.identification.misclassification import Perturbation, Stated
from gemel.risk.identification.reader import BesideColumns, read_key_file, read_theta, read_weights, stated_matrix
from gemel.risk.identification.suda import minimal_uniques
from gemel.risk.identification.suda_ranking import suda_scores
from gemel.risk.library.tables import RiskAssessment
from gemel.risk.record_table import record_table

Theta = Mapping[str, Stated] | Sequence[str | Path] | str | Path
"""Misclassification matrices by key, or files of them: YAML, JSON, or ``KEY=FILE.csv``."""


def key_file(
    records: Records,
    keys: Sequence[str],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    missing: Missing = "level",
) -> KeyFile:
    """The key variables of records, as the measures of identification take them.

    Parameters
    ----------
    records
        A table, or the path of a CSV, Parquet, Stata, SPSS or SAS file.
    keys
        What an intruder may know.
    fraction
        Share of the population that the records are; with the population it may be left out.
    population
        The same columns of the whole population.
    missing
        ``level``: a missing value is a value of its own; ``any``: it agrees with all.

    Raises
    ------
    GemelError
        FIELD_MISSING; PARAMETER for a fraction that is none, or a population that cannot hold the records.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "town": ["Ely", "Ely", "Bath"]})
    >>> key_file(people, ["sex", "town"], fraction=0.1).sizes.tolist()
    [2, 1]
    """
    return read_key_file(records, keys, fraction, population=population, missing=missing)


def identify(
    records: Records,
    keys: Sequence[str] | Sequence[Sequence[str]],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    missing: Missing = "level",
    missing_values: Sequence[str] = ("", "NA"),
    weights: str | None = None,
    unit: str | None = None,
    unit_keys: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    ordinal: Sequence[str] = (),
    numeric: Sequence[str] = (),
    original: Records | None = None,
    swapped: Mapping[str, float] | None = None,
    theta: Theta = (),
    target: float | None = None,
    max_msu: int | None = None,
    models: Method = "default",
    listed: bool = True,
    seed: int = 1,
) -> RiskAssessment:
    """Identification risk: how likely it is that people of the records are recognised; as `gemel risk identify`.

    Parameters
    ----------
    keys
        What an intruder may know; or several such key sets, which are assessed alike and compared.
    missing_values
        Texts that mean missing.
    weights
        Column of survey weights, from which the fraction follows where it is not given.
    unit, unit_keys
        Column of the unit that a record belongs to, such as a household; what an intruder may know of a whole unit.
    sensitive, ordinal
        Sensitive variables, for l-diversity and t-closeness; those whose values have an order.
    numeric, original
        Numeric variables that were perturbed, and the same records before, in the same order.
    swapped
        Keys whose values were swapped, and the share of records that were.
    theta
        Misclassification matrices: for each key, for each true level, what is observed with which probability; or files
        of them as the command takes them.
    target
        Expected correct matches, as a share of the records, that a recoding is to bring about.
    max_msu
        Most keys of a special unique.
    models
        Search for models: ``default``, ``exact``, ``mc3``, ``annealing`` or ``occam``.
    listed
        List the records of highest risk.

    Raises
    ------
    GemelError
        FIELD_MISSING; PARAMETER for keys, fractions, weights or matrices that are none; SOURCE for files and values.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame(
    ...     {
    ...         "sex": ["f", "f", "m", "m", "f", "m"],
    ...         "town": ["Ely", "Ely", "Ely", "Bath", "Bath", "Bath"],
    ...         "household": [1, 1, 1, 2, 2, 3],
    ...         "illness": ["flu", "none", "none", "none", "flu", "none"],
    ...     }
    ... )
    >>> found = identify(people, ["sex", "town"], 0.1, unit="household", sensitive=["illness"])
    >>> found["file"]["uniques"], found["unit_risk"]["units"]
    (2, 3)
    >>> found["privacy_models"]["sensitive"][0]["l_distinct"]
    1.0
    >>> [row["keys"] for row in identify(people, [["sex"], ["sex", "town"]], 0.1)["comparison"]]
    [['sex'], ['sex', 'town']]
    """
    document = assess_records(
        records,
        _key_sets(keys),
        fraction,
        population=population,
        missing=missing,
        missing_values=missing_values,
        weights=weights,
        beside=BesideColumns(sensitive, ordinal, unit, unit_keys, numeric, original),
        perturbation=Perturbation(swapped or {}, _matrices(theta)),
        max_msu=max_msu,
        models=models,
        target=target,
        listed=listed,
        seed=seed,
    )
    return RiskAssessment(document, "Identification risk", "identification")


def suda(
    records: Records,
    keys: Sequence[str],
    fraction: float = 1.0,
    *,
    max_msu: int | None = None,
    missing: Missing = "level",
) -> pl.DataFrame:
    """Special uniques: each record's minimal sample uniques and its scores.

    Returns
    -------
    polars.DataFrame
        A row for each record in its order: ``minimal_uniques`` (how many sets of keys single it out, none of them
        within another), the scores ``suda`` (of 2002) and ``is_score``, and these calibrated to DIS under the sampling
        fraction, ``dis_suda`` and ``dis_is``: an approximate chance of a correct match. 0 where a record is not
        unique.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "town": ["Ely", "Ely", "Bath"]})
    >>> suda(people, ["sex", "town"])["minimal_uniques"].to_list()
    [0, 0, 2]
    """
    file = key_file(records, keys, fraction, missing=missing)
    found = minimal_uniques(file, max_msu)
    counts = np.zeros(file.n_records, dtype=np.int64)
    counts[found.uniques] = np.diff(found.offsets)
    of_2002, of_is = suda_scores(file, "suda", max_msu, found), suda_scores(file, "is", max_msu, found)
    return pl.DataFrame(
        {
            "minimal_uniques": counts,
            "suda": of_2002.scores,
            "is_score": of_is.scores,
            "dis_suda": of_2002.dis_scores,
            "dis_is": of_is.dis_scores,
        }
    )


def dis(records: Records, keys: Sequence[str], fraction: float, *, missing: Missing = "level") -> Dis:
    """Data intrusion simulation: the chance that a unique match of an intruder is correct, with its interval.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"town": ["Ely", "Ely", "Bath", "Ryde", "Ryde", "Wells"]})
    >>> round(dis(people, ["town"], fraction=0.5).value, 3)
    0.333
    """
    return file_dis(key_file(records, keys, fraction, missing=missing))


def log_linear(
    records: Records, keys: Sequence[str], fraction: float, *, criterion: Literal["B1", "B2"] = "B2"
) -> ModelChoice:
    """Log-linear models of the keys: the expected numbers of population uniques and of correct matches.

    Parameters
    ----------
    criterion
        Which error of the risk measures chooses the model.

    Notes
    -----
    Skinner and Shlomo (2008); each model's figures are in ``models``.
    """
    return choose_model(key_file(records, keys, fraction), criterion)


def individual(records: Records, keys: Sequence[str], weights: str) -> pl.Series:
    """Each record's risk of being recognised, by its survey weight (Benedetti and Franconi)."""
    table = record_table(records, "records")
    people = read_weights(table, weights)
    file = key_file(table, keys, implied_fraction(people, f"{table}, column {weights}"))
    return pl.Series("risk", individual_risk(file, people).records)


def _key_sets(keys: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """One set of names, or several."""
    if isinstance(keys, str):
        return [[keys]]
    if all(isinstance(key, str) for key in keys):
        return [[str(key) for key in keys]]
    if any(isinstance(names, str) for names in keys):
        raise parameter(
            "keys",
            "keys are names, or lists of names for several key sets",
            "names beside lists",
            "write a key set of one variable as a list too",
        )
    return [list(names) for names in keys]


def _matrices(theta: Theta) -> dict[str, Stated]:
    if isinstance(theta, Mapping):
        return {name: stated_matrix(own, f"theta, {name}") for name, own in theta.items()}
    return read_theta([str(path) for path in ([theta] if isinstance(theta, str | Path) else theta)])
