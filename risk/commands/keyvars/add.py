"""``gemel keyvars add``: environments, forms, variables, groups, codebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.risk.commands.keyvars.options import SEPARATED, Folder, Where, named_values
from gemel.risk.commands.option_values import argument, csv_form, option

app = typer.Typer(help="Add an environment, forms, variables with their categories, groups.", no_args_is_help=True)


@app.command()
def environment(folder: Annotated[Path, argument("Its folder.")] = Path("environment")) -> None:
    """Make an empty environment: three JSON files in a folder."""
    from gemel.risk.keyvars.folder import create

    create(folder)
    typer.echo(f"wrote {folder}")


@app.command()
def form(
    name: Annotated[str, argument("The form's name.")],
    metadata: Annotated[list[str] | None, option("What is known of it: 'Form Type=Paper'.")] = None,
    like: Annotated[str | None, option("A form to copy, with its variables.")] = None,
    environment: Folder = Path("environment"),
) -> None:
    """Add a form, questionnaire or file."""
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        if like is None:
            env.add_form(name)
        else:
            env.copy_form(like, name)
        env.set_metadata(name, named_values(metadata))
    typer.echo(f"added form {name}")


@app.command()
def variable(
    name: Annotated[str, argument("The variable's name.")],
    form: Annotated[str | None, option("The form that has it; without, only its categories are made.")] = None,
    categories: Annotated[str, option(f"Its categories, {SEPARATED}. None: whatever is written in.")] = "",
    value: Annotated[list[str] | None, option("What the form's data hold for a category: '1=England'.")] = None,
    scale: Annotated[
        str | None, option("Of a new variable: nominal, interval (0-16, 16-21) or whole (0-15, 16-20).")
    ] = None,
    environment: Folder = Path("environment"),
) -> None:
    """Define in which categories a form has a variable. The first categories of a variable must be exhaustive."""
    from gemel.common.errors import ErrorCode, GemelError, parameter
    from gemel.risk.keyvars.codebook import split
    from gemel.risk.keyvars.folder import changed
    from gemel.risk.keyvars.intervals import SCALES

    chosen = next((each for each in SCALES if each == (scale or "nominal")), None)
    if chosen is None:
        raise parameter("", f"a scale is one of {', '.join(SCALES)}", repr(scale))
    with changed(environment) as env:
        if name not in env.variables:
            env.add_variable(name, chosen)
        elif scale not in (None, env.variables[name].scale):
            raise parameter("", f"{name} has scale {env.variables[name].scale}", repr(scale))
        if form is None:
            env.make_known(name, split(categories))
            typer.echo(f"added variable {name}")
            return
        if name in env.form(form).variables:
            raise GemelError(
                ErrorCode.EXISTS,
                "the form has the variable already",
                where=f"{form}, {name}",
                remedy="change it with `gemel keyvars edit coding`",
            )
        code = env.code(form, name, split(categories), named_values(value))
    typer.echo(f"{form}: {name} {code}")


@app.command()
def group(
    name: Annotated[str, argument("The group's name.")],
    form: Annotated[list[str] | None, option("A form or a group; may be given several times.")] = None,
    without: Annotated[list[str] | None, option("A form or a group to leave out.")] = None,
    where: Where = None,
    environment: Folder = Path("environment"),
) -> None:
    """Name a set of forms that are analysed together."""
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        names = [member for each in form or () for member in env.members(each)]
        names += env.where(named_values(where)) if where else ()
        dropped = {member for each in without or () for member in env.members(each)}
        env.add_group(name, [each for each in names if each not in dropped])
        count = len(env.groups[name])
    typer.echo(f"added group {name} of {count} forms")


@app.command()
def codebook(
    file: Annotated[Path, argument("CSV with the columns form, variable, category; see docs/keyvars.md.")],
    environment: Folder = Path("environment"),
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
) -> None:
    """Add the forms of a codebook. All of it is added, or nothing."""
    from gemel.records.csv_form import csv_source
    from gemel.risk.keyvars.codebook import import_codebook
    from gemel.risk.keyvars.folder import changed, read_text

    form = csv_source(file, csv_form(encoding, separator, file))
    with changed(environment) as env:
        added, metadata = import_codebook(env, read_text(file, form.encoding), str(file), form.separator)
    reported = f"; metadata: {', '.join(metadata)}" if metadata else ""
    typer.echo(f"added {added} codings of variables by forms{reported}")
