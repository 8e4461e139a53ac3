"""Records and specifications as a notebook has them: tables or paths, `gemel.draft` and `gemel.check`."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl

from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.documents.linkage_document import EvaluationDocument
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.language import LanguageCode
from gemel.common.missing_module import missing_module
from gemel.common.specification import (
    Specification,
    encoding_digest,
    load_specification,
    read_specification,
    specification_digest,
    specification_notes,
)
from gemel.common.specification.model.defaults import Mode
from gemel.common.terminal.output import Report
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.coordinator.truth_columns import Truth
from gemel.records.frames import Records, frame_of
from gemel.records.registry import file_source, read_source
from gemel.records.table import SourceTable, as_text, no_records, require_columns


def table_of(records: Records, columns: Sequence[str] | None, where: str) -> SourceTable:
    """The selected columns, each once, or all, as text: the same of a table as of a Parquet file with its content.

    Parameters
    ----------
    records : polars.DataFrame, polars.LazyFrame, pandas.DataFrame, pyarrow.Table, str or Path
        A path is read as the commands read it.
    columns
        None: all.
    where
        What errors call the records.

    Raises
    ------
    GemelError
        SOURCE for something else, or a column without a text form; FIELD_MISSING for a missing column; EMPTY_SOURCE
        without records; MODULE_MISSING where pandas needs pyarrow; for a path as `read_source`.

    Examples
    --------
    >>> import polars as pl
    >>> table_of(pl.DataFrame({"id": [1, 2], "born": [1980.0, None]}), None, "alice").frame.rows()
    [('1', '1980'), ('2', None)]
    """
    if isinstance(records, str | Path):
        return read_source(file_source(Path(records)), columns)
    frame = frame_of(records, where)
    selected = list(dict.fromkeys(frame.columns if columns is None else columns))
    require_columns(frame.columns, selected, where, "name the columns of the table in the specification")
    if not frame.height:
        raise no_records(where)
    text = pl.DataFrame([as_text(frame[name], where).alias(name) for name in selected])
    return SourceTable(text, np.arange(1, frame.height + 1, dtype=np.int64), "row", where)


@dataclass(frozen=True)
class Draft:
    """A proposed specification, with a comment on each choice.

    Attributes
    ----------
    specification
    comments
        By path, as they stand in the text.
    accepted
        False if a custodian's leakage gate would refuse it; True if both accept it, or were not asked.
    """

    specification: Specification
    comments: Mapping[str, str] = field(repr=False)
    accepted: bool

    @property
    def text(self) -> str:
        """The commented YAML, ``linkage.yaml``."""
        return dump_specification(self.specification, self.comments)

    def write(self, path: Path | str) -> None:
        """Write the text to a file."""
        Path(path).write_text(self.text, encoding="utf-8")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class CheckedSpecification:
    """A specification without issues, and what those who approve it should know.

    Attributes
    ----------
    specification
    notes
        A sentence or two each; those that begin with ``WARNING`` first ask for a decision.
    specification_digest, encoding_digest
        Hexadecimal, as `gemel spec check` prints them.
    """

    specification: Specification = field(repr=False)
    notes: Sequence[str] = field(repr=False)
    specification_digest: str
    encoding_digest: str

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        spec = self.specification
        return (
            f"<p><b>{html.escape(spec.project)}</b>: mode {spec.mode}, {len(spec.fields)} fields, {len(spec.blocking)}"
            f" blocking rules; specification digest <code>{self.specification_digest}</code></p><ul>{notes}</ul>"
        )


AnySpecification: TypeAlias = Specification | Draft | CheckedSpecification | Path | str
"""A specification, or where one is: the path of a file, or the text of one (a text with a line end)."""


def specification_of(spec: AnySpecification) -> Specification:
    """The specification itself; errors as `load_specification` and `read_specification`."""
    if isinstance(spec, Draft | CheckedSpecification):
        return spec.specification
    if isinstance(spec, Specification):
        return spec
    if isinstance(spec, str) and "\n" in spec:
        return load_specification(spec, "the specification")
    return read_specification(Path(spec))


def draft(
    a: Records,
    b: Records,
    project: str = "linkage",
    *,
    mode: Mode | None = None,
    block: bool | None = None,
    ignore: Sequence[str] = (),
    truth: str | tuple[str, str] | None = None,
    gate: bool = True,
    rows: int = 0,
    seed: int = 1,
) -> Draft:
    """Propose a specification from the columns that two files share.

    Parameters
    ----------
    a, b : polars, pandas or Arrow table, or path of a CSV or Parquet file
        Alice's and Bob's records, or samples with the same columns.
    project : str
        The project's name: lower-case letters, digits, hyphens.
    mode : {"open", "block_keyed", "shared"}, optional
        By default block_keyed where rules are proposed.
    block : bool, optional
        Whether to propose blocking rules; by default where there are too many pairs.
    ignore : sequence of str
        Columns to leave out.
    truth : str or pair of str, optional
        Columns that name the person, which are left out too.
    gate : bool
        In modes block_keyed and shared, measure by the custodians' leakage gate, and change what they would refuse: a
        minute.
    rows : int
        Records that either file may grow to; 0: as they are.
    seed : int
        Draws the gate's throw-away keys; the same files, options and seed give the same draft.

    Raises
    ------
    GemelError
        SPECIFICATION if the files share no column worth comparing, or one has no column of identifiers; NOT_IDENTIFIED
        if they share too few; PARAMETER for another mode.

    Examples
    --------
    >>> import polars as pl, gemel
    >>> people = pl.DataFrame({
    ...     "id": range(60), "surname": [f"{a}{b}son" for a in "ABCDEF" for b in "aeiouyabcd"],
    ...     "born": [f"19{40 + k}-0{1 + k % 9}-12" for k in range(60)], "town": ["Ely", "Ryde", "Bath"] * 20,
    ... })
    >>> found = gemel.draft(people[:50], people[10:], mode="open")
    >>> [(field.name, field.kind) for field in found.specification.fields]
    [('surname', 'name'), ('born', 'date'), ('town', 'category')]
    """
    from gemel.coordinator.draft.specification_draft import draft as propose
    from gemel.coordinator.draft.specification_draft import drafted_mode
    from gemel.custodian.leakage.leakage_assessment import assess

    chosen = drafted_mode(mode, "mode")
    left, right = (
        table_of(records, None, f"{side}'s records").frame.drop(ignore, strict=False)
        for side, records in (("alice", a), ("bob", b))
    )
    columns = None if truth is None else Truth(*((truth, truth) if isinstance(truth, str) else truth))
    drafted = propose(
        left, right, project, block, chosen, truth=columns, gate=assess if gate else None, rows=rows, seed=seed
    )
    return Draft(*drafted)


def check(spec: AnySpecification) -> CheckedSpecification:
    """Report every issue of a specification at once; then what it means to those who approve it.

    Parameters
    ----------
    spec : Specification, Draft, text of YAML or path

    Raises
    ------
    GemelErrors
        SPECIFICATION, an error for each issue with its path and its remedy.
    GemelError
        NOT_IDENTIFIED for one that compares too little to be estimated.

    Examples
    --------
    >>> import gemel
    >>> try:
    ...     gemel.check("version: 1\\nproject: towns\\nmode: open\\n")
    ... except gemel.GemelErrors as found:
    ...     for error in found.errors:
    ...         print(str(error).partition(";")[0])
    line 1, custodians: is missing
    line 1, fields: is missing
    line 1, retention: is missing
    """
    found = specification_of(spec)
    refuse_unidentified(found)
    return CheckedSpecification(
        found, tuple(specification_notes(found)), specification_digest(found).hex(), encoding_digest(found).hex()
    )


def linkage_report(
    spec: Specification, statistics: StatisticsDocument, evaluation: EvaluationDocument | None, language: LanguageCode
) -> Report:
    """The report on a linkage; MODULE_MISSING without the extra ``report``."""
    try:
        from gemel.coordinator.rehearsal.output_folder import report_content
        from gemel.coordinator.reports.linkage import render_report
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    return Report(f"Linkage {spec.project}", render_report(report_content(spec, statistics, evaluation), language))
