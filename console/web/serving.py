"""A console that listens: on loopback, or where it is configured to, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing

import typer
import uvicorn
from pydantic import ValidationError
from starlette.types import ASGIApp

from gemel.common.configuration import ConsoleConfiguration, is_loopback
from gemel.common.errors import ErrorCode, GemelError
from gemel.console.web.guard import GuardRules

_STOP_SECONDS = 2


def listen_and_serve(
    settings: ConsoleConfiguration,
    listen: str | None,
    whose: str,
    console_of: Callable[[ConsoleConfiguration, GuardRules, Callable[[str], None]], ASGIApp],
) -> None:
    """Answer until the process is signalled to stop, where it is configured or at another place given by `listen`.

    `console_of` makes the console of its settings and its guard's rules, and of what shows a one-time link.
    """
    settings = _listening(settings, listen)
    host, _, port = settings.listen.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Bound already, so that its address can be shown and checked.
        bound = socket.create_server((host, int(port)), family=family, backlog=128)
    except OSError as error:
        what = "the console cannot listen"
        got = (error.strerror or type(error).__name__).lower()
        remedy = "choose another address or port with --listen, or under console.listen"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=settings.listen, got=got, remedy=remedy) from None
    own_port = bound.getsockname()[1]
    scheme = "http" if settings.certificate is None else "https"
    base = settings.url or f"{scheme}://{f'[{host}]' if ':' in host else host}:{own_port}"
    typer.echo(f"Console of {whose} at {base}. Ctrl-C ends it.")
    cookie = f"{'__Host-' if base.startswith('https:') else ''}gemel-console-{own_port}"
    app = console_of(
        settings,
        GuardRules(base, cookie),
        lambda link: typer.echo(f"Open it once by this link, which is for you alone: {link}"),
    )
    files = [None if path is None else str(path) for path in (settings.certificate, settings.key)]
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        ssl_certfile=files[0],
        ssl_keyfile=files[1],
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    with closing(bound):
        uvicorn.Server(config).run([bound])


def _listening(settings: ConsoleConfiguration, listen: str | None) -> ConsoleConfiguration:
    """A console's settings, with another place to listen if one is given with ``--listen``."""
    if listen is None:
        return settings
    if not is_loopback(listen.rpartition(":")[0]) and settings.sign_on is None:
        what = "a console without single sign-on listens on loopback only"
        remedy = "use 127.0.0.1:PORT, or configure console.sign_on: see docs/console.md"
        raise GemelError(ErrorCode.CONFIGURATION, what, where="--listen", got=listen, remedy=remedy)
    try:
        return type(settings).model_validate({**settings.model_dump(), "listen": listen})
    except ValidationError:
        what = "a console listens on a host and port, with a certificate if it is not loopback"
        remedy = "give one such as 127.0.0.1:8710"
        raise GemelError(ErrorCode.CONFIGURATION, what, where="--listen", got=listen, remedy=remedy) from None
