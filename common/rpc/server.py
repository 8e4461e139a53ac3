"""A gRPC server as every Gemel service runs it: mutual TLS, fair shares, bounded messages, health, no reflection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.rpc.access import ACCESS
from gemel.common.rpc.call_recorder import CallRecorder
from gemel.common.rpc.dispatch import Dispatcher
from gemel.common.rpc.event_loop import run_in_loop
from gemel.common.rpc.fairness import MemberLimits
from gemel.common.rpc.interceptor import Denied, Gate, caller
from gemel.common.rpc.limits import MAX_MESSAGE_BYTES
from gemel.common.rpc.trust import Trust

__all__ = ["RunningServer", "ServerSettings", "caller", "start_server"]

Service = tuple[Callable[[Any, grpc.Server], None], Any]
"""The generated ``add_..._to_server`` function and the servicer it registers."""


@dataclass(frozen=True)
class ServerSettings:
    """Limits of one server.

    Attributes
    ----------
    threads
        For all methods but long polls: so many members' calls that are worked on as have room in it.
    member
        Of each member.
    max_connections, max_streams
        Connections of all callers, and calls on one connection.
    """

    threads: int = 48
    member: MemberLimits = field(default_factory=MemberLimits)
    max_connections: int = 4096
    max_streams: int = 128
    max_connection_idle_ms: int = 10 * 60_000
    max_connection_age_ms: int = 60 * 60_000
    handshake_timeout_ms: int = 5_000


class RunningServer:
    """A started server and its health."""

    def __init__(
        self, server: grpc.aio.Server, port: int, dispatcher: Dispatcher, health_servicer: health.HealthServicer
    ) -> None:
        self._server = server
        self._dispatcher = dispatcher
        self._health = health_servicer
        self.port = port

    def report(self, *, serving: bool) -> None:
        """Report to health checks whether the service can do what it is for."""
        states = health_pb2.HealthCheckResponse
        self._health.set("", states.SERVING if serving else states.NOT_SERVING)

    def stop(self, grace: float = 10.0) -> None:
        """Report NOT_SERVING, let calls under way finish within `grace` seconds, then close."""
        self._health.enter_graceful_shutdown()
        run_in_loop(self._server.stop(grace))
        self._dispatcher.close()


def start_server(
    address: str,
    services: Sequence[Service],
    trust: Trust,
    settings: ServerSettings | None = None,
    access: Mapping[str, frozenset[Role]] = ACCESS,
    denied: Denied | None = None,
    *,
    own_operator: bool = False,
    recorder: CallRecorder | None = None,
) -> RunningServer:
    """Start serving.

    Parameters
    ----------
    address
        ``host:port``; port 0 takes a free one, which is `RunningServer.port`.
    services
        The services to register.
    trust
        The service's certificate, and whom it admits.
    denied
        Called for every denied call.
    own_operator
        Whether the callers are the service's own operator, who reads every error whole.
    recorder
        Records every call; by default none is.

    Raises
    ------
    GemelError
        If the address cannot be bound.
    """
    settings = settings or ServerSettings()
    gate = Gate(access, trust, denied, own_operator=own_operator)
    dispatcher = Dispatcher(gate, recorder, trust, settings.member, settings.threads)
    health_servicer = health.HealthServicer()
    registered = [*services, (health_pb2_grpc.add_HealthServicer_to_server, health_servicer)]
    try:
        server, port = run_in_loop(_listen(address, registered, trust.credentials(), dispatcher, settings))
    except RuntimeError:
        dispatcher.close()
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "cannot listen on this address",
            where=address,
            remedy="choose another port, or stop the process that uses this one",
        ) from None
    health_servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    return RunningServer(server, port, dispatcher, health_servicer)


async def _listen(
    address: str,
    services: Sequence[Service],
    credentials: grpc.ServerCredentials,
    dispatcher: Dispatcher,
    settings: ServerSettings,
) -> tuple[grpc.aio.Server, int]:
    server = grpc.aio.server(
        interceptors=[dispatcher],
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            # Two servers on one port would silently split the calls between them.
            ("grpc.so_reuseport", 0),
            ("grpc.max_allowed_incoming_connections", settings.max_connections),
            ("grpc.max_concurrent_streams", settings.max_streams),
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
    port = server.add_secure_port(address, credentials)
    await server.start()
    return server, port
