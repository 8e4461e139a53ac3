"""The checks before every method (caller, role, release, deadline), and errors that reveal nothing after it.

gRPC's own interceptor cannot see the peer, so it wraps the handlers instead, which receive the context. Python gRPC
would send an unforeseen exception's text to the peer; here the peer gets an incident id, and the log gets the id with
the exception's type and place, without its text, which may hold a value. Failures of the service itself are logged as
errors, whole, for its operator; what a caller reads of them is in `common.rpc.status`.

A request is parsed here, after its caller is known, so that one that is no message of its method has a name in the log.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf.message import DecodeError

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.logging_setup import place_of
from gemel.common.parties import Role
from gemel.common.pki.members import Member
from gemel.common.rpc.call_context import shown_chain
from gemel.common.rpc.call_recorder import note_caller, note_error
from gemel.common.rpc.fairness import IN_LOOP
from gemel.common.rpc.protocol import require_caller
from gemel.common.rpc.status import for_others, is_own_failure, status_of, to_metadata, typed

log = structlog.get_logger()

MAX_DEADLINE_SECONDS = 3600.0
"""No call may be open for longer: long computations are runs of the worker."""

Admit = Callable[[bytes], Member]
"""Finds the member that a peer's certificate belongs to, as `shown_chain` gives it, or raises `GemelError`."""

Denied = Callable[[str, str], None]
"""Called for every denied call with the caller's name, empty if it is no member, and the method."""

Metadata = Iterable[tuple[str, str | bytes]]

_callers: dict[int, Member] = {}


def caller(context: grpc.ServicerContext) -> Member:
    """The member who makes this call, as admitted by the gate."""
    return _callers[id(context)]


class Gate(grpc.ServerInterceptor):  # type: ignore[misc]
    """Wraps every handler with the checks that every method needs.

    Parameters
    ----------
    access
        Which roles may call each method.
    admit, denied
        See their types.
    own_operator
        Whether the callers are the service's own operator, who reads every error whole.
    """

    def __init__(
        self,
        access: Mapping[str, frozenset[Role]],
        admit: Admit,
        denied: Denied | None = None,
        *,
        own_operator: bool = False,
    ) -> None:
        self._access = access
        self._admit = admit
        self._denied = denied
        self._own_operator = own_operator

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Return the method's handler with the checks around it."""
        handler = continuation(details)
        if handler is None:
            return None
        method, metadata = details.method, details.invocation_metadata
        if handler.unary_unary is not None and method in IN_LOOP:
            awaited = self._awaited(method, metadata, handler.unary_unary, handler.request_deserializer)
            return grpc.unary_unary_rpc_method_handler(awaited, None, handler.response_serializer)
        if handler.unary_unary is not None:
            guarded = self._unary(method, metadata, handler.unary_unary, handler.request_deserializer)
            return grpc.unary_unary_rpc_method_handler(guarded, None, handler.response_serializer)
        if handler.unary_stream is not None:
            streamed = self._stream(method, metadata, handler.unary_stream, handler.request_deserializer)
            return grpc.unary_stream_rpc_method_handler(streamed, None, handler.response_serializer)
        # Streams from a client are not supported: their end is no proof of completeness.
        return None

    def _unary(
        self, method: str, metadata: Metadata, behaviour: Callable[[Any, Any], Any], parse: Callable[[bytes], Any]
    ) -> Callable[[bytes, Any], Any]:
        def guarded(request: bytes, context: grpc.ServicerContext) -> Any:
            with self._entered(method, metadata, context):
                return behaviour(_parsed(method, request, parse), context)

        return guarded

    def _awaited(
        self, method: str, metadata: Metadata, behaviour: Callable[[Any, Any], Any], parse: Callable[[bytes], Any]
    ) -> Callable[[bytes, Any], Any]:
        async def guarded(request: bytes, context: grpc.ServicerContext) -> Any:
            try:
                self._enter(method, metadata, context)
                return await behaviour(_parsed(method, request, parse), context)
            except Exception as error:  # noqa: BLE001 - nothing may reach the peer unconverted
                # A denial is written to the store, and the loop must not wait for that.
                await asyncio.get_running_loop().run_in_executor(None, self._record, method, context, error)
                self._refuse(method, context, error)
            finally:
                _callers.pop(id(context), None)

        return guarded

    def _stream(
        self, method: str, metadata: Metadata, behaviour: Callable[[Any, Any], Any], parse: Callable[[bytes], Any]
    ) -> Callable[[bytes, Any], Iterator[Any]]:
        def guarded(request: bytes, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._entered(method, metadata, context):
                for response in behaviour(_parsed(method, request, parse), context):
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
            raise GemelError(
                ErrorCode.DEADLINE_MISSING,
                "every call needs a deadline of at most an hour",
                where=method,
                got="none" if remaining is None else f"{remaining:.0f} s",
                remedy="set a timeout on the call",
            )

    def _identified(self, method: str, context: grpc.ServicerContext) -> Member:
        """Admit the caller, by the list as it is now."""
        member = self._identify(method, context)
        if member is not None:
            _callers[id(context)] = member
            note_caller(context, member)
        if member is None or member.role not in self._access.get(method, frozenset()):
            raise GemelError(
                ErrorCode.NOT_ADMITTED,
                "this certificate may not call this method",
                where=method,
                remedy="ask the service's operator whether its membership list holds your certificate and role",
            )
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
            log.error(
                "incident", incident=incident, method=method, member=who, type=type(error).__name__, at=place_of(error)
            )
            found = GemelError(
                ErrorCode.INTERNAL,
                "something unforeseen happened",
                where=method,
                got=f"incident {incident}",
                remedy="give this number to the service's operator",
            )
        elif is_own_failure(found.code) and not self._own_operator:
            log.error("service failed a call", method=method, member=who, code=found.code.name, error=str(found))
            found = for_others(found)
        else:
            log.info("refused", method=method, member=who, code=found.code.name, where=found.where)
        note_error(context, found.code)
        context.set_trailing_metadata(to_metadata(found))
        context.abort(status_of(found.code), found.what[:200])
        raise AssertionError("abort always raises")


def _parsed(method: str, request: bytes, parse: Callable[[bytes], Any]) -> Any:
    try:
        return parse(request)
    except DecodeError:
        raise GemelError(
            ErrorCode.MALFORMED,
            "the request is no message of this method",
            where=method,
            got=f"{len(request)} bytes that cannot be parsed",
            remedy="run the same version of Gemel on both sides",
        ) from None
