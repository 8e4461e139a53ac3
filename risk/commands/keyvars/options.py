"""What the commands of ``gemel keyvars`` share: the folder's option, names with ``|`` between, files written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gemel.common.durable import write_text
from gemel.common.errors import parameter
from gemel.risk.commands.option_values import option

SEPARATED = "with | between: 'England | Scotland | Wales | Other'"  # how the help describes several names

Folder = Annotated[Path, option("The environment's folder.", "--environment", "-e")]


def where_option() -> Any:
    """The option that chooses forms by what is known of them."""
    return option("Forms with this metadata: 'Form Type=On-line'; all given must hold.", "--where")


def pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """What stands on both sides of the first ``=`` of each text."""
    found: dict[str, str] = {}
    for text in texts or ():
        key, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not key or key in found:
            raise parameter(
                "",
                "given twice" if key in found else "a name, an equals sign and a value expected",
                repr(text),
                "write 'Organisation=Pollsters'",
            )
        found[key] = value
    return found


def put(path: Path, text: str) -> None:
    """Write a file and print its name; an SVG becomes a PNG where the name ends in .png."""
    if path.suffix.lower() == ".png" and text.startswith("<svg"):
        from gemel.risk.keyvars.pictures import png

        path.write_bytes(png(text))
    else:
        write_text(path, text)
    typer.echo(f"wrote {path}")
