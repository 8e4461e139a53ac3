"""A gRPC server as every Gemel service runs it: mutual TLS, fair shares, bounded messages, health, no reflection."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.logging_setup import place_of
from gemel.common.parties import Role
from gemel.common.pki.members import Member
from gemel.common.rpc.access import ACCESS, require_caller
from gemel.common.rpc.status import MAX_MESSAGE_BYTES, for_others, is_own_failure, status_of, to_metadata, typed
from gemel.common.rpc.trust import Trust
from gemel.serving.call_recorder import CallRecorder, note_caller, note_error
from gemel.serving.dispatch import Dispatcher, run_in_loop, shown_chain
from gemel.serving.fairness import IN_LOOP, MemberLimits

log = structlog.get_logger()

MAX_DEADLINE_SECONDS = 3600.0
"""No call may be open for longer: long computations are runs of the worker."""

Admit = Callable[[bytes], Member]
"""Finds the member that a peer's certificate belongs to, as `shown_chain` gives it, or raises `GemelError`."""

Denied = Callable[[str, str], None]
"""Called for every denied call with the caller's name, empty if it is no member, and the method."""

Metadata = Iterable[tuple[str, str | bytes]]
Behaviour = Callable[[Any, Any], Any]

_callers: dict[int, Member] = {}


def caller(context: grpc.ServicerContext) -> Member:
    """The member who makes this call, as admitted by the gate."""
    return _callers[id(context)]


