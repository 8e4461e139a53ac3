"""The risk library as a statistician calls it: tables or files in, a result that shows itself out.

Thin: each function reads its records (polars, pandas or Arrow tables, or the files that `tryst risk` reads) and calls
what the command of its name calls, so that both have the same numbers. They are public as `tryst.risk.identify` and so
on; the modules beneath have more options.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.frames import Records, frame_of
from tryst.common.missing_module import missing_module
from tryst.common.records.typed_table import read_records
from tryst.common.shown_report import Report
from tryst.risk.identification.assessment.beside_keys import BesideKeys
from tryst.risk.identification.assessment.file_assessment import assess
from tryst.risk.identification.coding import Missing
from tryst.risk.identification.file_level import Dis, file_dis
from tryst.risk.identification.individual_risk import individual_risk
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.loglinear.model_choice import ModelChoice, choose_model
from tryst.risk.identification.reader import whole_of
from tryst.risk.identification.special_uniques.suda import minimal_uniques
from tryst.risk.identification.special_uniques.suda_ranking import suda_scores
from tryst.risk.identification.survey_weights import check_weights, implied_fraction
from tryst.risk.magnitude.assessment import assess as assess_magnitude
from tryst.risk.magnitude.reader import tables_of
from tryst.risk.magnitude.rules import MinimumFrequency, PriorPosterior, Rule
from tryst.risk.protection.methods import Levels, Methods
from tryst.risk.protection.policy import Policy
from tryst.risk.protection.protected_file import Protected
from tryst.risk.protection.protected_file import protect as protect_file
from tryst.risk.protection.request import Request

Release = str | Path


@dataclass(frozen=True)
class RiskAssessment:
    """An assessment: its figures, and the report.

    Attributes
    ----------
    document
        What the command of its name writes as JSON: plain dictionaries and lists. As confidential as the records.
    """

    document: dict[str, Any] = field(repr=False)
    _title: str
    _render: Callable[[], Callable[[Mapping[str, Any]], str]] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        """A section of the document."""
        return self.document[name]

    def report(self) -> Report:
        """The report that the command writes with --out.

        Raises
        ------
        TrystError
            MODULE_MISSING without the extra ``report``.
        """
        try:
            render = self._render()
        except ModuleNotFoundError as error:
            raise missing_module(error) from None
        return Report(self._title, render(self.document))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


@dataclass(frozen=True)
class ProtectedFile:
    """Protected records, the log that may go with them, and what the change did to risk and utility.

    Attributes
    ----------
    frame : polars.DataFrame
        What may be published.
    log
        Every change by its method and parameters.
    assessment
        Risk and utility before and after; describes the original too.
    """

    frame: pl.DataFrame = field(repr=False)
    log: dict[str, Any] = field(repr=False)
    assessment: RiskAssessment

    @property
    def risk(self) -> pl.DataFrame:
        """The measures of risk before and after: columns ``measure``, ``before``, ``after``.

        Null where a measure needs what was not given, such as the population.
        """
        before, after = self.assessment["before"], self.assessment["after"]
        figures = [[None if of[name] is None else float(of[name]) for name in before] for of in (before, after)]
        names = pl.Series("measure", list(before))
        return pl.DataFrame(
            [names, *(pl.Series(n, v, pl.Float64) for n, v in zip(("before", "after"), figures, strict=True))]
        )

    def _repr_html_(self) -> str:
        return self.assessment._repr_html_()


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
    TrystError
        FIELD_MISSING; PARAMETER for a fraction that is none, or a population that cannot hold the records.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "town": ["Ely", "Ely", "Bath"]})
    >>> key_file(people, ["sex", "town"], fraction=0.1).sizes.tolist()
    [2, 1]
    """
    return KeyFile.from_columns(
        _columns(records, keys, "records").to_dict(),
        fraction,
        population=None if population is None else _columns(population, keys, "population").to_dict(),
        missing=missing,
    )


def identify(
    records: Records,
    keys: Sequence[str],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    missing: Missing = "level",
    weights: str | None = None,
    max_msu: int | None = None,
    seed: int = 1,
) -> RiskAssessment:
    """Identification risk: how likely it is that people of the records are recognised; as `tryst risk identify`.

    Parameters
    ----------
    weights
        Column of survey weights, from which the fraction follows where it is not given.
    max_msu
        Most keys of a special unique.
    seed
        Of the search for models.
    records, keys, fraction, population, missing
        As for `key_file`.
    """
    people: NDArray[np.float64] | None = None
    fraction_from: Literal["given", "population", "weights"] = "given"
    if weights is not None:
        column = _columns(records, [weights], "records")[weights].cast(pl.Float64, strict=False)
        people = check_weights(column.to_numpy(), f"records, column {weights}")
    if fraction is None and population is not None:
        fraction_from = "population"
    elif fraction is None and people is not None:
        fraction, fraction_from = implied_fraction(people, f"records, column {weights}"), "weights"
    rows, n_columns = whole_of(_columns(records, None, "records"))
    document = assess(
        key_file(records, keys, fraction, population=population, missing=missing),
        max_msu=max_msu,
        seed=seed,
        weights=people,
        beside=BesideKeys(fraction_from=fraction_from, rows=rows, n_columns=n_columns),
    )
    return RiskAssessment(document, "Identification risk", _identification_report)


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
    column = _columns(records, [weights], "records")[weights].cast(pl.Float64, strict=False)
    people = check_weights(column.to_numpy(), f"records, column {weights}")
    file = key_file(records, keys, implied_fraction(people, f"records, column {weights}"))
    return pl.Series("risk", individual_risk(file, people).records)


