"""A connection to a Gemel service: deadlines on every call, retries with growing pauses, typed errors.

Pauses are drawn, so that callers whom one failure has met do not all come back at the same moment.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import grpc
import structlog
from opentelemetry.trace import Span

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.tracing import begin_span
from gemel.common.rpc.access import OWN_PROTOCOL, require_service
from gemel.common.rpc.call_metadata import REQUEST_KEY, seconds_ahead
from gemel.common.rpc.dry_run import WithheldCalls
from gemel.common.rpc.status import MAX_MESSAGE_BYTES, from_rpc_error, passes

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
        self.credentials, self.wait_for_ready = given.credentials, given.wait_for_ready
        self.compression = given.compression


# A channel that one thread may close while others make calls on it.
#
# gRPC's own ends the interpreter when it is closed between the two steps in which a call is prepared; its interceptors
# prepare every call newly.


def _guarded(name: str) -> Callable[..., Any]:
    """A method of the guarded channel's, refused once it is closed."""

    def prepared(self: GuardedChannel, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            if self._closed:
                raise ValueError("the channel is closed")
            return getattr(self._channel, name)(*arguments, **named)

    return prepared


class GuardedChannel(grpc.Channel):  # type: ignore[misc]
    """Another channel, of which nothing is prepared while, or after, it is closed."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._closed = False

    unary_unary, unary_stream = _guarded("unary_unary"), _guarded("unary_stream")
    stream_unary, stream_stream = _guarded("stream_unary"), _guarded("stream_stream")
    subscribe = _guarded("subscribe")

    def unsubscribe(self, callback: Any) -> None:
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._channel.close()

    def __enter__(self) -> GuardedChannel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


CONTROL_SECONDS = 10.0
CHUNK_SECONDS = 30.0
COMMIT_SECONDS = 60.0

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_LONGEST_CALL_SECONDS = 3600.0
"""No call is open for longer; a service refuses it."""
_RANDOM = secrets.SystemRandom()

StubT = TypeVar("StubT")


class Connection:
    """One channel to one service at ``host:port``, whose certificate must hold `server_name` or, without one, the host.

    `credentials` are this party's certificate and key, and the authorities it trusts. `share_request_ids`: the service
    receives the id that each call has in this side's log. `dry_run`: calls that change something raise `NotSentError`
    instead.
    """

    def __init__(
        self,
        address: str,
        server_name: str | None,
        credentials: grpc.ChannelCredentials,
        *,
        share_request_ids: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.address = address
        self._closed = threading.Event()
        self._former: list[tuple[float, grpc.Channel]] = []
        self._options: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.initial_reconnect_backoff_ms", 200),
            ("grpc.max_reconnect_backoff_ms", 5_000),
            # A proxy from the environment must not be used between two parties.
            ("grpc.enable_http_proxy", 0),
        ]
        self._server_name = server_name
        self._calls = OutgoingCalls(address, share=share_request_ids)
        self._withheld = (WithheldCalls(address),) if dry_run else ()
        self._channel = self._connected(credentials)

    @property
    def shared_request(self) -> str:
        """The id that the service received with the newest call, for a word with its operators; empty for none."""
        return self._calls.shared

    @property
    def seconds_ahead(self) -> float | None:
        """How far this machine's clock was ahead of the service's at its newest answer; None where it sends no time."""
        return self._calls.ahead

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the channel; calls under way are cancelled."""
        self._closed.set()
        for channel in (*(former for _, former in self._former), self._channel):
            channel.close()

    def renew(self, credentials: grpc.ChannelCredentials, server_name: str | None) -> None:
        """Make further calls with other credentials and another server name; calls under way end as they began."""
        # A former channel stays open for them, for as long as one may last: some certificates are renewed every hour.
        now = time.monotonic()
        self._former.append((now, self._channel))
        self._server_name = server_name
        self._channel = self._connected(credentials)
        while self._former[0][0] < now - _LONGEST_CALL_SECONDS:
            self._former.pop(0)[1].close()

    def _connected(self, credentials: grpc.ChannelCredentials) -> grpc.Channel:
        name = [("grpc.ssl_target_name_override", self._server_name)] if self._server_name else []
        channel = GuardedChannel(grpc.secure_channel(self.address, credentials, options=[*self._options, *name]))
        return grpc.intercept_channel(channel, *self._withheld, self._calls)

    def stub(self, stub: Callable[[grpc.Channel], StubT]) -> StubT:
        """The generated client of a service, over the channel of the newest credentials at each call. Raises
        UNAVAILABLE once the connection is closed."""
        return cast(StubT, _Stub(stub, self._newest))

    def _newest(self) -> grpc.Channel:
        if self._closed.is_set():
            # Of a stub made of a closed channel, gRPC itself would crash the interpreter.
            raise self._is_closed()
        return self._channel

    def call(self, method: Any, request: Any, *, deadline: float = CONTROL_SECONDS, attempts: int = 1) -> Any:
        """Make one unary call, with a deadline in seconds for each attempt.

        It is tried again, where `attempts` allows it, while the service does not answer or cannot do it now: only for
        idempotent methods. No attempt begins later than `attempts` deadlines after the first. A refusal because of too
        many calls is no attempt: nothing was done. Raises the service's error, or UNAVAILABLE.
        """
        end = time.monotonic() + attempts * deadline
        pause, attempt = _FIRST_PAUSE_SECONDS, 0
        while True:
            try:
                return method(request, timeout=deadline)
            except grpc.RpcError as error:
                typed = from_rpc_error(error, self.address)
            except ValueError:
                raise self._is_closed() from None
            if typed.code is not ErrorCode.TOO_MANY_CALLS:
                attempt += 1
            seconds = max(pause * _RANDOM.uniform(0.5, 1.0), typed.retry_seconds * _RANDOM.uniform(1.0, 1.5))
            if not passes(typed.code) or attempt >= attempts or time.monotonic() + seconds > end:
                raise typed
            if self._closed.wait(seconds):
                raise self._is_closed()
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def watch(self, method: Any, request: Any, *, deadline: float) -> Iterator[Any]:
        """Iterate over a server's stream until it ends or the deadline comes. Raises as `call`; UNAVAILABLE when the
        stream broke or the deadline came."""
        try:
            yield from method(request, timeout=deadline)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.address) from None
        except ValueError:
            raise self._is_closed() from None

    def _is_closed(self) -> GemelError:
        return GemelError(ErrorCode.UNAVAILABLE, "the connection is closed", where=self.address)


class _Stub:
    """A generated client whose methods are those of the channel at the time they are asked for."""

    def __init__(self, make: Callable[[grpc.Channel], Any], channel: Callable[[], grpc.Channel]) -> None:
        self._make, self._channel = make, channel
        self._of = channel()
        self._stub = make(self._of)

    def __getattr__(self, method: str) -> Any:
        newest = self._channel()
        if newest is not self._of:
            self._stub, self._of = self._make(newest), newest
        return getattr(self._stub, method)
