"""``--dry-run``: the option of a command that sends, changes or destroys something; `rpc.dry_run` withholds calls."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

import typer

from gemel.common.json_output import json_awaited, print_json

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
