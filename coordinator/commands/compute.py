"""``gemel compute``: the coordinator's and a steward's part in computations of mode shared, as a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.processes import OPTION


def command(
    config: Annotated[
        Path,
        typer.Option(
            "--config",
            help="The configuration of a coordinator or a steward.",
            envvar=["GEMEL_COMPUTE", "GEMEL_COORDINATOR", "GEMEL_STEWARD"],
        ),
    ] = Path("coordinator.yaml"),
    once: Annotated[
        bool, typer.Option("--once", help="End after one computation; with status 1 if it has failed.")
    ] = False,
    ready_file: Annotated[
        Path | None, typer.Option(help="Write this file, JSON with the member, once Carole has answered.")
    ] = None,
    with_parent: Annotated[
        bool, typer.Option(OPTION, help="End in order when standard input ends.", hidden=True)
    ] = False,
) -> None:
    """Compute for a coordinator or a steward in mode shared: wait for Carole's runs, and take part in each.

    Specifications of mode `shared` name the two members who compute with Carole on shares of the records, of which none
    of the three can read anything alone. Both have this process running, each on a machine of its own. It verifies
    what it takes part in, and shows it; whatever breaks is begun again by itself. It sends nothing of its own, and
    keeps nothing. Ctrl-C ends it.
    """
    from gemel.coordinator.client.compute_service import serve

    serve(config, once=once, ready_file=ready_file, with_parent=with_parent)
