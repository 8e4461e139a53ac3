"""``tryst carole``: what Carole's operator does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Carole, the linkage unit: she links signatures and never sees a name.", no_args_is_help=True)

Config = Annotated[Path, typer.Option("--config", help="Carole's configuration file.")]


@app.callback()
def carole() -> None:
    """Carole, the linkage unit: she links signatures and never sees a name."""


@app.command()
def serve(
    config: Config = Path("carole.yaml"),
    ready_file: Annotated[
        Path | None, typer.Option(help="Write this file, JSON with the address, once Carole answers.")
    ] = None,
) -> None:
    """Serve until told to stop (SIGTERM, or Ctrl-C).

    Carole is the only one who listens on a network: custodians and coordinator call her. Her log goes to standard
    error, a JSON object a line, and holds no record's value.
    """
    from tryst.carole.service.application import serve as run

    run(config, ready_file)


@app.command()
def check(config: Config = Path("carole.yaml")) -> None:
    """Look at configuration, certificates and membership list, and tell every mistake; nothing is started."""
    from tryst.carole.configuration import load_carole
    from tryst.common.keys.wrapping import WrappingKeys
    from tryst.common.parties import Role
    from tryst.common.pki.folders import PartyFolder
    from tryst.common.pki.members import Members
    from tryst.common.rpc.tls import server_credentials

    configuration = load_carole(config)
    folder = PartyFolder(configuration.keys)
    server_credentials(folder.path, Role.LINKER)
    WrappingKeys.load(folder.wrapping)
    members = Members.load(configuration.members or folder.members)
    typer.echo(f"{config}: Carole would listen on {configuration.listen} for {len(members)} members.")


@app.command()
def health(config: Config = Path("carole.yaml")) -> None:
    """Ask the running Carole on this machine whether she serves; ends with status 1 if not."""
    from tryst.carole.service.health import check_health

    typer.echo(f"Carole serves on {check_health(config)}.")
