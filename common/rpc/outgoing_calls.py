"""Calls to another service, as their client records them: an id for the log, a span, and the protocol of both sides.

The id crosses to the service only where it belongs to the same organisation, or where both have agreed to it: by ids an
organisation could follow what another one does.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import grpc
import structlog
from opentelemetry.trace import Span

from gemel.common.observability.tracing import begin_span
from gemel.common.rpc.call_recorder import REQUEST_KEY
from gemel.common.rpc.protocol import OWN_PROTOCOL, require_service
from gemel.common.rpc.service_clock import seconds_ahead

_ANSWERS = (grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED)
"""What a service itself has answered. An older one may not admit a role to a method that it has since been given."""

_CALL = "last_call"
"""Key of the lines of the log that this thread writes after a call that failed."""


class OutgoingCalls(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Gives each call an id and this release's protocol, and refuses an older service."""

    def __init__(self, address: str, *, share: bool) -> None:
        self._address = address
        self._share = share
        self.shared = ""
        self.ahead: float | None = None

    def intercept_unary_unary(self, continuation: Callable[[Any, Any], Any], details: Any, request: Any) -> Any:
        """Make a call, and keep its id for the log until the next one if it fails."""
        number = secrets.token_hex(8)
        span = begin_span(details.method.lstrip("/"), kind="client", request=number)
        structlog.contextvars.bind_contextvars(**{_CALL: number})
        called = time.time()
        response = continuation(self._marked(details, number), request)
        if not response.done():
            # Its caller reads it later, on whichever thread.
            structlog.contextvars.unbind_contextvars(_CALL)
            response.add_done_callback(lambda ended: _end(span, ended))
            return response
        status = _end(span, response)
        if status is grpc.StatusCode.OK:
            structlog.contextvars.unbind_contextvars(_CALL)
        if status in _ANSWERS:
            answered = response.trailing_metadata() or ()
            self.ahead = seconds_ahead(answered, called, time.time())
            require_service(answered, self._address)
        return response

    def intercept_unary_stream(self, continuation: Callable[[Any, Any], Any], details: Any, request: Any) -> Any:
        """Begin a stream; its span ends with its beginning, since its end is the reader's."""
        number = secrets.token_hex(8)
        begin_span(details.method.lstrip("/"), kind="client", request=number).end()
        return continuation(self._marked(details, number), request)

    def _marked(self, details: Any, number: str) -> Any:
        metadata = [*(details.metadata or ()), *OWN_PROTOCOL]
        if self._share:
            self.shared = number
            metadata.append((REQUEST_KEY, number))
        return _Details(details, metadata)


def _end(span: Span, response: Any) -> grpc.StatusCode:
    status: grpc.StatusCode = response.code()
    span.set_attribute("rpc.grpc.status", status.name)
    span.end()
    return status


class _Details(grpc.ClientCallDetails):  # type: ignore[misc]
    """A call's details with other metadata."""

    def __init__(self, given: Any, metadata: list[tuple[str, str]]) -> None:
        self.method, self.timeout, self.metadata = given.method, given.timeout, metadata
        self.credentials, self.wait_for_ready, self.compression = (
            given.credentials,
            given.wait_for_ready,
            given.compression,
        )
