"""The checks before every method (deadline, known caller, permitted role), and errors that reveal nothing after it.

gRPC's own interceptor cannot see the peer, so it wraps the handlers instead, which receive the context. Python gRPC
would send an unforeseen exception's text to the peer; here the peer gets an incident id, and the log gets the id with
the exception's type and place, without its text, which may hold a value.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import grpc
import structlog

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.logging_setup import place_of
from tryst.common.parties import Role
from tryst.common.pki.members import Member
from tryst.common.rpc.status import status_of, to_metadata

log = structlog.get_logger()

MAX_DEADLINE_SECONDS = 3600.0
"""No call may be open for longer: long computations are runs of the worker."""

Admit = Callable[[bytes], Member]
"""Finds the member that a peer's certificate (PEM) belongs to, or raises `TrystError`."""

Denied = Callable[[str, str], None]
"""Called for every denied call with the caller's name, empty if it is no member, and the method."""

_callers: dict[int, Member] = {}


def caller(context: grpc.ServicerContext) -> Member:
    """The member who makes this call, as admitted by the gate."""
    return _callers[id(context)]


class Gate(grpc.ServerInterceptor):  # type: ignore[misc]
    """Wraps every handler with the checks that every method needs."""

    def __init__(self, access: Mapping[str, frozenset[Role]], admit: Admit, denied: Denied | None = None) -> None:
        self._access = access
        self._admit = admit
        self._denied = denied

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Return the method's handler with the checks around it."""
        handler = continuation(details)
        if handler is None:
            return None
        method = details.method
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                self._unary(method, handler.unary_unary),
                handler.request_deserializer,
                handler.response_serializer,
            )
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(
                self._stream(method, handler.unary_stream),
                handler.request_deserializer,
                handler.response_serializer,
            )
        # Streams from a client are not supported: their end is no proof of completeness.
        return None

    def _unary(self, method: str, behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def guarded(request: Any, context: grpc.ServicerContext) -> Any:
            with self._entered(method, context):
                return behaviour(request, context)

        return guarded

    def _stream(self, method: str, behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Iterator[Any]]:
        def guarded(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._entered(method, context):
                for response in behaviour(request, context):
                    # A stream may be open for an hour, and its caller be removed from the list meanwhile.
                    self._identified(method, context)
                    yield response

        return guarded

    @contextmanager
    def _entered(self, method: str, context: grpc.ServicerContext) -> Iterator[None]:
        try:
            self._enter(method, context)
            yield
        except Exception as error:  # noqa: BLE001 - nothing may reach the peer unconverted
            self._answer_with(method, context, error)
            _refuse(method, context, error)
        finally:
            _callers.pop(id(context), None)

    def _enter(self, method: str, context: grpc.ServicerContext) -> None:
        self._identified(method, context)
        remaining = context.time_remaining()
        if remaining is None or remaining > MAX_DEADLINE_SECONDS:
            raise TrystError(
                ErrorCode.DEADLINE_MISSING,
                "every call needs a deadline of at most an hour",
                where=method,
                got="none" if remaining is None else f"{remaining:.0f} s",
                remedy="set a timeout on the call",
            )

    def _identified(self, method: str, context: grpc.ServicerContext) -> None:
        """Admit the caller, by the list as it is now."""
        member = self._identify(method, context)
        if member is not None:
            _callers[id(context)] = member
        if member is None or member.role not in self._access.get(method, frozenset()):
            raise TrystError(
                ErrorCode.NOT_ADMITTED,
                "this certificate may not call this method",
                where=method,
                remedy="ask the service's operator whether its membership list holds your certificate and role",
            )

    def _answer_with(self, method: str, context: grpc.ServicerContext, error: Exception) -> None:
        denials = (ErrorCode.NOT_ADMITTED, ErrorCode.SIGNATURE)
        if self._denied is None or not isinstance(error, TrystError) or error.code not in denials:
            return
        member = _callers.get(id(context))
        try:
            self._denied("" if member is None else member.name, method)
        except TrystError as blocking_error:
            log.error("a denied call could not be recorded", method=method, code=blocking_error.code.name)

    def _identify(self, method: str, context: grpc.ServicerContext) -> Member | None:
        certificates = context.auth_context().get("x509_pem_cert") or []
        if len(certificates) != 1:
            log.warning("denied", method=method, reason="no client certificate")
            return None
        try:
            return self._admit(certificates[0])
        except TrystError as error:
            # The operator learns the reason; the caller, who may be anyone, only that it is not admitted.
            log.warning("denied", method=method, reason=str(error))
            return None


def _refuse(method: str, context: grpc.ServicerContext, error: Exception) -> NoReturn:
    if not isinstance(error, TrystError):
        incident = secrets.token_hex(8)
        log.error("incident", incident=incident, method=method, type=type(error).__name__, at=place_of(error))
        error = TrystError(
            ErrorCode.INTERNAL,
            "something unforeseen happened",
            where=method,
            got=f"incident {incident}",
            remedy="give this number to the service's operator",
        )
    elif error.code is not ErrorCode.UNAVAILABLE:
        log.info("refused", method=method, code=error.code.name, where=error.where)
    context.set_trailing_metadata(to_metadata(error))
    context.abort(status_of(error.code), error.what[:200])
    raise AssertionError("abort always raises")
