"""Options that several commands have: the form of CSV files, `--dry-run`, and the completion of projects' names.

`CsvOptions(encoding, separator).checked()` of `records.csv_form` takes what a user gives of a form;
`rpc.dry_run` withholds the calls of a dry run.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from gemel.common.terminal.output import json_awaited, print_json

EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Text encoding of CSV files, such as cp1252; found if not given.")
]
SeparatorOption = Annotated[
    str | None, typer.Option("--separator", help="Separator of CSV files, such as ';' or tab; found if not given.")
]

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Check what can be checked, show what would be done or sent, and change nothing."),
]


def end_dry_run(lines: list[str], document: dict[str, Any]) -> NoReturn:
    """Print what would have been done, in words or as ``{"dry_run": document}``, and end the command."""
    if json_awaited():
        print_json({"dry_run": document})
    else:
        for line in lines:
            typer.echo(line)
    raise typer.Exit


_NAME = re.compile(r"^project:\s*['\"]?([a-z0-9][a-z0-9-]*)", re.MULTILINE)
_FILES, _CHARACTERS = 100, 10_000
"""How many files are looked at, and how much of each: completion must not keep anyone waiting."""


def project_names(incomplete: str) -> list[str]:
    """The names that begin so, of the YAML files here, in their order."""
    found = set()
    for path in islice(sorted(Path().glob("*.y*ml")), _FILES):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_CHARACTERS)
        except OSError:
            continue
        found |= set(_NAME.findall(text)[:1])
    return sorted(name for name in found if name.startswith(incomplete))
