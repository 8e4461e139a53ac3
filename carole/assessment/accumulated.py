"""Accumulated risk: a release is assessed together with all earlier releases of its project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.specification.model.assessment import PublishedTable


@dataclass(frozen=True)
class Accumulated:
    """Risk that earlier releases add."""

    releases: int
    largest: Mapping[str, float]
    tables: tuple[PublishedTable, ...]
    warnings: tuple[ResultWarning, ...]

    def over(self, variables: Sequence[str]) -> Accumulated:
        """The same with only the tables that some variables have."""
        return replace(self, tables=tuple(table for table in self.tables if set(table.variables) <= set(variables)))


def accumulated(reports: Sequence[Mapping[str, Any]], variables: Sequence[str]) -> Accumulated:
    """Collect the results of earlier reports.

    Parameters
    ----------
    reports
        Documents of the releases so far, oldest first.
    variables
        Names of the variables of the combined output now.
    """
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