class Gate:
    """Wraps every handler with the checks that every method needs.

    With `own_operator` the callers are the service's own operator, who reads every error whole.
    """

    def __init__(
        self,
        access: Mapping[str, frozenset[Role]],
        admit: Admit,
        denied: Denied | None,
        *,
        own_operator: bool,
    ) -> None:
        self._access = access
        self._admit = admit
        self._denied = denied
        self._own_operator = own_operator

    def wrapped(self, handler: Any, details: Any) -> Any:
        """A method's handler behind the checks; None for one that is not supported."""
        method, metadata = details.method, details.invocation_metadata
        behaviour = _parsing(method, handler.unary_unary or handler.unary_stream, handler.request_deserializer)
        if handler.unary_unary is not None:
            guarded = self._awaited if method in IN_LOOP else self._unary
            answer = guarded(method, metadata, behaviour)
            return handler._replace(unary_unary=answer, request_deserializer=None)
        if handler.unary_stream is not None:
            streamed = self._stream(method, metadata, behaviour)
            return handler._replace(unary_stream=streamed, request_deserializer=None)
        # Streams from a client are not supported: their end is no proof of completeness.
        return None

    def _unary(self, method: str, metadata: Metadata, behaviour: Behaviour) -> Behaviour:
        def guarded(request: bytes, context: grpc.ServicerContext) -> Any:
            with self._entered(method, metadata, context):
                return behaviour(request, context)

        return guarded

    def _awaited(self, method: str, metadata: Metadata, behaviour: Behaviour) -> Behaviour:
        async def guarded(request: bytes, context: grpc.ServicerContext) -> Any:
            try:
                self._enter(method, metadata, context)
                return await behaviour(request, context)
            except Exception as error:  # noqa: BLE001 - nothing may reach the peer unconverted
                # A denial is written to the store, and the loop must not wait for that.
                await asyncio.get_running_loop().run_in_executor(None, self._record, method, context, error)
                self._refuse(method, context, error)
            finally:
                _callers.pop(id(context), None)

        return guarded

    def _stream(self, method: str, metadata: Metadata, behaviour: Behaviour) -> Behaviour:
        def guarded(request: bytes, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._entered(method, metadata, context):
                for response in behaviour(request, context):
                    # A stream may be open for an hour, and its caller be removed from the list meanwhile.
                    self._identified(method, context)
                    yield response

        return guarded

    @contextmanager
    def _entered(self, method: str, metadata: Metadata, context: grpc.ServicerContext) -> Iterator[None]:
        try:
            self._enter(method, metadata, context)
            yield
        except Exception as error:  # noqa: BLE001 - nothing may reach the peer unconverted
            self._record(method, context, error)
            self._refuse(method, context, error)
        finally:
            _callers.pop(id(context), None)

    def _enter(self, method: str, metadata: Metadata, context: grpc.ServicerContext) -> None:
        require_caller(self._identified(method, context).role, metadata)
        remaining = context.time_remaining()
        if remaining is None or remaining > MAX_DEADLINE_SECONDS:
            what = "every call needs a deadline of at most an hour"
            got = "none" if remaining is None else f"{remaining:.0f} s"
            remedy = "set a timeout on the call"
            raise GemelError(ErrorCode.DEADLINE_MISSING, what, where=method, got=got, remedy=remedy)

    def _identified(self, method: str, context: grpc.ServicerContext) -> Member:
        """Admit the caller, by the list as it is now."""
        member = self._identify(method, context)
        if member is not None:
            _callers[id(context)] = member
            note_caller(context, member)
        if member is None or member.role not in self._access.get(method, frozenset()):
            what = "this certificate may not call this method"
            remedy = "ask the service's operator whether its membership list holds your certificate and role"
            raise GemelError(ErrorCode.NOT_ADMITTED, what, where=method, remedy=remedy)
        return member

    def _record(self, method: str, context: grpc.ServicerContext, error: Exception) -> None:
        denials = (ErrorCode.NOT_ADMITTED, ErrorCode.SIGNATURE, ErrorCode.MALFORMED)
        if self._denied is None or not isinstance(error, GemelError) or error.code not in denials:
            return
        member = _callers.get(id(context))
        try:
            self._denied("" if member is None else member.name, method)
        except GemelError as unrecorded:
            log.error("a denied call could not be recorded", method=method, code=unrecorded.code.name)

    def _identify(self, method: str, context: grpc.ServicerContext) -> Member | None:
        shown = shown_chain(context)
        if not shown:
            log.warning("denied", method=method, reason="no client certificate")
            return None
        try:
            return self._admit(shown)
        except GemelError as error:
            # The operator learns the reason; the caller, who may be anyone, only that it is not admitted.
            log.warning("denied", method=method, reason=str(error))
            return None

    def _refuse(self, method: str, context: grpc.ServicerContext, error: Exception) -> NoReturn:
        member = _callers.get(id(context))
        who = "" if member is None else member.name
        found = typed(error)
        if found is None:
            incident = secrets.token_hex(8)
            kind, at = type(error).__name__, place_of(error)
            log.error("incident", incident=incident, method=method, member=who, type=kind, at=at)
            what, remedy = "something unforeseen happened", "give this number to the service's operator"
            found = GemelError(ErrorCode.INTERNAL, what, where=method, got=f"incident {incident}", remedy=remedy)
        elif is_own_failure(found.code) and not self._own_operator:
            log.error("service failed a call", method=method, member=who, code=found.code.name, error=str(found))
            found = for_others(found)
        else:
            log.info("refused", method=method, member=who, code=found.code.name, where=found.where)
        note_error(context, found.code)
        context.set_trailing_metadata(to_metadata(found))
        context.abort(status_of(found.code), found.what[:200])
        raise AssertionError("abort always raises")


def _parsing(method: str, behaviour: Behaviour, parse: Callable[[bytes], Any]) -> Behaviour:
    def parsing(request: bytes, context: grpc.ServicerContext) -> Any:
        try:
            message = parse(request)
        except DecodeError:
            what = "the request is no message of this method"
            got = f"{len(request)} bytes that cannot be parsed"
            remedy = "run the same version of Gemel on both sides"
            raise GemelError(ErrorCode.MALFORMED, what, where=method, got=got, remedy=remedy) from None
        return behaviour(message, context)

    return parsing


Service = tuple[Callable[[Any, grpc.Server], None], Any]
"""The generated ``add_..._to_server`` function and the servicer it registers."""


@dataclass(frozen=True)
class ServerSettings:
    """Limits of one server."""

    threads: int = 48
    """For all methods but long polls: so many members' calls that are worked on as have room in it."""
    member: MemberLimits = field(default_factory=MemberLimits)
    max_connections: int = 4096
    max_streams: int = 128
    """Connections of all callers, and calls on one connection."""
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
    """Start serving at ``host:port``; port 0 takes a free one, which is `RunningServer.port`.

    `denied` is called for every denied call, `recorder` records every call; with `own_operator` the callers are the
    service's own operator, who reads every error whole. Raises GemelError if the address cannot be bound.
    """
    settings = settings or ServerSettings()
    gate = Gate(access, trust, denied, own_operator=own_operator)
    dispatcher = Dispatcher(gate.wrapped, recorder, trust, settings.member, settings.threads)
    health_servicer = health.HealthServicer()
    registered = [*services, (health_pb2_grpc.add_HealthServicer_to_server, health_servicer)]
    try:
        server, port = run_in_loop(_listen(address, registered, trust.credentials(), dispatcher, settings))
    except RuntimeError:
        dispatcher.close()
        what = "cannot listen on this address"
        remedy = "choose another port, or stop the process that uses this one"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=address, remedy=remedy) from None
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
