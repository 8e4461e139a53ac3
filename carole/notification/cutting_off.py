"""An end to what a receiver could draw out for ever: a time of silence bounds a single read, and not all of them."""

from __future__ import annotations

import socket
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
    """A block that another thread ends, by `end`, once it lasts for `seconds` or Carole stops.

    Raises
    ------
    DeliveryError
        If it was ended.
    """
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


def shut(connection: socket.socket | None) -> None:
    """End a connection that another thread waits for."""
    if connection is not None:
        with suppress(OSError):
            # The plain method: that of a TLS connection would take it apart under the other thread.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
