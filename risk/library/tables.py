"""Tables of sums and of counts: `gemel.risk.magnitude_tables` and `tables`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gemel.common.missing_module import missing_module
from gemel.common.terminal.output import Report
from gemel.records.frames import Records
from gemel.risk.identification.coding import Missing
from gemel.risk.magnitude.assessment import assess as assess_magnitude
from gemel.risk.magnitude.reader import read_tables
from gemel.risk.magnitude.rules import MinimumFrequency, PriorPosterior, Rule
from gemel.risk.protection.changes import Levels, Methods
from gemel.risk.protection.policy import Policy
from gemel.risk.protection.protected_file import protect as protect_file
from gemel.risk.protection.request import Request, sampling_fraction
from gemel.risk.record_table import record_table


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
    _report: str = field(repr=False)  # the module of `gemel.risk.report` that renders it

    def __getitem__(self, name: str) -> Any:
        return self.document[name]

    def report(self) -> Report:
        """The report that the command writes with --out.

        Raises
        ------
        GemelError
            MODULE_MISSING without the extra ``report``.
        """
        try:
            page = import_module(f"gemel.risk.report.{self._report}")
        except ModuleNotFoundError as error:
            raise missing_module(error) from None
        return Report(self._title, page.render(self.document))

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

        Those by a population, which are exact, begin with ``exact_``; without one they are null. Those that begin with
        ``upper_`` are upper ends, by which a policy without k is judged too.
        """
        before, after = (_figures(self.assessment[when]) for when in ("before", "after"))
        names = pl.Series("measure", list(before))
        columns = (pl.Series(n, list(of.values()), pl.Float64) for n, of in (("before", before), ("after", after)))
        return pl.DataFrame([names, *columns])

    def _repr_html_(self) -> str:
        return self.assessment._repr_html_()


def _figures(measures: Mapping[str, Any]) -> dict[str, float | None]:
    parts = ("exact", "upper")
    found = {name: None if value is None else float(value) for name, value in measures.items() if name not in parts}
    exact = measures["exact"] or dict.fromkeys(("correct_matches", "record_risk", "population_uniques"))
    found |= {f"exact_{name}": None if value is None else float(value) for name, value in exact.items()}
    return found | {f"upper_{name}": float(measures["upper"][name]) for name in ("correct_matches", "record_risk")}


Release = str | Path


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
    as `gemel risk magnitude`.

    Parameters
    ----------
    value
        The column that is added up.
    unit
        The column that says whose a record is; by default each record is its own contributor.
    rules
        By default at least 3 contributors, and the 10 % rule, as the command has.
    """
    read = read_tables(record_table(records, "records"), by, value, unit=unit, weights=weights)
    chosen = tuple(rules) or (MinimumFrequency(3), PriorPosterior(10.0))
    document = assess_magnitude(read.tables, read.found, chosen)
    document |= {"records": read.records, "value": value, "unit": unit, "weights": weights}
    return RiskAssessment(document, "Tables of sums", "magnitude")


def tables(release: Release, *, seconds: float = 60.0, known: int | None = None, seed: int = 1) -> RiskAssessment:
    """What released tables of counts disclose: bounds, statements and subtraction attribution; as `gemel risk tables`.

    Parameters
    ----------
    release
        The release's file: JSON, or CSV of one table.
    seconds
        Time allowed for the bounds.
    known
        People whom an attacker knows, up to whom the SAP is drawn.
    """
    from gemel.risk.attribution.reader import read_release
    from gemel.risk.attribution.table_assessment import assess as assess_tables

    document = assess_tables(read_release(Path(release)), seconds=seconds, known=known, seed=seed)
    return RiskAssessment(document, "Attribution risk of tables", "attribution")


def protect(
    records: Records,
    keys: Sequence[str],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    policy: Policy | None = None,
    levels: Levels | None = None,
    methods: Methods | None = None,
    missing: Missing = "level",
    missing_values: Sequence[str] = ("", "NA"),
    importance: Mapping[str, float] | None = None,
    weights: str | None = None,
    numbers: Sequence[str] = (),
    drop: Sequence[str] = (),
    frontier: bool = True,
    seed: int | None = None,
) -> ProtectedFile:
    """The smallest change of records that meets a policy; as `gemel risk protect`.

    Parameters
    ----------
    fraction
        Sampling fraction, 1 if an intruder may know who is in the file; not with a population.
    population
        The keys of the whole population: risk is then exact, and the policy by that.
    levels, methods
        How keys are coarsened, and what else changes: `gemel.risk.Levels`, `gemel.risk.Methods`.
    missing, missing_values
        What a missing or suppressed value agrees with: ``any`` value, or a ``level`` of its own; texts that mean it.
    importance
        What a key is worth, 1 if it is not named.
    numbers
        Numeric columns to compare before and after.
    drop
        Columns that are not published.
    frontier
        Try other limits too, to show what they would cost.
    seed
        Of random methods, for trials: whoever knows it can undo them.

    Raises
    ------
    GemelError
        PARAMETER where no candidate meets the policy, or neither or both of `fraction` and `population` are given.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["Ely", "Ely", "Ely", "Bath"]})
    >>> everyone = pl.concat([people, people])
    >>> made = protect(people, ["sex", "town"], population=everyone, policy=Policy(k=2), frontier=False)
    >>> made.risk.filter(pl.col("measure") == "exact_correct_matches").row(0)
    ('exact_correct_matches', 0.375, 0.25)
    """
    table = record_table(records, "records").columns()
    whole = None if population is None else record_table(population, "population").columns(keys)
    request = Request(
        tuple(keys),
        sampling_fraction(fraction, table.height, None if whole is None else whole.height),
        policy or Policy(),
        levels or Levels(),
        methods or Methods(),
        missing=missing,
        missing_values=tuple(missing_values),
        importance=importance or {},
        weights=weights,
        numbers=tuple(numbers),
        dropped=tuple(drop),
    )
    generator = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    made = protect_file(table, request, generator, population=whole, frontier=frontier)
    return ProtectedFile(made.frame, made.log, RiskAssessment(made.report, "Protection", "protection"))
