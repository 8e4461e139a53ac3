"""The value of a disclosure measure, and its entry in the document with its limit and its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import parameter
from gemel.common.specification.model.assessment import PublishedTable

CONFIDENCE = 0.95
"""Confidence of every interval."""

ROUNDING = 1e-10
"""By how much a measure may pass its limit: what rounding adds, and no one would set a limit for."""


@dataclass(frozen=True)
class Measure:
    value: float
    method: str
    lower: float | None = None
    upper: float | None = None
    no_interval: str = ""
    limits_value: bool = False

    @property
    def judged(self) -> float:
        """What is compared with the limit: the upper end of the interval, or the value."""
        return self.value if self.upper is None or self.limits_value else self.upper


@dataclass(frozen=True)
class Disclosure:
    """One kind of risk: its measures by name, what the document says of it, ready for JSON, and warnings."""

    measures: Mapping[str, Measure] = field(default_factory=dict)
    document: Any = field(default_factory=dict)
    warnings: tuple[ResultWarning, ...] = ()


def excess(judged: float, limit: float) -> float:
    """By how much a measure is above its limit; 0 where only rounding takes it there."""
    return judged - limit if judged > limit + ROUNDING else 0.0


def entry(name: str, measure: Measure, limit: float | None, earlier: float | None) -> dict[str, Any]:
    """The measure in the document, assessed together with the largest of the earlier releases."""
    judged = measure.judged if earlier is None else max(measure.judged, earlier)
    facts = MEASURES[name]
    if measure.upper is None and not measure.no_interval:
        what = "expected the interval of the value, or why it needs none"
        raise parameter(f"measure {name}", what, "neither", "give lower and upper, or no_interval")
    return {
        "value": measure.value,
        "lower": measure.lower,
        "upper": measure.upper,
        "interval": None if measure.upper is None else CONFIDENCE,
        "no_interval": None if measure.upper is not None else measure.no_interval,
        "judged": judged,
        "earlier": earlier,
        "limit": limit,
        "breached": limit is not None and excess(judged, limit) > 0.0,
        "intruder": facts.intruder,
        "words": facts.words(measure.value),
        "method": measure.method,
    }


# Accumulated risk: a release is assessed together with all earlier releases of its project.


@dataclass(frozen=True)
class Accumulated:
    releases: int
    largest: Mapping[str, float]
    tables: tuple[PublishedTable, ...]
    warnings: tuple[ResultWarning, ...]

    def over(self, variables: Sequence[str]) -> Accumulated:
        """The same with only the tables that some variables have."""
        return replace(self, tables=tuple(table for table in self.tables if set(table.variables) <= set(variables)))


def accumulated(reports: Sequence[Mapping[str, Any]], variables: Sequence[str]) -> Accumulated:
    largest: dict[str, float] = {}
    tables: list[PublishedTable] = []
    gone: set[str] = set()
    for report in reports:
        for name, entry in report["measures"].items():
            if name in MEASURES and MEASURES[name].accumulates:
                largest[name] = max(largest.get(name, 0.0), float(entry["judged"]))
        for table in report["tables"]:
            names = tuple(table["variables"])
            if lost := set(names) - set(variables):
                gone |= lost
                continue
            made = PublishedTable(variables=names, protection=table["protection"], base=table["base"])
            if made not in tables:
                tables.append(made)
    warnings: tuple[ResultWarning, ...] = ()
    if gone:
        warnings = (result_warning("earlier_tables_left_out", variables=", ".join(sorted(gone))),)
    return Accumulated(len(reports), largest, tuple(tables), warnings)
