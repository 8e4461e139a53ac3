"""What a servicer's method sees of the call that it answers, on its thread: who calls, until when, and whether still.

It has the part of `grpc.ServicerContext` that Gemel uses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

import grpc

Metadata = Sequence[tuple[str, str | bytes]]


class AbortedError(Exception):
    """The call ends with a status; what the caller learns is in the context."""


class CallContext:
    """One call."""

    def __init__(self, context: grpc.aio.ServicerContext, may_wait: bool) -> None:
        self.may_wait = may_wait
        self.status: grpc.StatusCode | None = None
        self.message = ""
        self.trailing: Metadata = ()
        self._auth: Mapping[str, Sequence[bytes]] = context.auth_context()
        remaining = context.time_remaining()
        self._end = None if remaining is None else time.monotonic() + remaining
        self._active = True
        context.add_done_callback(self._ended)

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """The peer's certificate and what else TLS has found about it."""
        return self._auth

    def time_remaining(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def is_active(self) -> bool:
        """Whether the caller still waits."""
        return self._active

    def code(self) -> grpc.StatusCode | None:
        """The status that the call was ended with, if it was."""
        return self.status

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """What is sent after the status."""
        self.trailing = metadata

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        """End the call with a status."""
        self.status, self.message = code, details
        raise AbortedError

    def _ended(self, _: object) -> None:
        self._active = False


def shown_chain(context: grpc.ServicerContext) -> bytes:
    """PEM: the certificate that the peer has proved to hold, then what else it has shown; empty without one."""
    found = context.auth_context()
    own = found.get("x509_pem_cert") or []
    if len(own) != 1:
        return b""
    chain = b"".join(found.get("x509_pem_cert_chain") or [])
    return bytes(chain if chain.startswith(own[0]) else own[0] + chain)


def may_wait(context: grpc.ServicerContext) -> bool:
    """Whether a method may hold this call until there is news; if not, it answers with what there is."""
    return bool(context.may_wait)
