"""What a server records of every call: an id for the log, how it ended, how long it took, how much was sent.

It stands outside the gate, so that a denied call is recorded like any other; the gate reports who called and what was
wrong. A call above its member's share is counted and not logged, or a flood of calls would be one of lines. Nothing of
a message's content is recorded. Calls of methods that do not exist never come here.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog

from gemel.common.errors import ErrorCode
from gemel.common.observability.tracing import begin_span
from gemel.common.pki.members import Member
from gemel.common.rpc.call_metadata import REQUEST_KEY
from gemel.common.rpc.status import status_of
from gemel.serving.fairness import IN_LOOP

log = structlog.get_logger()

_REQUEST = re.compile(r"[0-9a-f]{16}")

_FREQUENT = IN_LOOP | {"/linkage.v1.Custody/NextTask", "/grpc.health.v1.Health/Check"}
"""Polls, probes and messages of a computation: logged where they fail; else they would be most of the log."""


@dataclass
class Call:
    """One call, as its server saw it."""

    method: str
    request: str
    member: Member | None = None
    error: ErrorCode | None = None
    """The code of the error that it was answered with; None for none."""
    status: str = "OK"
    seconds: float = 0.0
    """From its turn to its end."""
    received: int = 0
    sent: int = 0
    """Bytes of the messages, without their framing."""
    _begun: float = field(default_factory=time.monotonic, repr=False)

    def end(self, context: grpc.ServicerContext) -> None:
        self.seconds = time.monotonic() - self._begun
        code = context.code()
        if code is not None:
            self.status = code.name
        elif not context.is_active():
            self.status = grpc.StatusCode.CANCELLED.name  # by the caller, or by its deadline


Behaviour = Callable[[Any, Any], Any]
Observer = Callable[[Call], None]
"""Called with every call that has ended; must neither block nor raise."""

_calls: dict[int, Call] = {}


def note_caller(context: grpc.ServicerContext, member: Member) -> None:
    if (call := _calls.get(id(context))) is not None:
        call.member = member


def request_of(context: grpc.ServicerContext) -> str:
    """The id of a call, as the log has it; empty where calls are not recorded."""
    call = _calls.get(id(context))
    return "" if call is None else call.request


def note_error(context: grpc.ServicerContext, code: ErrorCode) -> None:
    if (call := _calls.get(id(context))) is not None:
        call.error = code


class CallRecorder:
    """Wraps every handler and gives each call, once it has ended, to the observers.

    `count` is called also with those that were refused before their turn. `callers_requests`: a call keeps the id that
    its caller gave it, within one organisation and where two agree. `label_members`: spans name the caller, not its
    role alone.
    """

    def __init__(
        self, count: Observer, *observers: Observer, callers_requests: bool = False, label_members: bool = False
    ) -> None:
        self._count = count
        self._observers = observers
        self._callers_requests = callers_requests
        self._label_members = label_members

    def wrapped(self, handler: Any, details: Any) -> Any:
        """A method's handler, whose calls are recorded."""
        given = dict(details.invocation_metadata).get(REQUEST_KEY, "") if self._callers_requests else ""
        request = given if _REQUEST.fullmatch(given) else ""
        if handler.unary_unary is None:
            return handler._replace(unary_stream=self._stream(details.method, request, handler.unary_stream))
        recorded = self._awaited if details.method in IN_LOOP else self._unary
        return handler._replace(unary_unary=recorded(details.method, request, handler.unary_unary))

    def refused(self, method: str, member: Member | None, error: ErrorCode) -> None:
        self._count(Call(method, "", member, error, status_of(error).name))

    def _unary(self, method: str, request_id: str, behaviour: Behaviour) -> Behaviour:
        def recorded(request: Any, context: grpc.ServicerContext) -> Any:
            with self._recording(method, request_id, request, context) as call:
                response = behaviour(request, context)
                call.sent = response.ByteSize()
                return response

        return recorded

    def _awaited(self, method: str, request_id: str, behaviour: Behaviour) -> Behaviour:
        async def recorded(request: Any, context: grpc.ServicerContext) -> Any:
            with self._recording(method, request_id, request, context) as call:
                response = await behaviour(request, context)
                call.sent = response.ByteSize()
                return response

        return recorded

    def _stream(self, method: str, request_id: str, behaviour: Behaviour) -> Behaviour:
        def recorded(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._recording(method, request_id, request, context) as call:
                for response in behaviour(request, context):
                    call.sent += response.ByteSize()
                    yield response

        return recorded

    @contextmanager
    def _recording(self, method: str, request_id: str, request: Any, context: grpc.ServicerContext) -> Iterator[Call]:
        call = Call(method, request_id or secrets.token_hex(8), received=len(request))
        _calls[id(context)] = call
        # Every line that is logged meanwhile has the id, and nothing from the thread that once started the server.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=call.request)
        span = begin_span(method.lstrip("/"), kind="server", request=call.request)
        try:
            yield call
        except GeneratorExit:
            call.status = grpc.StatusCode.CANCELLED.name  # its stream is not read any further
            raise
        finally:
            _calls.pop(id(context), None)
            call.end(context)
            if call.member is not None:
                span.set_attribute("gemel.role", str(call.member.role))
                if self._label_members:
                    span.set_attribute("gemel.member", call.member.name)
            span.set_attribute("rpc.grpc.status", call.status)
            span.end()
            for observe in (self._count, *self._observers):
                observe(call)
            structlog.contextvars.unbind_contextvars("request")


def log_call(call: Call) -> None:
    """An observer: one line of the log for each call."""
    if call.method in _FREQUENT and call.error is None:
        return
    name, role = ("", "") if call.member is None else (call.member.name, str(call.member.role))
    figures = {"seconds": round(call.seconds, 4), "received": call.received, "sent": call.sent}
    log.info("call", request=call.request, method=call.method, member=name, role=role, status=call.status, **figures)
