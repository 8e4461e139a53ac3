"""An end to what a receiver could draw out for ever: a time of silence bounds a single read, and not all of them."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SEND_SECONDS = 20.0
"""For one message by one way, from the connection to the receiver's answer."""

_LOOK_SECONDS = 0.05


class DeliveryError(Exception):
    """A message was not taken. Its text is for the log: no secret, no address, no word of the receiver's."""


@contextmanager
def cut_off(end: Callable[[], None], stopping: threading.Event, seconds: float = SEND_SECONDS) -> Iterator[None]:
    """A block that another thread ends, by `end`, once it lasts for `seconds` or Carole stops."""
    over, late = threading.Event(), threading.Event()
    until = time.monotonic() + seconds

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            if stopping.is_set() or time.monotonic() > until:
                late.set()
                end()  # again and again: a connection may only just have been made

    watching = threading.Thread(target=watch, name="notify-watch", daemon=True)
    watching.start()
    try:
        yield
    except Exception:
        # What ends so raises anything.
        if late.is_set():
            raise DeliveryError(f"no answer within {seconds:g} seconds") from None
        raise
    finally:
        over.set()
        watching.join()
    if late.is_set():
        raise DeliveryError(f"no answer within {seconds:g} seconds")


class Line:
    """A connection that another thread can end, also while TLS begins on it."""

    def __init__(self) -> None:
        self._kept: socket.socket | None = None

    def open(self, host: str, port: int, seconds: float, context: ssl.SSLContext | None = None) -> socket.socket:
        """Connect, by TLS where there is a context; no step of it may be silent for longer than `seconds`.

        Raises
        ------
        OSError
            If that fails, an `ssl.SSLError` also for a certificate that is not the host's.
        """
        raw = socket.create_connection((host, port), seconds)
        # Of the same connection: while TLS begins, the first socket is no longer one, and the next not there yet.
        self._kept = raw.dup()
        return raw if context is None else context.wrap_socket(raw, server_hostname=host)

    def shut(self) -> None:
        """End it: whoever reads from it or writes to it gets an error."""
        if self._kept is not None:
            with suppress(OSError):
                self._kept.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Drop it."""
        if self._kept is not None:
            self._kept.close()
