"""What the functions of the library return: figures that show themselves as a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from gemel.common.missing_module import missing_module
from gemel.common.terminal.output import Report


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
        GemelError
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
