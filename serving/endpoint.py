"""The HTTP endpoint of a service: ``/metrics`` for Prometheus, ``/livez`` and ``/readyz`` for probes, nothing else.

It answers GET only, holds no key and no certificate, and runs in threads of its own: a slow reader never holds one of
gRPC's. Connections are few and short: a further one, or one that takes too long, is closed.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.settings import host_and_port
from gemel.serving.readiness import State, is_ready

MAX_CONNECTIONS = 16
CONNECTION_SECONDS = 10.0
"""From the connection to the last byte of the response."""

Ready = Callable[[], dict[str, State]]
"""The state of every check by its name."""


class Endpoint:
    """A listening endpoint, ``IP:port``; port 0 takes a free one, which `address` has then. The registry is what
    ``/metrics`` shows, `ready` what ``/readyz`` does. Raises CONFIGURATION if the address cannot be listened on."""

    def __init__(self, listen: str, registry: CollectorRegistry, ready: Ready) -> None:
        host, port = host_and_port(listen)
        try:
            self._server = _Server(host, port, registry, ready)
        except OSError as error:
            what = f"cannot listen on this address: {(error.strerror or 'input error').lower()}"
            where = "observability.listen"
            remedy = 'choose another port, or "" for no endpoint'
            raise GemelError(ErrorCode.CONFIGURATION, what, where=where, got=listen, remedy=remedy) from None
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{shown}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="observability", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; connections under way are dropped with the process."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # `server_close` would wait for a slow reader.
    block_on_close = False
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, host: str, port: int, registry: CollectorRegistry, ready: Ready) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.registry, self.ready = registry, ready
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # The base class looks the host's name up, which may take seconds.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        assert isinstance(request, socket.socket)  # noqa: S101 - a TCP server's
        # A timeout of the socket starts again with every byte; this one does not.
        late = threading.Timer(CONNECTION_SECONDS, _shut, (request,))
        late.daemon = True
        late.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            late.cancel()
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A reader that went away is no event."""


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _answer(handler: _Handler) -> None:
    if handler.path == "/livez":
        _respond(handler, HTTPStatus.OK, "application/json", json.dumps({"live": True}).encode())
    elif handler.path == "/readyz":
        checks = handler.server.ready()
        ready = is_ready(checks)
        text = json.dumps({"ready": ready, "checks": {name: str(state) for name, state in checks.items()}})
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        _respond(handler, status, "application/json", text.encode())
    elif handler.path.partition("?")[0] == "/metrics":
        encode, kind = choose_encoder(handler.headers.get("Accept", ""))
        _respond(handler, HTTPStatus.OK, kind, encode(handler.server.registry))
    else:
        handler.send_error(HTTPStatus.NOT_FOUND)


def _respond(handler: _Handler, status: HTTPStatus, kind: str, content: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(content)))
    handler.send_header("Cache-Control", "no-store")
    handler.end_headers()
    handler.wfile.write(content)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "gemel"
    sys_version = ""
    timeout = CONNECTION_SECONDS
    do_GET = _answer  # noqa: N815 - every other method is refused by the base class

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Probes come every few seconds and are no event; what a request names would be a stranger's text."""
