"""How the files of a command are read, stated before anything is computed from them."""

from __future__ import annotations

from pathlib import Path

import typer

from gemel.common.records.csv_form import CsvOptions
from gemel.common.records.typed_table import read_as


def show_form(*paths: Path | None, csv: CsvOptions) -> None:
    """State on standard error how CSV files are read that are not plain UTF-8 with commas."""
    for path in paths:
        if path is not None and (line := read_as(path, csv)):
            typer.echo(line, err=True)
