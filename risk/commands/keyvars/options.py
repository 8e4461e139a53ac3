"""What the commands of ``gemel keyvars`` share: the folder's option, names with ``|`` between, files written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.durable import write_text
from gemel.risk.commands.option_values import argument, option, pairs

SEPARATED = "with | between: 'England | Scotland | Wales | Other'"  # how the help describes several names

Folder = Annotated[Path, option("The environment's folder.", "--environment", "-e")]


Variable = Annotated[str, argument("The variable.")]
Where = Annotated[
    list[str] | None, option("Forms with this metadata: 'Form Type=On-line'; all given must hold.", "--where")
]


def named_values(texts: list[str] | None) -> dict[str, str]:
    """What stands on both sides of the first ``=`` of each text."""
    return pairs(texts, "", str, "write 'Organisation=Pollsters'")


def put(path: Path, text: str) -> None:
    """Write a file and print its name; an SVG becomes a PNG where the name ends in .png."""
    if path.suffix.lower() == ".png" and text.startswith("<svg"):
        from gemel.risk.keyvars.pictures import png

        path.write_bytes(png(text))
    else:
        write_text(path, text)
    typer.echo(f"wrote {path}")
