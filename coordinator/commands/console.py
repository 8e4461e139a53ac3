"""``gemel console``: what coordinators and stewards do by commands, on pages in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.coordinator.commands.dialogues import MemberConfig


def command(
    config: MemberConfig = Path("coordinator.yaml"),
    listen: Annotated[
        str | None,
        typer.Option(help="Host and port, in place of the configuration's; by default loopback and any free port."),
    ] = None,
) -> None:
    """Open the console of a coordinator or a steward in a browser: projects, runs, reports, decisions, the audit log.

    Which pages there are follows from the role of the member whose keys the configuration names. It listens on this
    machine only, and prints a link that opens it once; a session ends when it is not used. Where an organisation shares
    one, the configuration names its single sign-on. Ctrl-C ends it.
    """
    from gemel.common.configuration import load_configuration
    from gemel.common.web.serving import Place, listening, show_link
    from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
    from gemel.coordinator.console.application import console_of
    from gemel.coordinator.console.member import member_of

    with member_of(config) as member:
        settings = listening(load_configuration(config, CoordinatorConfiguration).console, listen)
        place = Place(settings)
        typer.echo(f"Console of the {member.role} {member.name} at {place.base}. Ctrl-C ends it.")
        app = console_of(member, settings, place.base, place.rules, show_link)
        place.serve(app)
