"""A channel that one thread may close while others make calls on it.

gRPC's own ends the interpreter when it is closed between the two steps in which a call is prepared; its interceptors
prepare every call newly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import grpc


class GuardedChannel(grpc.Channel):  # type: ignore[misc]
    """Another channel, of which nothing is prepared while, or after, it is closed.

    Raises
    ------
    ValueError
        By each of its methods but `close`, once it is closed; so do calls that gRPC's own has prepared.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._closed = False

    def _prepared(self, make: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with self._lock:
            if self._closed:
                raise ValueError("the channel is closed")
            return make(*arguments, **named)

    def unary_unary(self, *arguments: Any, **named: Any) -> Any:
        """A method of one message and one answer."""
        return self._prepared(self._channel.unary_unary, *arguments, **named)

    def unary_stream(self, *arguments: Any, **named: Any) -> Any:
        """A method of one message and a stream."""
        return self._prepared(self._channel.unary_stream, *arguments, **named)

    def stream_unary(self, *arguments: Any, **named: Any) -> Any:
        """A method of a stream and one answer."""
        return self._prepared(self._channel.stream_unary, *arguments, **named)

    def stream_stream(self, *arguments: Any, **named: Any) -> Any:
        """A method of two streams."""
        return self._prepared(self._channel.stream_stream, *arguments, **named)

    def subscribe(self, callback: Any, try_to_connect: bool | None = False) -> None:
        """Have changes of the connection reported."""
        self._prepared(self._channel.subscribe, callback, try_to_connect=try_to_connect)

    def unsubscribe(self, callback: Any) -> None:
        """No longer have them reported."""
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        """Close the channel; calls under way are cancelled."""
        with self._lock:
            self._closed = True
            self._channel.close()

    def __enter__(self) -> GuardedChannel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
