"""A console that listens: on loopback, or where it is configured to, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import socket
from contextlib import closing

import uvicorn
from starlette.types import ASGIApp

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.web.console_configuration import ConsoleConfiguration
from tryst.common.web.guard import GuardRules

_STOP_SECONDS = 2


class Place:
    """Where a console listens: a socket that is bound already, so that its address can be shown and checked.

    Parameters
    ----------
    settings
        Of the console.

    Raises
    ------
    TrystError
        CONFIGURATION if the address cannot be listened on.
    """

    def __init__(self, settings: ConsoleConfiguration) -> None:
        self._settings = settings
        host, _, port = settings.listen.rpartition(":")
        host = host.strip("[]")
        try:
            self.socket = socket.create_server((host, int(port)), family=_family(host), backlog=128)
        except OSError as error:
            raise TrystError(
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
        from tryst.common.web.application import OPEN_PATHS

        scheme, _, host = self.base.partition("://")
        is_secure = scheme == "https"
        name = f"tryst-console-{self.port}"
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


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
