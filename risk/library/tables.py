"""Tables of sums and of counts: `gemel.risk.magnitude_tables` and `tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gemel.common.records.frames import Records
from gemel.risk.library.results import RiskAssessment
from gemel.risk.magnitude.assessment import assess as assess_magnitude
from gemel.risk.magnitude.reader import tables_of
from gemel.risk.magnitude.rules import MinimumFrequency, PriorPosterior, Rule
from gemel.risk.record_table import record_table

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
    read = tables_of(record_table(records, "records").columns(names), by, value, "records", unit=unit, weights=weights)
    chosen = tuple(rules) or (MinimumFrequency(3), PriorPosterior(10.0))
    document = assess_magnitude(read.tables, read.found, chosen)
    document |= {"records": read.records, "value": value, "unit": unit, "weights": weights}
    return RiskAssessment(document, "Tables of sums", _magnitude_report)


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
    return RiskAssessment(document, "Attribution risk of tables", _attribution_report)


def _magnitude_report() -> Callable[[Mapping[str, Any]], str]:
    from gemel.risk.magnitude.report import render

    return render


def _attribution_report() -> Callable[[Mapping[str, Any]], str]:
    from gemel.risk.attribution.report import render

    return render
