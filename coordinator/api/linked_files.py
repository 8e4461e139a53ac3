"""Two files that were linked in one process: links, probabilities, draws, model, charts and report."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from gemel.common.documents.evaluation_document import EvaluationDocument
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.language import LanguageCode
from gemel.common.parties import Side
from gemel.common.records.frames import Records
from gemel.common.specification import Specification
from gemel.coordinator.api.frames import table_of
from gemel.coordinator.rehearsal.link_truth import evaluate
from gemel.coordinator.truth_columns import Truth

if TYPE_CHECKING:
    import altair as alt

    from gemel.common.terminal.output import Report
    from gemel.coordinator.reports.linkage import ReportContent


@dataclass(frozen=True)
class LinkedFiles:
    """The result of `gemel.link`.

    Attributes
    ----------
    specification
        What was linked by.
    pairs : polars.DataFrame
        Every pair that came near to a link, the most probable first: columns ``alice`` and ``bob`` (the identifiers of
        the two records, as text), ``link_probability`` (that they are of one person) and ``linked``.
    draws : polars.DataFrame or None
        Where the specification has `release: draws`, a row for each link of each drawn linkage: ``draw`` (from 0),
        ``alice``, ``bob``, ``link_probability``.
    statistics
        The fitted model, the decision in numbers and the time taken: ``statistics.model`` and
        ``statistics.linkage`` are what a rehearsal writes as ``model.json`` and ``linkage.json``.
    """

    specification: Specification = field(repr=False)
    pairs: pl.DataFrame = field(repr=False)
    draws: pl.DataFrame | None = field(repr=False)
    statistics: StatisticsDocument = field(repr=False)

    @property
    def links(self) -> pl.DataFrame:
        """The pairs that were decided to be links: columns ``alice``, ``bob``, ``link_probability``."""
        return self.pairs.filter("linked").drop("linked")

    @property
    def warnings(self) -> list[ResultWarning]:
        """What a reader of the results must know, the most serious first."""
        return self.statistics.warnings

    def evaluate(self, a: Records, b: Records, truth: str | tuple[str, str]) -> EvaluationDocument:
        """Judge the links by the truth.

        Parameters
        ----------
        a, b
            The two files again, with a column that names the person: equal for the same one.
        truth
            Its name, or the names in Alice's file and in Bob's.

        Raises
        ------
        GemelError
            FIELD_MISSING; SPECIFICATION if the specification links by the truth, which would prove nothing.
        """
        columns = Truth(*((truth, truth) if isinstance(truth, str) else truth))
        columns.require_unused(self.specification)
        persons = []
        for side, records in zip(Side, (a, b), strict=True):
            own, person = self.specification.custodians.of(side).identifier, columns.of(side)
            frame = table_of(records, [own, person], f"{side}'s records").frame
            persons.append(frame.select(pl.col(own).alias("identifier"), pl.col(person).alias("person")))
        return evaluate(self.links, self.pairs, persons[0], persons[1])

    def report(self, evaluation: EvaluationDocument | None = None, language: LanguageCode = "en") -> Report:
        """The report that a rehearsal writes: shown in a notebook, or written to a file.

        Parameters
        ----------
        evaluation
            What `evaluate` gave, where the truth is known.
        language
            Of the report: en, de or fr.

        Raises
        ------
        GemelError
            MODULE_MISSING without the extra ``report``.
        """
        from gemel.common.missing_module import missing_module

        try:
            from gemel.common.terminal.output import Report
            from gemel.coordinator.reports.linkage import render_report
        except ModuleNotFoundError as error:
            raise missing_module(error) from None
        return Report(f"Linkage {self.specification.project}", render_report(self._content(evaluation), language))

    def charts(self, evaluation: EvaluationDocument | None = None) -> dict[str, alt.TopLevelMixin]:
        """The report's charts by name, such as ``weights``, ``levels`` and ``histogram``, as Altair objects."""
        from gemel.common.missing_module import missing_module

        try:
            from gemel.coordinator.reports.linkage import charts_of
        except ModuleNotFoundError as error:
            raise missing_module(error) from None
        return {name: chart.drawing for name, (chart, _) in charts_of(self._content(evaluation)).items()}

    def _content(self, evaluation: EvaluationDocument | None) -> ReportContent:
        from gemel.coordinator.rehearsal.output_folder import report_content

        return report_content(self.specification, self.statistics, evaluation)

    @property
    def _figures(self) -> list[tuple[str, str]]:
        linkage = self.statistics.linkage
        rows = [
            ("links", f"{linkage.links:,}"),
            ("threshold", f"link probability of {linkage.threshold:.3g} or more"),
            ("pairs compared", f"{linkage.candidates:,} of {linkage.pairs:,}"),
        ]
        if linkage.expected is not None:
            rows.append(("precision that the model expects", f"{linkage.expected.precision:.3f}"))
            rows.append(("recall among compared pairs that it expects", f"{linkage.expected.recall:.3f}"))
        return rows + [(warning.code, warning.text) for warning in self.warnings]

    def __repr__(self) -> str:
        linkage = self.statistics.linkage
        return f"<{linkage.links:,} links of project {self.specification.project}, {len(self.warnings)} warnings>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(text)}</td></tr>'
            for name, text in self._figures
        )
        return f"<table><caption>{html.escape(self.specification.project)}: two files linked</caption>{rows}</table>"
