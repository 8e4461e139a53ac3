"""A console that listens: on loopback, or where it is configured to, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import socket
from contextlib import closing

import typer
import uvicorn
from pydantic import ValidationError
from starlette.types import ASGIApp

from gemel.common.configuration import ConsoleConfiguration, is_loopback
from gemel.common.errors import ErrorCode, GemelError
from gemel.console.web.guard import GuardRules

_STOP_SECONDS = 2


class Place:
    """Where a console listens: a socket that is bound already, so that its address can be shown and checked."""

    def __init__(self, settings: ConsoleConfiguration) -> None:
        self._settings = settings
        host, _, port = settings.listen.rpartition(":")
        host = host.strip("[]")
        try:
            self.socket = socket.create_server((host, int(port)), family=_family(host), backlog=128)
        except OSError as error:
            raise GemelError(
                ErrorCode.CONFIGURATION,
                "the console cannot listen",
                where=settings.listen,
                got=(error.strerror or type(error).__name__).lower(),
                remedy="choose another address or port with --listen, or under console.listen",
            ) from None
        self.port: int = self.socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        scheme = "http" if settings.certificate is None else "https"
        self.base = settings.url or f"{scheme}://{shown}:{self.port}"

    @property
    def rules(self) -> GuardRules:
        """What the guard lets through here."""
        from gemel.console.web.application import OPEN_PATHS

        scheme, _, host = self.base.partition("://")
        is_secure = scheme == "https"
        name = f"gemel-console-{self.port}"
        return GuardRules((host,), (self.base,), f"__Host-{name}" if is_secure else name, OPEN_PATHS, is_secure)

    def serve(self, app: ASGIApp) -> None:
        """Answer until the process is signalled to stop."""
        files = [None if path is None else str(path) for path in (self._settings.certificate, self._settings.key)]
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
        with closing(self.socket):
            uvicorn.Server(config).run([self.socket])


def listening(settings: ConsoleConfiguration, listen: str | None) -> ConsoleConfiguration:
    """A console's settings, with another place to listen if one is given with ``--listen``."""
    if listen is None:
        return settings
    if not is_loopback(listen.rpartition(":")[0]) and settings.sign_on is None:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "a console without single sign-on listens on loopback only",
            where="--listen",
            got=listen,
            remedy="use 127.0.0.1:PORT, or configure console.sign_on: see docs/console.md",
        )
    try:
        return type(settings).model_validate({**settings.model_dump(), "listen": listen})
    except ValidationError:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "a console listens on a host and port, with a certificate if it is not loopback",
            where="--listen",
            got=listen,
            remedy="give one such as 127.0.0.1:8710",
        ) from None


def show_link(link: str) -> None:
    """Print a one-time link in the terminal in which a console was started."""
    typer.echo(f"Open it once by this link, which is for you alone: {link}")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
