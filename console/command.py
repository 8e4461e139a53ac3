"""``gemel console``, ``gemel alice console`` and ``gemel bob console``: what is done by commands, in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gemel.common.parties import Party
from gemel.custodian.operator.decision_commands import Config

Listen = Annotated[
    str | None,
    typer.Option(help="Host and port, in place of the configuration's; by default loopback and any free port."),
]


def command(
    config: Annotated[
        Path,
        typer.Option(
            "--config",
            help="The configuration of a coordinator or a steward.",
            envvar=["GEMEL_CONSOLE", "GEMEL_COORDINATOR", "GEMEL_STEWARD"],
        ),
    ] = Path("coordinator.yaml"),
    listen: Listen = None,
) -> None:
    """Open the console of a coordinator or a steward in a browser: projects, runs, reports, decisions, the audit log.

    Which pages there are follows from the role of the member whose keys the configuration names. It listens on this
    machine only, and prints a link that opens it once; a session ends when it is not used. Where an organisation shares
    one, the configuration names its single sign-on. Ctrl-C ends it.
    """
    from gemel.common.configuration import load_configuration
    from gemel.console.coordinator.application import console_of
    from gemel.console.coordinator.member import member_of
    from gemel.console.web.serving import Place, listening, show_link
    from gemel.coordinator.client.client_configuration import CoordinatorConfiguration

    with member_of(config) as member:
        settings = listening(load_configuration(config, CoordinatorConfiguration).console, listen)
        place = Place(settings)
        typer.echo(f"Console of the {member.role} {member.name} at {place.base}. Ctrl-C ends it.")
        app = console_of(member, settings, place.base, place.rules, show_link)
        place.serve(app)


def add_console(app: typer.Typer, party: Party) -> None:
    default = Path(os.environ.get(f"GEMEL_{party.name.upper()}", f"{party.name}.yaml"))

    @app.command()
    def console(
        config: Config = default,
        listen: Listen = None,
    ) -> None:
        """Open the console in a browser: projects, what would leave, what Carole could learn, decisions, results.

        It asks the running service as the other commands do. It listens on this machine only, and prints a link that
        opens it once; a session ends when it is not used. Keys, seeds and records are on no page, and seeds are agreed
        on by no click. Ctrl-C ends it.
        """
        from gemel.common.rpc.tls import channel_credentials
        from gemel.console.custodian.application import console_of
        from gemel.console.custodian.custodian import Custodian
        from gemel.console.web.serving import Place, listening, show_link
        from gemel.custodian.configuration import load_custodian

        custodian = Custodian(party, config.absolute())
        configuration = load_custodian(config)
        # Keys that are another party's are named now, and not on each page.
        channel_credentials(configuration.keys, party.role, party.role)
        settings = listening(configuration.console, listen)
        place = Place(settings)
        typer.echo(f"Console of {party.title} at {place.base}. Ctrl-C ends it.")
        app = console_of(custodian, settings, place.base, place.rules, show_link)
        place.serve(app)
