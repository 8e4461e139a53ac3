"""``gemel keyvars edit``: changes that keep what was true of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.risk.commands.keyvars.options import SEPARATED, Folder, Variable, named_values
from gemel.risk.commands.option_values import argument, option

app = typer.Typer(
    help="Change forms and categories; what would break a categorisation is refused.", no_args_is_help=True
)

Category = Annotated[str, argument("The category.")]
Form = Annotated[str, argument("The form.")]


@app.command()
def divide(
    variable: Variable,
    category: Category,
    parts: Annotated[str, argument(f"Its new parts, {SEPARATED}.")],
    environment: Folder = Path("environment"),
) -> None:
    """Divide a category that has no parts yet into new ones."""
    from gemel.risk.keyvars.codebook import split
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        env.edit(variable, lambda graph: graph.divide(category, split(parts)))
    typer.echo(f"{variable}: {category} divided")


@app.command()
def aggregate(
    variable: Variable,
    name: Annotated[str, argument("The new category.")],
    parts: Annotated[str, argument(f"What it is made of, {SEPARATED}.")],
    environment: Folder = Path("environment"),
) -> None:
    """Put categories together to a new one."""
    from gemel.risk.keyvars.codebook import split
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        env.edit(variable, lambda graph: graph.aggregate(name, split(parts)))
    typer.echo(f"{variable}: {name} added")


@app.command()
def rename(
    variable: Variable,
    old: Annotated[str, argument("The category's name.")],
    new: Annotated[str, argument("Its new name.")],
    environment: Folder = Path("environment"),
) -> None:
    """Rename a category, in every form that has it."""
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        env.rename_category(variable, old, new)
    typer.echo(f"{variable}: {old} is {new}")


@app.command()
def coding(
    form: Form,
    variable: Variable,
    categories: Annotated[str, option(f"Its categories, {SEPARATED}. None: whatever is written in.")] = "",
    value: Annotated[list[str] | None, option("What the data hold for a category: '1=England'.")] = None,
    environment: Folder = Path("environment"),
) -> None:
    """Change in which categories a form has a variable."""
    from gemel.risk.keyvars.codebook import split
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        code = env.code(form, variable, split(categories), named_values(value))
    typer.echo(f"{form}: {variable} {code}")


@app.command()
def metadata(
    form: Form,
    entries: Annotated[list[str], argument("'Form Type=Paper'; with nothing after = it is dropped.")],
    environment: Folder = Path("environment"),
) -> None:
    """Change what is known of a form."""
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        env.set_metadata(form, named_values(entries))
    typer.echo(f"changed form {form}")


@app.command()
def delete(
    form: Annotated[str | None, option("A form.")] = None,
    variable: Annotated[str | None, option("A variable: of the form, or one that no form has.")] = None,
    category: Annotated[str | None, option("A category of the variable that nothing uses.")] = None,
    group: Annotated[str | None, option("A group; its forms stay.")] = None,
    environment: Folder = Path("environment"),
) -> None:
    """Delete a form, a variable, a category or a group. What is in use is not deleted."""
    from gemel.common.errors import parameter
    from gemel.risk.keyvars.folder import changed

    with changed(environment) as env:
        if group is not None and form is None and variable is None and category is None:
            env.delete_group(group)
        elif variable is not None and category is not None and form is None and group is None:
            env.remove_category(variable, category)
        elif form is not None and category is None and group is None:
            if variable is None:
                env.delete_form(form)
            else:
                env.drop(form, variable)
        elif variable is not None and category is None and group is None:
            env.delete_variable(variable)
        else:
            raise parameter(
                "",
                "what to delete is not clear",
                remedy="give --group, or --form, or --variable, or --form and --variable, or --variable and --category",
            )
    typer.echo("deleted")


@app.command()
def restore(environment: Folder = Path("environment")) -> None:
    """Bring back the last good state; files that differ from it are set aside under another name."""
    from gemel.risk.keyvars import folder

    for path in folder.restore(environment):
        typer.echo(f"set aside {path}")
    typer.echo("restored")
