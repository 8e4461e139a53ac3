"""``gemel keyvars export``: an environment as a codebook, and two codings as a table for a linkage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.risk.commands.keyvars.options import Folder, Variable, put
from gemel.risk.commands.option_values import argument, option

app = typer.Typer(help="Write a codebook, or a table for a linkage specification.", no_args_is_help=True)


@app.command()
def codebook(
    out: Annotated[Path, argument("Where to write the CSV.")], environment: Folder = Path("environment")
) -> None:
    """The whole environment as one CSV, which `gemel keyvars add codebook` reads."""
    from gemel.risk.keyvars import folder
    from gemel.risk.keyvars.codebook import export_codebook

    put(out, export_codebook(folder.read(environment)))


@app.command()
def linkage(
    variable: Variable,
    alice: Annotated[str, option("The form that describes Alice's file.")],
    bob: Annotated[str, option("The form that describes Bob's file.")],
    into: Annotated[Path | None, option("The specification to complete; without, it is printed.")] = None,
    field: Annotated[str | None, option("The specification's field or variable. Default: the variable's name.")] = None,
    replace: Annotated[bool, option("Write over a table that is there.", "--replace")] = False,
    environment: Folder = Path("environment"),
) -> None:
    """The finest categories that two files can be brought to, as `categorisation` of a linkage specification."""
    from gemel.common.specification.text.option_lines import entry_lines
    from gemel.risk.keyvars import folder
    from gemel.risk.keyvars.linkage import common_categories, insert

    found = common_categories(folder.read(environment), variable, alice, bob)
    for loss in found.losses:
        typer.echo(loss, err=into is None)
    if into is None:
        typer.echo("\n".join(entry_lines("categorisation", found.table)))
        return
    text = insert(folder.read_text(into), field or variable, found.table, replace=replace, source=str(into))
    folder.replace_file(into, text)
    typer.echo(f"wrote {into}: {field or variable} in {len(found.table)} common categories ({found.code})")
