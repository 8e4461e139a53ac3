"""``gemel keyvars``: a data environment of forms and their categories, and what can be matched in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.terminal.output import Json, JsonFile, print_json, write_json
from gemel.risk.commands.keyvars.add import app as add_app
from gemel.risk.commands.keyvars.edit import app as edit_app
from gemel.risk.commands.keyvars.export import app as export_app
from gemel.risk.commands.keyvars.options import Folder, Where, named_values, put
from gemel.risk.commands.keyvars.show import app as show_app
from gemel.risk.commands.option_values import argument, option

if TYPE_CHECKING:
    from gemel.risk.keyvars.environment import Finding

app = typer.Typer(
    help="Key variable mapping: on what, and how finely, sets of data can be matched that code the same things"
    " differently. Nothing is sent anywhere.",
    no_args_is_help=True,
)
app.add_typer(add_app, name="add")
app.add_typer(edit_app, name="edit")
app.add_typer(show_app, name="show")
app.add_typer(export_app, name="export")


@app.command()
def check(environment: Folder = Path("environment"), as_json: Json = False) -> None:
    """Report every inconsistency of the files by its place; if there is none, keep them as the last good state."""
    from gemel.risk.keyvars import folder

    found = folder.check(environment)
    if as_json:
        print_json({"forms": len(found.forms), "variables": len(found.variables), "groups": len(found.groups)})
    typer.echo(f"{len(found.forms)} forms, {len(found.variables)} variables, {len(found.groups)} groups. No issues.")


@app.command()
def analyse(
    form: Annotated[str, argument("The target: the form to match.")],
    prevalence: Annotated[float, option("Share of the forms, from 0 to 1.", "--prevalence", "-p")] = 0.5,
    against: Annotated[
        list[str] | None, option("A group or form to match against; several are joined. All by default.")
    ] = None,
    where: Where = None,
    variable: Annotated[list[str] | None, option("A variable of the target; all by default.")] = None,
    with_target: Annotated[
        bool, option("Count the target as one of the forms it is matched against.", "--with-target")
    ] = False,
    loose: Annotated[
        bool, option("Compute although categorisations are inconsistent; trust it little.", "--loose")
    ] = False,
    json_file: JsonFile = None,
    chart: Annotated[Path | None, option("Where to draw size against p: SVG or PNG.")] = None,
    environment: Folder = Path("environment"),
) -> None:
    """For each variable the finest categories in which the target can be matched with a share of the forms."""
    from gemel.risk.keyvars import folder

    env = folder.read(environment, strict=not loose)
    for warning in env.warnings:
        typer.secho(f"Warning: {warning}", fg=typer.colors.YELLOW, err=True)
    chosen = None
    if against or where:
        names = [name for group in against or () for name in env.members(group)]
        chosen = list(dict.fromkeys([*names, *(env.where(named_values(where)) if where else ())]))
    findings = env.analyse(form, prevalence, against=chosen, variables=variable or None, with_target=with_target)
    if not findings:
        typer.echo(f"{form} has no variables.")
        if json_file is not None:
            write_json(json_file, [])
        return
    first = findings[0]
    typer.echo(
        f"{form} against {first.course.environment} forms, at least {first.minimum} of them (p = {prevalence:g})"
    )
    wide = max(len("variable"), *(len(found.variable) for found in findings))
    typer.echo(f"{'variable':{wide}}  its code  in forms  maximal harmonisation")
    for found in findings:
        typer.echo(f"{found.variable:{wide}}  {found.target:8}  {found.forms:8}  {_answer(found)}")
    if json_file is not None and write_json(json_file, [_document(found) for found in findings]):
        typer.echo(f"wrote {json_file}")
    if chart is not None:
        from gemel.risk.keyvars.pictures import draw_courses

        put(chart, draw_courses({found.variable: found.course for found in findings}, form))


def _answer(found: Finding) -> str:
    if found.step is None:
        return "none: too few forms have it"
    size = "any precision" if found.step.size == float("inf") else f"{found.step.size:g} categories"
    return f"{' or '.join(found.codes)} ({size}, {found.step.forms} forms)"


def _document(found: Finding) -> dict[str, object]:
    def size(value: float) -> float | None:
        return None if value == float("inf") else value

    return {
        "variable": found.variable,
        "target": found.target,
        "forms": found.forms,
        "environment": found.course.environment,
        "minimum": found.minimum,
        "codes": list(found.codes),
        "size": None if found.step is None else size(found.step.size),
        "course": [{"forms": step.forms, "size": size(step.size)} for step in found.course.steps],
    }
