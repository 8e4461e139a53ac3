"""``gemel keyvars show``: what is in an environment, listed and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.terminal.output import Json, print_json
from gemel.risk.commands.keyvars.options import Folder, Variable, put
from gemel.risk.commands.option_values import option

app = typer.Typer(help="Forms, variables, codes, and their graphs as SVG or PNG.", no_args_is_help=True)


@app.command()
def forms(environment: Folder = Path("environment"), as_json: Json = False) -> None:
    """All forms, what is known of them and the codes of their variables; then the groups."""
    from gemel.risk.keyvars import folder

    env = folder.read(environment)
    if as_json:
        shown = [
            {"form": f.name, "metadata": dict(f.metadata), "variables": dict(f.variables)} for f in env.forms.values()
        ]
        print_json({"forms": shown, "groups": {name: list(members) for name, members in env.groups.items()}})
        return
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


@app.command()
def variable(
    name: Variable,
    code: Annotated[str | None, option("A code to look up, C or H.")] = None,
    categories: Annotated[Path | None, option("Where to draw its categories: SVG or PNG.")] = None,
    harmonisations: Annotated[Path | None, option("Where to draw its harmonisations.")] = None,
    environment: Folder = Path("environment"),
    as_json: Json = False,
) -> None:
    """The codes of a variable and what they mean; its graphs."""
    from gemel.risk.keyvars import folder
    from gemel.risk.keyvars.partitions import ARBITRARY
    from gemel.risk.keyvars.pictures import draw_aggregation, draw_harmonisations

    known = folder.read(environment).variable(name)
    chosen = [known.codes[known.node(code)]] if code else known.codes
    if as_json:
        # An arbitrary category is whatever is written in, so it has none to list.
        shown = {each: None if each == ARBITRARY else list(known.categories(each)) for each in chosen}
        made_of = [list(each) for each in known.leaves(code)] if code else None
        print_json({"variable": name, "codes": shown, "leaves": made_of})
    for each in chosen:
        meant = "whatever is written in" if each == ARBITRARY else " | ".join(known.categories(each))
        typer.echo(f"{each}  {meant}")
    if code:
        for leaves in known.leaves(code):
            typer.echo(f"    {{{', '.join(leaves)}}}")
    if categories is not None:
        put(categories, draw_aggregation(known, code))
    if harmonisations is not None:
        put(harmonisations, draw_harmonisations(known))
