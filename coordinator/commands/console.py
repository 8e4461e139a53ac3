"""``tryst console``: what coordinators and stewards do by commands, on pages in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tryst.common.web.console_configuration import ConsoleConfiguration


def command(
    config: Annotated[
        Path,
        typer.Option(
            "--config",
            help="The configuration of a coordinator or a steward.",
            envvar=["TRYST_CONSOLE", "TRYST_COORDINATOR", "TRYST_STEWARD"],
        ),
    ] = Path("coordinator.yaml"),
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
    from tryst.common.configuration import load_configuration
    from tryst.common.web.serving import Place
    from tryst.coordinator.client.client_configuration import CoordinatorConfiguration
    from tryst.coordinator.console.application import console_of
    from tryst.coordinator.console.member import member_of

    with member_of(config) as member:
        settings = load_configuration(config, CoordinatorConfiguration).console
        if listen is not None:
            settings = _listening(settings, listen)
        place = Place(settings)
        typer.echo(f"Console of the {member.role} {member.name} at {place.base}. Ctrl-C ends it.")
        app = console_of(member, settings, place.base, place.rules, _show_link)
        place.serve(app)


def _listening(settings: ConsoleConfiguration, listen: str) -> ConsoleConfiguration:
    """A console's settings with another place to listen."""
    from pydantic import ValidationError

    from tryst.common.errors import ErrorCode, TrystError
    from tryst.common.web.console_configuration import is_loopback

    if not is_loopback(listen.rpartition(":")[0]) and settings.sign_on is None:
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "a console without single sign-on listens on loopback only",
            where="--listen",
            got=listen,
            remedy="use 127.0.0.1:PORT, or configure console.sign_on: see docs/console.md",
        )
    try:
        return type(settings).model_validate({**settings.model_dump(), "listen": listen})
    except ValidationError:
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "a console listens on a host and port, with a certificate if it is not loopback",
            where="--listen",
            got=listen,
            remedy="give one such as 127.0.0.1:8710",
        ) from None


def _show_link(link: str) -> None:
    typer.echo(f"Open it once by this link, which is for you alone: {link}")
