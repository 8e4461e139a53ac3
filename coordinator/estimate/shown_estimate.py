"""An estimate as the commands make and print it: both files read and cleaned, its lines, its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from gemel.common.errors import parameter
from gemel.common.parties import Side
from gemel.common.records.csv_form import CsvOptions
from gemel.common.records.registry import file_source, read_source
from gemel.common.specification import Specification
from gemel.coordinator.client.terminal import console, show_form
from gemel.coordinator.estimate.estimate import Estimate
from gemel.coordinator.estimate.limits import refuse_exceeded
from gemel.custodian.cleaning.columns import clean

Frames = tuple[pl.DataFrame, pl.DataFrame]
"""Alice's and Bob's file."""


def both_files(
    alice: Path | None, bob: Path | None, encoding: Sequence[str] | None, separator: Sequence[str] | None
) -> Frames:
    """Both files, whose form is shown where it is unusual.

    Raises
    ------
    GemelError
        PARAMETER if one is missing; as `read_source`.
    """
    if alice is None or bob is None:
        raise parameter(
            "--alice" if alice is None else "--bob",
            "pairs are counted in two files",
            "none",
            "give both, or only --rows",
        )
    forms = CsvOptions.of_files(list(encoding or []), list(separator or []))
    sources = [file_source(path, form) for path, form in zip((alice, bob), forms, strict=True)]
    show_form(*sources)
    left, right = (read_source(source, None).frame for source in sources)
    return left, right


def cleaned_columns(spec: Specification, frames: Frames) -> dict[Side, Mapping[str, pl.Series]]:
    """The cleaned values of both files."""
    return {side: clean(frame, spec, side).columns for side, frame in zip(Side, frames, strict=True)}


def show_estimate(estimate: Estimate, *, refuse: bool = True) -> None:
    """Print an estimate.

    Raises
    ------
    GemelError
        UPLOAD_LIMIT, MEMORY or PARAMETER where it exceeds a limit, unless it is not to be refused.
    """
    for line in estimate.lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if refuse:
        refuse_exceeded(estimate.exceeded)