def protect(
    records: Records,
    keys: Sequence[str],
    fraction: float,
    *,
    policy: Policy | None = None,
    levels: Levels | None = None,
    methods: Methods | None = None,
    missing: Missing = "level",
    weights: str | None = None,
    drop: Sequence[str] = (),
    frontier: bool = True,
    seed: int | None = None,
) -> ProtectedFile:
    """The smallest change of records that meets a policy; as `tryst risk protect`.

    Parameters
    ----------
    policy
        Limits: ``tryst.risk.Policy(k=3, max_correct_matches=0.02)``.
    levels, methods
        How keys are coarsened, and what else changes: `tryst.risk.Levels`, `tryst.risk.Methods`.
    drop
        Columns that are not published.
    frontier
        Try other limits too, to show what they would cost.
    seed
        Of random methods, for trials: whoever knows it can undo them.

    Raises
    ------
    TrystError
        PARAMETER where no candidate meets the policy.
    """
    request = Request(
        tuple(keys),
        fraction,
        policy or Policy(),
        levels or Levels(),
        methods or Methods(),
        missing=missing,
        weights=weights,
        dropped=tuple(drop),
    )
    generator = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    made: Protected = protect_file(_columns(records, None, "records"), request, generator, frontier=frontier)
    return ProtectedFile(made.frame, made.log, RiskAssessment(made.report, "Protection", _protection_report))


def magnitude_tables(
    records: Records,
    by: Sequence[Sequence[str]],
    value: str,
    *,
    unit: str | None = None,
    weights: str | None = None,
    rules: Sequence[Rule] = (),
) -> RiskAssessment:
    """Tables of sums: which cells are risky, which are suppressed with them, and what attackers still learn;
    as `tryst risk magnitude`.

    Parameters
    ----------
    by
        Variables of each table.
    value
        The column that is added up.
    unit
        The column that says whose a record is; by default each record is its own contributor.
    rules
        By default at least 3 contributors, and the 10 % rule, as the command has.
    """
    variables = dict.fromkeys(name for table in by for name in table)
    names = [*variables, value, *([unit] if unit else []), *([weights] if weights else [])]
    read = tables_of(_columns(records, names, "records"), by, value, "records", unit=unit, weights=weights)
    chosen = tuple(rules) or (MinimumFrequency(3), PriorPosterior(10.0))
    document = assess_magnitude(read.tables, read.found, chosen)
    document |= {"records": read.records, "value": value, "unit": unit, "weights": weights}
    return RiskAssessment(document, "Tables of sums", _magnitude_report)


def tables(release: Release, *, seconds: float = 60.0, known: int | None = None, seed: int = 1) -> RiskAssessment:
    """What released tables of counts disclose: bounds, statements and subtraction attribution; as `tryst risk tables`.

    Parameters
    ----------
    release
        The release's file: JSON, or CSV of one table.
    seconds
        Time allowed for the bounds.
    known
        People whom an attacker knows, up to whom the SAP is drawn.
    """
    from tryst.risk.attribution.reader import read_release
    from tryst.risk.attribution.table_assessment import assess as assess_tables

    document = assess_tables(read_release(Path(release)), seconds=seconds, known=known, seed=seed)
    return RiskAssessment(document, "Attribution risk of tables", _attribution_report)


def _columns(records: Records, names: Sequence[str] | None, where: str) -> pl.DataFrame:
    if isinstance(records, str | Path):
        return read_records(Path(records), names)
    frame = frame_of(records, where)
    if names is None:
        return frame
    if absent := [name for name in names if name not in frame.columns]:
        raise TrystError(
            ErrorCode.FIELD_MISSING,
            f"there is no column {', '.join(absent)}",
            where=where,
            remedy=f"its columns are: {', '.join(frame.columns)}",
        )
    return frame.select(list(dict.fromkeys(names)))


def _identification_report() -> Callable[[Mapping[str, Any]], str]:
    from tryst.risk.identification.report import render

    return render


def _protection_report() -> Callable[[Mapping[str, Any]], str]:
    from tryst.risk.protection.report import render

    return render


def _magnitude_report() -> Callable[[Mapping[str, Any]], str]:
    from tryst.risk.magnitude.report import render

    return render


def _attribution_report() -> Callable[[Mapping[str, Any]], str]:
    from tryst.risk.attribution.report import render

    return render
