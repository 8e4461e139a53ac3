"""``gemel analyst``: who receives columns of linked records without being a party to the linkage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.terminal.output import Json, print_json

app = typer.Typer(
    help="Receive columns of linked records that a specification grants you (`release.variables`), sealed to your key "
    "by the custodians: one linked file, without identifiers.",
    no_args_is_help=True,
)

Config = Annotated[Path, typer.Option("--config", help="The analyst's configuration.", envvar="GEMEL_ANALYST")]
DEFAULT_CONFIG = Path("analyst.yaml")


@app.callback()
def analyst() -> None:
    """Receive what a specification grants."""


@app.command("list")
def list_granted(config: Config = DEFAULT_CONFIG, as_json: Json = False) -> None:
    """Show the projects that grant you columns, and whether the custodians have sent them."""
    from gemel.coordinator.client.analyst_client import connect_analyst

    with connect_analyst(config) as connected:
        found = connected.projects()
    if as_json:
        print_json([project.document() for project in found])
        return
    if not found:
        typer.echo("No specification grants you columns.")
    for project in found:
        typer.echo(f"{project.spec.project}: {project.state}")


@app.command()
def fetch(
    project: Annotated[str, typer.Argument(help="The project's name.")],
    out: Annotated[
        Path, typer.Option(help="Folder for linked.parquet, and linked_draws.parquet where linkages are drawn.")
    ] = Path("results"),
    config: Config = DEFAULT_CONFIG,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Fetch the columns that both custodians have sent, verify their signatures, and write the linked file.

    Each row is a link: its id, its probability, and the granted columns. The file says in its metadata of which run and
    specification it is.
    """
    from gemel.common.documents.document import CLASSES, LINKED_FILES
    from gemel.common.errors import ErrorCode, GemelError
    from gemel.coordinator.client.analyst_client import connect_analyst

    if not force and (there := [name for name in LINKED_FILES.values() if (out / name).exists()]):
        remedy = "choose another folder with --out, or use --force"
        raise GemelError(ErrorCode.EXISTS, "the file exists", where=str(out / there[0]), remedy=remedy)
    with connect_analyst(config) as connected:
        granted = connected.project(project)
        received, roots = connected.fetch(granted)
        paths = received.write(out)
        connected.acknowledge(granted, roots)
    for path, table in zip(paths, received.tables.values(), strict=True):
        typer.echo(f"wrote {path}: {table.height:,} rows, {table.width} columns")
    typer.echo(f"of project {project}, run {received.run}; link_probability is")
    typer.echo(CLASSES)
