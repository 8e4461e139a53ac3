"""`gemel.link`: two files linked in this process, and what comes of it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from pydantic import ValidationError

from gemel.carole.configuration import LimitsConfiguration
from gemel.carole.engine import Resources
from gemel.common.documents.claimed_words import claimed_quality
from gemel.common.documents.linkage_document import EvaluationDocument
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.errors import parameter
from gemel.common.language import LanguageCode
from gemel.common.missing_module import missing_module
from gemel.common.parties import Side
from gemel.common.processes import processors
from gemel.common.progress import Progress, stages_on_terminal
from gemel.common.specification import Specification
from gemel.common.terminal.output import Report
from gemel.coordinator.api.in_process import Keys, link_in_process
from gemel.coordinator.api.specifications import AnySpecification, draft, linkage_report, specification_of, table_of
from gemel.coordinator.rehearsal.link_truth import evaluate
from gemel.coordinator.truth_columns import Truth
from gemel.custodian.source.cleaned_file import compared_columns
from gemel.records.frames import Records

if TYPE_CHECKING:
    import altair as alt


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
            FIELD_MISSING; SPECIFICATION if the specification links by the truth, which would prove nothing; PARAMETER
            if these are not the records that were linked.
        """
        columns = Truth(*((truth, truth) if isinstance(truth, str) else truth))
        columns.require_unused(self.specification)
        persons = []
        for side, records in zip(Side, (a, b), strict=True):
            own, person = self.specification.custodians.of(side).identifier, columns.of(side)
            frame = table_of(records, [own, person], f"{side}'s records").frame
            known = frame[own]
            if known.is_duplicated().any() or not self.pairs[str(side)].is_in(known.implode()).all():
                what, remedy = "these are not the records that were linked", "give the same two files to both"
                raise parameter(f"{side}'s records", what, remedy=remedy)
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
        return linkage_report(self.specification, self.statistics, evaluation, language)

    def charts(self, evaluation: EvaluationDocument | None = None) -> dict[str, alt.TopLevelMixin]:
        """The report's charts by name, such as ``weights``, ``levels`` and ``histogram``, as Altair objects."""
        try:
            from gemel.coordinator.rehearsal.output_folder import report_content
            from gemel.coordinator.reports.linkage import charts_of
        except ModuleNotFoundError as error:
            raise missing_module(error) from None
        content = report_content(self.specification, self.statistics, evaluation)
        return {name: chart.drawing for name, chart in charts_of(content).items()}

    @property
    def _figures(self) -> list[tuple[str, str]]:
        linkage = self.statistics.linkage
        rows = [
            ("links", f"{linkage.links:,}"),
            ("threshold", f"link probability of {linkage.threshold:.3g} or more"),
            ("pairs compared", f"{linkage.candidates:,} of {linkage.pairs:,}"),
        ]
        if claimed := claimed_quality(linkage.claims):
            rows.append(("links that are right, by the model", claimed["precision"]))
            rows.append(("matches that they include, by the model", claimed["recall"]))
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


def link(
    a: Records,
    b: Records,
    spec: AnySpecification | None = None,
    *,
    seed: int = 1,
    keys: Keys | None = None,
    known: Sequence[Path | str] = (),
    memory: str = "3GiB",
    threads: int = 0,
    progress: Progress | None = None,
) -> LinkedFiles:
    """Link two files in this process, with the numbers of a linkage by the three services.

    For research, teaching and tests, where one person may have both files: nothing is protected from the caller. A live
    linkage, in which no one sees both, is of `gemel.Client`; `gemel rehearse` tries one out with the real services.

    Parameters
    ----------
    a, b : polars, pandas or Arrow table, or path of a CSV or Parquet file
        Alice's and Bob's records.
    spec : Specification, Draft, text of YAML or path, optional
        As drafted of the two files for mode open, if not given.
    seed : int
        The throw-away keys that sign the records follow from it: another seed gives slightly other probabilities, as
        another seed of the custodians would.
    keys : Keys, optional
        In their place those of a linkage, whose numbers are then repeated.
    known : sequence of paths
        Files that `latent.training` or `latent.joint` names.
    memory : str
        What the comparison may use, such as ``"512MiB"``: with less, fewer pairs far from a link are kept.
    threads : int
        0: one for each core.
    progress : callable, optional
        Called with a stage and the fraction of it that is done.

    Returns
    -------
    LinkedFiles
        The same for the same records, specification and seed.

    Raises
    ------
    GemelError
        As a custodian's service and Carole refuse records and specification; never with a record's value.

    Notes
    -----
    Everything is in memory: some 2 kB a record in mode open. Time is that of `carole.engine.link`. Not worked out here
    are the leakage gate, the disclosure assessment and a released joint distribution.

    Examples
    --------
    >>> import polars as pl, gemel
    >>> names = ["Ann", "Bob", "Cyd", "Dora", "Eli", "Fay", "Gus", "Hal", "Ida", "Joe"]
    >>> towns = ["Ely", "Ryde", "Bath", "Wells"]
    >>> people = pl.DataFrame({
    ...     "id": range(40), "name": [names[k % 10] for k in range(40)], "town": [towns[k // 10] for k in range(40)],
    ...     "born": [f"19{50 + k}-0{1 + k % 9}-1{k % 10}" for k in range(40)],
    ... })
    >>> found = gemel.link(people[:30], people[10:], '''
    ... version: 1
    ... project: towns
    ... mode: open
    ... custodians: {alice: {identifier: id}, bob: {identifier: id}}
    ... fields:
    ...   - {name: name, kind: name}
    ...   - {name: town, kind: category}
    ...   - {name: born, kind: date, date: {order: ymd}}
    ... retention: {uploads_days: 1, results_days: 1, maps_days: 1}
    ... ''')
    >>> found.links.height, (found.links["alice"] == found.links["bob"]).all()
    (20, True)
    """
    specification = draft(a, b, mode="open", gate=False).specification if spec is None else specification_of(spec)
    tables = {
        side: table_of(
            records,
            [specification.custodians.of(side).identifier, *compared_columns(specification, side)],
            f"{side}'s records",
        )
        for side, records in zip(Side, (a, b), strict=True)
    }
    linked = link_in_process(
        tables,
        specification,
        Keys.of_number(seed) if keys is None else keys,
        Resources(_bytes(memory), threads or processors()),
        stages_on_terminal() if progress is None else progress,
        [Path(path) for path in known],
    )
    return LinkedFiles(specification, *linked)


def _bytes(memory: str) -> int:
    try:
        return LimitsConfiguration(memory=memory).memory_bytes
    except ValidationError:
        raise parameter("memory", "expected a size", repr(memory), "write 512MiB or 3GiB") from None
