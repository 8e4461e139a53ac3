"""A gRPC server as every Tryst service runs it: mutual TLS, a bounded pool, bounded messages, health, no reflection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role
from tryst.common.rpc.access import ACCESS
from tryst.common.rpc.interceptor import Admit, Denied, Gate, caller
from tryst.common.rpc.limits import MAX_MESSAGE_BYTES

__all__ = ["RunningServer", "ServerSettings", "caller", "start_server"]

Service = tuple[Callable[[Any, grpc.Server], None], Any]
"""The generated ``add_..._to_server`` function and the servicer it registers."""


@dataclass(frozen=True)
class ServerSettings:
    """Limits of one server."""

    threads: int = 16
    max_concurrent_rpcs: int = 64
    max_connection_idle_ms: int = 10 * 60_000
    max_connection_age_ms: int = 60 * 60_000
    handshake_timeout_ms: int = 5_000


class RunningServer:
    """A started server and its health."""

    def __init__(self, server: grpc.Server, port: int, health_servicer: health.HealthServicer) -> None:
        self._server = server
        self._health = health_servicer
        self.port = port

    def report(self, *, serving: bool) -> None:
        """Report to health checks whether the service can do what it is for."""
        states = health_pb2.HealthCheckResponse
        self._health.set("", states.SERVING if serving else states.NOT_SERVING)

    def stop(self, grace: float = 10.0) -> None:
        """Report NOT_SERVING, let calls under way finish within `grace` seconds, then close."""
        self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()


def start_server(
    address: str,
    services: Sequence[Service],
    credentials: grpc.ServerCredentials,
    admit: Admit,
    settings: ServerSettings | None = None,
    access: Mapping[str, frozenset[Role]] = ACCESS,
    denied: Denied | None = None,
) -> RunningServer:
    """Start serving.

    Parameters
    ----------
    address
        ``host:port``; port 0 takes a free one, which is `RunningServer.port`.
    services
        The services to register.
    credentials
        Must require and verify the client's certificate.
    admit
        Finds the member a certificate belongs to.
    denied
        Called for every denied call.

    Raises
    ------
    TrystError
        If the address cannot be bound.
    """
    settings = settings or ServerSettings()
    server = grpc.server(
        ThreadPoolExecutor(max_workers=settings.threads, thread_name_prefix="rpc"),
        interceptors=[Gate(access, admit, denied)],
        maximum_concurrent_rpcs=settings.max_concurrent_rpcs,
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            # Two servers on one port would silently split the calls between them.
            ("grpc.so_reuseport", 0),
            ("grpc.server_handshake_timeout_ms", settings.handshake_timeout_ms),
            ("grpc.max_connection_idle_ms", settings.max_connection_idle_ms),
            ("grpc.max_connection_age_ms", settings.max_connection_age_ms),
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 30_000),
        ],
    )
    for add, servicer in services:
        add(servicer, server)
    health_servicer = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    try:
        port = server.add_secure_port(address, credentials)
    except RuntimeError:
        port = 0
    if port == 0:
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "cannot listen on this address",
            where=address,
            remedy="choose another port, or stop the process that uses this one",
        )
    server.start()
    health_servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    return RunningServer(server, port, health_servicer)
