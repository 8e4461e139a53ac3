"""``tryst keyvars show`` and ``export``: what is in an environment, drawn or written out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from risk.keyvars.options import Folder, put

show = typer.Typer(help="Forms, variables, codes, and their graphs as SVG or PNG.", no_args_is_help=True)
export = typer.Typer(help="Write a codebook, or a table for a linkage specification.", no_args_is_help=True)

Variable = Annotated[str, typer.Argument(help="The variable.")]


@show.command()
def forms(environment: Folder = Path("environment")) -> None:
    """All forms, what is known of them and the codes of their variables; then the groups."""
    from risk.keyvars import folder

    env = folder.read(environment)
    columns = list(dict.fromkeys(key for form in env.forms.values() for key in form.metadata))
    rows = [["form", *columns, *env.variables]]
    for form in env.forms.values():
        known = [form.metadata.get(key, "") for key in columns]
        rows.append([form.name, *known, *(form.variables.get(name, "") for name in env.variables)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for name, members in env.groups.items():
        typer.echo(f"group {name}: {', '.join(members)}")


@show.command()
def variable(
    name: Variable,
    code: Annotated[str | None, typer.Option(help="A code to look up, C or H.")] = None,
    categories: Annotated[Path | None, typer.Option(help="Where to draw its categories: SVG or PNG.")] = None,
    harmonisations: Annotated[Path | None, typer.Option(help="Where to draw its harmonisations.")] = None,
    environment: Folder = Path("environment"),
) -> None:
    """The codes of a variable and what they mean; its graphs."""
    from risk.keyvars import folder
    from risk.keyvars.codes import ARBITRARY
    from risk.keyvars.pictures import draw_aggregation, draw_harmonisations

    known = folder.read(environment).variable(name)
    for each in [known.codes[known.node(code)]] if code else known.codes:
        meant = "whatever is written in" if each == ARBITRARY else " | ".join(known.categories(each))
        typer.echo(f"{each}  {meant}")
    if code:
        for leaves in known.leaves(code):
            typer.echo(f"    {{{', '.join(leaves)}}}")
    if categories is not None:
        put(categories, draw_aggregation(known, code))
    if harmonisations is not None:
        put(harmonisations, draw_harmonisations(known))


@export.command()
def codebook(
    out: Annotated[Path, typer.Argument(help="Where to write the CSV.")],
    environment: Folder = Path("environment"),
) -> None:
    """The whole environment as one CSV, which `tryst keyvars add codebook` reads."""
    from risk.keyvars import folder
    from risk.keyvars.codebook import export_codebook

    put(out, export_codebook(folder.read(environment)))


@export.command()
def linkage(
    variable: Variable,
    alice: Annotated[str, typer.Option(help="The form that describes Alice's file.")],
    bob: Annotated[str, typer.Option(help="The form that describes Bob's file.")],
    into: Annotated[Path | None, typer.Option(help="The specification to complete; without, it is printed.")] = None,
    field: Annotated[
        str | None, typer.Option(help="The specification's field or variable. Default: the variable's name.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a table that is there.")] = False,
    environment: Folder = Path("environment"),
) -> None:
    """The finest categories that two files can be brought to, as `categorisation` of a linkage specification."""
    from common.specification.dump import entry_lines
    from risk.keyvars import folder
    from risk.keyvars.insertion import insert
    from risk.keyvars.linkage import common_categories

    found = common_categories(folder.read(environment), variable, alice, bob)
    for loss in found.losses:
        typer.echo(loss, err=into is None)
    if into is None:
        typer.echo("\n".join(entry_lines("categorisation", found.table)))
        return
    text = insert(folder.read_text(into), field or variable, found.table, replace=replace, source=str(into))
    folder.replace_file(into, text)
    typer.echo(f"wrote {into}: {field or variable} in {len(found.table)} common categories ({found.code})")
